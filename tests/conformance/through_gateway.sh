#!/usr/bin/env bash
# The conformance suite, directly and through the gateway, compared check by check. Then once more before a server that
# does not validate headers: there the gateway has to.
#
#   tests/conformance/through_gateway.sh target/debug/mcp-signpost
set -euo pipefail
binary=$(realpath "$1")
cd "$(dirname "$0")"
. ../through_gateway.sh
./setup.sh
port=$(free_port)
start_gateway "$binary" "
[servers.suite]
prefix = \"\"
endpoints = [\"http://127.0.0.1:$port/mcp\"]"
results=$(mktemp -d)
./run.sh --port "$port" --via "$GATEWAY" --out "$results"
./run.sh --port "$port" --via "$GATEWAY" --out "$results" --no-validate \
    --must-pass http-header-validation,http-custom-header-server-validation
rm -rf "$results"
