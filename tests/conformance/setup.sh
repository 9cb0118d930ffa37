#!/bin/sh
# Installs the conformance suite and its server beside this file, at pinned versions, with the Node 22 they need. Run it
# again at will: what is there and up to date stays. On Debian, a missing npm comes by apt-get.
set -eu
cd "$(dirname "$0")"

if ! npm --version >/dev/null 2>&1; then
  as_root=
  [ "$(id -u)" = 0 ] || as_root=sudo
  $as_root apt-get update -qq
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
fi

sum=$(sha256sum package-lock.json | cut -d' ' -f1)
if [ "$(cat node_modules/.installed 2>/dev/null)" != "$sum" ]; then
  npm ci --no-audit --no-fund --loglevel=error
  echo "$sum" >node_modules/.installed
fi
./node.sh -e 'console.error(`the conformance suite is ready, Node ${process.version}`)'
