#!/usr/bin/env bash
# Runs the GPU's whole path on the emulated GPU: as it is, with the threads of each block in reverse order (a missing barrier shows), with
# a garbage collection at every turn (an address that C keeps shows), and under AddressSanitizer (an access out of bounds shows its line).
#
# usage: test.sh
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CGO_ENABLED=0
cxx=${CXX:-g++}
if ! command -v "$cxx" >/dev/null; then
    echo "test-cuda needs $cxx (Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++)" >&2
    exit 1
fi

# run runs the tests of the device, and those tests of models whose names begin with TestGPU and match a pattern.
run() {
    echo "-- $1" >&2
    "${@:3}" go test -count=1 -timeout 20m "${flags[@]}" ./engine/cuda/...
    "${@:3}" go test -count=1 -timeout 20m "${flags[@]}" -run "^TestGPU$2" ./engine/whisper ./engine/parakeet
}

# What the models add to the device's own tests shows in a few of theirs: emulated, a Whisper takes long.
few='(Two|Beam|HangUp|Lost)'
flags=()
run "as it is" '' env HARK_TEST_CUDA=1
run "threads in reverse order" "$few" env EMU_ORDER=rev
run "collecting garbage all the time" "$few" env GOGC=1
# The sanitizer's library must come first in the process; leaks are Go's own affair.
flags=(-exec "env LD_PRELOAD=$("$cxx" -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0,handle_segv=0")
run "under AddressSanitizer" "$few" env HARK_EMU=asan
