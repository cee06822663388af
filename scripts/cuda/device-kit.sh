#!/usr/bin/env bash
# Makes what device-check.sh needs on a machine without Go, in a folder: hark and the tests' programs, without what debuggers want (50 MB).
#
# usage: device-kit.sh FOLDER; there: HARK_CHECK_KIT=FOLDER scripts/cuda/device-check.sh FOLDER/hark
set -euo pipefail

mkdir -p "$1"
kit=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CGO_ENABLED=0
go build -trimpath -ldflags '-s -w' -o "$kit/hark" .
for p in cuda cuda/driver whisper parakeet; do
    go test -c -trimpath -ldflags '-s -w' -o "$kit/$(basename $p).test" "./engine/$p"
done
du -sh "$kit" >&2
