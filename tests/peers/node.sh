#!/bin/sh
# Runs Node 22: the one that setup.sh brought by npm, or else the system's if it is new enough.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
for node in "$here"/node_modules/node-linux-*/bin/node; do
  [ -x "$node" ] && exec "$node" "$@"
done
major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
[ "$major" -ge 22 ] && exec node "$@"
echo "no Node 22 here: run $here/setup.sh first" >&2
exit 1
