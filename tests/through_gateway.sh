# shellcheck shell=bash
# Sourced by the runs of real peers: starts the gateway with a configuration and stops it at the end.
#
#   start_gateway BINARY CONFIG   CONFIG is the text of the servers; the listeners are added. Sets GATEWAY, its URL.

# A free port of this machine.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

start_gateway() {
    local binary=$1 config=$2 port admin
    port=$(free_port)
    admin=$(free_port)
    GATEWAY_DIR=$(mktemp -d)
    printf '[gateway]\nlisten = ["127.0.0.1:%s"]\n[admin]\nlisten = "127.0.0.1:%s"\n%s\n' "$port" "$admin" "$config" >"$GATEWAY_DIR/signpost.toml"
    "$binary" serve --config "$GATEWAY_DIR/signpost.toml" >"$GATEWAY_DIR/access.log" 2>"$GATEWAY_DIR/stderr.log" &
    GATEWAY_PID=$!
    trap stop_gateway EXIT
    # shellcheck disable=SC2034  # for those who source this
    GATEWAY="http://127.0.0.1:$port/mcp"
    local tries=0
    until curl -fsS "http://127.0.0.1:$admin/readyz" >/dev/null 2>&1; do
        tries=$((tries + 1))
        if [ $tries -gt 100 ] || ! kill -0 "$GATEWAY_PID" 2>/dev/null; then
            echo "error: the gateway did not start" >&2
            cat "$GATEWAY_DIR/stderr.log" >&2
            exit 1
        fi
        sleep 0.1
    done
}

stop_gateway() {
    local status=$?
    kill "$GATEWAY_PID" 2>/dev/null || true
    wait "$GATEWAY_PID" 2>/dev/null || true
    if [ $status != 0 ]; then
        echo "-- the gateway's own words:"
        tail -n 40 "$GATEWAY_DIR/stderr.log" "$GATEWAY_DIR/access.log"
    fi
    rm -rf "$GATEWAY_DIR"
    exit $status
}
