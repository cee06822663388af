#!/usr/bin/env bash
# Packs what device-check.sh needs on a machine without Go: hark and the tests' programs, without what debuggers want. They have most of their code
# in common, so that xz makes 10 MB of 90.
#
# usage: device-kit.sh FILE.tar.xz
# there: mkdir kit && tar -xf FILE.tar.xz -C kit && HARK_CHECK_KIT=kit scripts/cuda/device-check.sh kit/hark
set -euo pipefail

file=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CGO_ENABLED=0
kit=$(mktemp -d)
trap 'rm -rf "$kit"' EXIT
go build -trimpath -ldflags '-s -w' -o "$kit/hark" .
for p in cuda cuda/driver whisper parakeet; do
    go test -c -trimpath -ldflags '-s -w' -o "$kit/$(basename $p).test" "./engine/$p"
done
tar -C "$kit" -c . | xz -3 --lzma2=dict=128MiB >"$file"
