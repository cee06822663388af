#!/usr/bin/env bash
# Runs the GPU's whole path on the emulated GPU, in several ways, or in those that are named:
#   plain   as it is, all of it
#   rev     with the threads of each block in reverse order: a missing barrier shows
#   turing  as a GPU of compute capability 7.5, without bf16 and asynchronous copies
#   gc      with a garbage collection at every turn: an address that C keeps shows
#   race    under Go's race detector
#   asan    under AddressSanitizer: an access out of bounds shows its line. It can't share a process with the race detector.
#
# usage: test.sh [WAY...]
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
    local began=$SECONDS
    echo "-- $1" >&2
    "${@:3}" go test -count=1 -timeout 30m "${flags[@]}" ./engine/cuda/...
    "${@:3}" go test -count=1 -timeout 30m "${flags[@]}" -run "^TestGPU$2" ./engine/whisper ./engine/parakeet
    echo "-- $1: passed in $((SECONDS - began)) s" >&2
}

# What the models add to the device's own tests shows in a few of theirs: emulated, a Whisper takes long.
few='(Two|Beam|HangUp|Lost|OutOfMemory)'

[ $# -gt 0 ] || set -- plain rev turing gc race asan
for way; do
    flags=()
    case $way in
    plain)
        run "as it is" '' env HARK_TEST_CUDA=1
        HARK_TEST_CUDA=1 go test -count=1 -timeout 20m -run '^Test(GPUScripts|DeviceCheck)$' .
        ;;
    rev) run "threads in reverse order" "$few" env EMU_ORDER=rev ;;
    turing) run "as Turing" "$few" env HARK_EMU=turing ;;
    gc) run "collecting garbage all the time" "$few" env GOGC=1 ;;
    race)
        flags=(-race)
        run "under the race detector" "$few" env CGO_ENABLED=1
        ;;
    asan)
        # The sanitizer's library must come first in the process; leaks are Go's own affair.
        flags=(-exec "env LD_PRELOAD=$("$cxx" -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0,handle_segv=0")
        run "under AddressSanitizer" "$few" env HARK_EMU=asan
        ;;
    *)
        echo "test.sh: there is no way $way" >&2
        exit 2
        ;;
    esac
done
