#!/usr/bin/env bash
# Has schemathesis make up requests from the OpenAPI document and hold the answers to it. It must find nothing.
#
# usage: schemathesis.sh [URL]
# Without a URL a test server is started, over a model that hears nothing, so that the API alone takes time.
# HARK_SCHEMATHESIS_TIME: how many seconds to go on (default: 40)
# HARK_SCHEMATHESIS_CACHE: where schemathesis is installed (default: .cache/schemathesis of the repository)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -eq 0 ]; then
    cd "$here/.."
    HARK_SCHEMATHESIS=$here/schemathesis.sh exec go test -count=1 -run '^TestSchemathesis$' ./server
fi
cache=${HARK_SCHEMATHESIS_CACHE:-$here/../.cache/schemathesis}
mkdir -p "$cache"
stamp=$(cksum <"$here/schemathesis/requirements.txt")
if [ "$(cat "$cache/stamp" 2>/dev/null)" != "$stamp" ]; then
    echo "fetching schemathesis" >&2
    rm -rf "$cache/venv"
    python3 -m venv "$cache/venv"
    "$cache/venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/schemathesis/requirements.txt" >&2
    echo "$stamp" >"$cache/stamp"
fi
cd "$cache" # where it leaves what it has learned
PYTHONPATH=$here/schemathesis SCHEMATHESIS_HOOKS=hooks PYTHONDONTWRITEBYTECODE=1 exec "$cache/venv/bin/schemathesis" \
    --config-file "$here/schemathesis/schemathesis.toml" \
    run "$1/openapi.json" --max-time "${HARK_SCHEMATHESIS_TIME:-40}" --request-timeout 20 --no-color
