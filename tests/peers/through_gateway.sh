#!/usr/bin/env bash
# Every real client against every real server: directly, at each server's own endpoint, and at the merged one by prefix.
# The last line counts the checks of all runs; the exit status is 1 if one failed or a run did not happen.
#
#   tests/peers/through_gateway.sh target/debug/mcp-signpost
set -euo pipefail
trap '[ $? = 0 ] || exit 1' EXIT

run_all() (
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
)

# After a failure the gateway's log comes after the count: hold the count back to the end. None at all is a failure too.
run_all "$@" 2>&1 | awk '
    /^[0-9]+ passed, [0-9]+ failed$/ { count = $0; next }
    { print; fflush() }
    END { print count ? count : "0 passed, 1 failed" }'
