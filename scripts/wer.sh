#!/usr/bin/env bash
# Runs wer.py, with the packages that it needs, on the corpus in HARK_SHARED (default ../shared).
# Without the corpus it says so, and fails only where CI is set.
#
# usage: wer.sh [--quick] [--verbose] [--model NAME]... HARK
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
shared=${HARK_SHARED:-$here/../../shared}
if [ ! -e "$shared/golden/whisper/wer.json" ]; then
    echo "word errors: skipped, no corpus in $shared" >&2
    [ -z "${CI:-}" ]
    exit
fi
cache=$("$here/clients/setup.sh")
exec "$cache/venv/bin/python" "$here/wer.py" "$@" "$shared"
