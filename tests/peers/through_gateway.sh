#!/usr/bin/env bash
# Every real client against every real server: directly, at each server's own endpoint, and at the merged one by prefix.
#
#   tests/peers/through_gateway.sh target/debug/mcp-signpost
set -euo pipefail
binary=$(realpath "$1")
cd "$(dirname "$0")"
. ../through_gateway.sh
./setup.sh
python=$(free_port)
typescript=$(free_port)
start_gateway "$binary" "
[servers.python]
endpoints = [\"http://127.0.0.1:$python/mcp\"]
[servers.typescript]
endpoints = [\"http://127.0.0.1:$typescript/mcp\"]"
./node.sh run.mjs --python-port "$python" --typescript-port "$typescript" --via "$GATEWAY"
