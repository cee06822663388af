#!/usr/bin/env bash
# Tries everything on a real GPU, in nine minutes at most: what doctor says, the tests of the kernels and of both models, which elsewhere run
# on the emulated GPU, speeds of operations beside what the GPU could do, an hour of audio by each model that is here, and mixed load. Each part
# has its time, prints as it goes and does not stop the others; a table at the end says how they went.
#
# usage: device-check.sh HARK
# HARK_CUDA_LIBRARY: the driver's library (default: libcuda.so.1)
# HARK_CHECK_KIT: a folder with the programs cuda.test, driver.test, whisper.test and parakeet.test, of device-kit.sh, for a machine
# without Go
# HARK_MODELS: where models are, of which tiny.en and base are used if they are there (default: the user's cache)
# HARK_CHECK_SMALL=1: as little as shows that all parts work, for the emulated GPU
set -uo pipefail

hark=$(realpath "$1") || exit 2
[ -z "${HARK_CHECK_KIT:-}" ] || export HARK_CHECK_KIT=$(realpath "$HARK_CHECK_KIT")
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
# Without a compiler there is no emulated GPU, whose own tests are not wanted here.
export CXX=none CI= CGO_ENABLED=0 HARK_CUDA_LIBRARY=${HARK_CUDA_LIBRARY:-libcuda.so.1} HARK_DEVICE=cuda
small=${HARK_CHECK_SMALL:-}
toy=$PWD/testdata/parakeet-tiny
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

results=()
# part runs a command for so many seconds at most and notes how it went.
part() {
    local name=$1 most=$2 began=$SECONDS how=passed
    echo "== $name (at most $most s)"
    timeout -k 5 "$most" "${@:3}" 2>&1 || how="FAILED ($?)"
    [ "$how" = "FAILED (124)" ] && how="TOOK TOO LONG"
    results+=("$(printf '%-28s %4d s  %s' "$name" $((SECONDS - began)) "$how")")
    echo "-- ${results[-1]}"
}

# tests runs a package's tests, from the kit if there is one.
tests() {
    local package=$1 program
    program=${HARK_CHECK_KIT:+$HARK_CHECK_KIT/$(basename "$package").test}
    if [ -z "$program" ]; then
        program=$scratch/$(basename "$package").test
        [ -e "$program" ] || go test -c -o "$program" "./$package" || return
    fi
    (cd "$package" && "$program" "${@:2}")
}

# hour makes an hour of speech, or a few seconds, of the repository's sample. Its header's sizes are those of a stream: what is there counts.
hour() {
    local seconds=3600
    [ -n "$small" ] && seconds=4
    {
        head -c 4 testdata/sample.wav
        printf '\xff\xff\xff\xff'
        head -c 40 testdata/sample.wav | tail -c +9
        printf '\xff\xff\xff\xff'
        for _ in $(seq $((seconds / 13 + 1))); do tail -c +45 testdata/sample.wav; done | head -c $((seconds * 32000))
    } >"$scratch/hour.wav"
}

# transcribe has a model hear the hour, the second time with its files read and its kernels translated.
transcribe() {
    local began took
    "$hark" transcribe --model "$1" "$toy/two.wav" || return
    began=$(date +%s%N)
    "$hark" transcribe --model "$1" "$scratch/hour.wav" >"$scratch/text" || return
    took=$((($(date +%s%N) - began) / 1000000))
    wc -w <"$scratch/text" | xargs printf '%s words'
    awk -v ms=$took -v s=$((($(stat -c %s "$scratch/hour.wav") - 44) / 32000)) 'BEGIN { printf ", %d s of audio in %.2f s, loading included: %.0f times as fast as speech\n", s, ms/1000, s*1000/ms }'
}

# load has clients send clips and recordings to a server at once.
load() {
    local address=127.0.0.1:$((20000 + $$ % 20000)) clips=16 recordings=4 time=20 server how
    local files=()
    [ -n "$small" ] && clips=2 recordings=0 time=1 files=("$toy/two.wav")
    export HARK_MODEL=$1
    "$hark" serve --addr $address >"$scratch/server" 2>&1 &
    server=$!
    for _ in $(seq 100); do
        sleep 0.3
        kill -0 $server || break
        "$hark" bench --http http://$address --clips 1 --recordings 0 --duration 1 "$toy/two.wav" >/dev/null 2>&1 && break
    done
    "$hark" bench --http http://$address --clips $clips --recordings $recordings --duration $time "${files[@]}"
    how=$?
    kill $server
    wait $server
    [ $how -eq 0 ] || tail -n 5 "$scratch/server"
    return $how
}

export hark toy scratch small
export -f tests transcribe load
run() { part "$1" "$2" bash -c "$3"; }

benches=GPU kernels=. parakeet='^TestGPU(Two|Golden|Beam|HangUp)' whisper='^TestGPU(Toy|WindowsJoin)' times=20x
[ -n "$small" ] && benches='GPUDecode/self/1$' kernels='^Test(Gather|SelfTest|Time)' parakeet='^TestGPUTwo' whisper='^TestGPUNone' times=1x
run "doctor" 30 '"$hark" doctor --device cuda; "$hark" doctor --device cuda | grep -q "self-test: .* do as they should"'
run "driver" 30 "tests engine/cuda/driver -test.run 'Launch|Graph'"
run "kernels beside the CPU" 100 "tests engine/cuda -test.run '$kernels'"
run "Parakeet's goldens" 40 "tests engine/parakeet -test.run '$parakeet'"
run "Whisper's goldens" 50 "tests engine/whisper -test.run '$whisper'"
run "speeds" 80 "tests engine/cuda -test.run '^\$' -test.bench '$benches' -test.benchtime $times"
hour
models=("$toy/parakeet-tiny.nemo")
for m in tiny.en base; do
    [ -z "$small" ] && [ -e "${HARK_MODELS:-$HOME/.cache/hark/models}/$m" ] && models+=("$m")
done
for m in "${models[@]}"; do
    run "an hour by $(basename "$m" .nemo)" 40 "transcribe '$m'"
done
run "mixed load of $(basename "${models[-1]}" .nemo)" 60 "load '${models[-1]}'"

echo "== in short"
printf '%s\n' "${results[@]}"
! printf '%s\n' "${results[@]}" | grep -q 'FAILED\|TOOK'
