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

# ready reports whether the server's log has told its address and the server answers that it is ready.
ready() {
    base=$(sed -n 's/.*"url":"\(http[^"]*\)".*/\1/p' "$work/log" | head -n 1)
    [ -n "$base" ] && python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1] + "/readyz")' "$base" 2>/dev/null
}

# serve starts the server with flags and waits until it is ready: $server is its process, $base its URL. Port 0 takes a free port; the
# log says which.
serve() {
    "$hark" serve --addr 127.0.0.1:0 --log-format json --jobs-dir "$work/jobs" "$@" 2>"$work/log" &
    server=$!
    for _ in $(seq 240); do
        if ready; then
            return
        fi
        if ! kill -0 "$server" 2>/dev/null; then
            break
        fi
        sleep 0.5
    done
    echo "the server did not become ready; its log:" >&2
    cat "$work/log" >&2
    exit 1
}

# leave ends the server, which must go down in good order. After a failed check it shows the log.
leave() {
    if [ $status -ne 0 ]; then
        echo "the server's log:" >&2
        tail -n 50 "$work/log" >&2
    fi
    kill -TERM "$server"
    if wait "$server"; then
        echo "server stopped in good order"
    else
        echo "server: exit code $? after SIGTERM" >&2
        status=1
    fi
    server=
}

status=0
PATH=$PATH:$cache/venv/bin
# The small limit makes refusals cheap to provoke.
serve --model tiny.en --model base --max-upload 1MiB
"$cache/venv/bin/python" -W ignore::DeprecationWarning "$here/check.py" "$base" "$sample.wav" "$sample.txt" || status=1
node "$here/check.mjs" "$base" "$sample.wav" "$sample.txt" "$cache" || status=1
"$cache/venv/bin/python" "$here/readme.py" "$base" "$cache" || status=1
leave

# A patient caller has the next place within what clients wait, a hasty one has not.
export HARK_API_KEYS="py:patient-python-key rpm=20, py2:hasty-python-key rpm=1, js:patient-key-node rpm=20, js2:hurried-node-key rpm=1"
serve --model tiny.en
"$cache/venv/bin/python" "$here/keys.py" "$base" "$sample.wav" patient-python-key hasty-python-key || status=1
node "$here/keys.mjs" "$base" "$sample.wav" patient-key-node hurried-node-key "$cache" || status=1
leave
exit $status
