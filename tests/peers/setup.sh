#!/bin/sh
# Installs the real MCP peers beside this file, at pinned versions: .venv (Python) and node_modules (JavaScript, with the
# Node that runs it). Run it again at will: what is there and up to date stays. On Debian, missing tools come by apt-get.
set -eu
cd "$(dirname "$0")"

need() { # need COMMAND-THAT-SHOWS-IT PACKAGE...
  probe=$1
  shift
  sh -c "$probe" >/dev/null 2>&1 && return
  as_root=
  [ "$(id -u)" = 0 ] || as_root=sudo
  $as_root apt-get update -qq
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# Runs a command unless it already succeeded for the same content of the file: `once STAMP FILE COMMAND...`
once() {
  stamp=$1
  sum=$(sha256sum "$2" | cut -d' ' -f1)
  shift 2
  [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ] && return
  "$@"
  echo "$sum" >"$stamp"
}

need 'python3 -m venv --help && python3 -m ensurepip --version' python3 python3-venv
need 'npm --version' nodejs npm

[ -x .venv/bin/python ] || python3 -m venv .venv
once .venv/.installed requirements.txt .venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
once node_modules/.installed package-lock.json npm ci --no-audit --no-fund --loglevel=error
./node.sh -e 'console.error(`peers are ready, Node ${process.version}`)'
