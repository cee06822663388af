#!/usr/bin/env bash
# Runs the official Python and Node clients against a server of the given binary on a free loopback port.
#
# usage: run.sh HARK
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
hark=$(realpath "$1")
sample=$here/../../testdata/sample
cache=$("$here/setup.sh")

work=$(mktemp -d)
server=
# stop ends the server, if it runs, and tidies up.
stop() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap stop EXIT

# Port 0 takes a free one; the log says which. The small limit makes refusals cheap to provoke.
"$hark" serve --addr 127.0.0.1:0 --model tiny.en --model base --max-upload 1MiB --log-format json 2>"$work/log" &
server=$!
# ready reports whether the server's log has told its address and the server answers that it is ready.
ready() {
    base=$(sed -n 's/.*"url":"\(http[^"]*\)".*/\1/p' "$work/log" | head -n 1)
    [ -n "$base" ] && python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1] + "/readyz")' "$base" 2>/dev/null
}
for _ in $(seq 240); do
    if ready; then
        break
    fi
    if ! kill -0 "$server" 2>/dev/null; then
        break
    fi
    sleep 0.5
done
if ! ready; then
    echo "the server did not become ready; its log:" >&2
    cat "$work/log" >&2
    exit 1
fi

status=0
"$cache/venv/bin/python" -W ignore::DeprecationWarning "$here/check.py" "$base" "$sample.wav" "$sample.txt" || status=1
PATH=$PATH:$cache/venv/bin node "$here/check.mjs" "$base" "$sample.wav" "$sample.txt" "$cache" || status=1
if [ $status -ne 0 ]; then
    echo "the server's log:" >&2
    tail -n 50 "$work/log" >&2
fi

# The server must also go down in good order.
kill -TERM "$server"
if wait "$server"; then
    echo "server stopped in good order"
else
    echo "server: exit code $? after SIGTERM" >&2
    status=1
fi
server=
exit $status
