#!/bin/sh
# The conformance suite, directly and through a gateway: see run.mjs for the options.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/node.sh" "$here/run.mjs" "$@"
