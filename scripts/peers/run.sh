#!/usr/bin/env bash
# Compares hark with its peers on this machine: see README.md.
#
# usage: run.sh setup | speed [ARG]... | avx2 [ARG]... | matmul [ARG]... | shared [ARG]... | all
# HARK: the binary (default: ./hark)       HARK_SHARED: where bench/ and audio/ are (default: ../shared)
# HARK_BENCH_CACHE: where the peers are    OUT: folder for results (default: the current one)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
HARK_SHARED=$(realpath "${HARK_SHARED:-$root/../shared}")
export HARK_SHARED HARK_BENCH_CACHE=${HARK_BENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hark-bench}
hark=$(realpath -m "${HARK:-$root/hark}")
out=$(realpath -m "${OUT:-.}")
packages=$(echo "$HARK_BENCH_CACHE"/venv/lib/python3*/site-packages)

# whispercpp VARIANT CMAKE_ARG...: builds whisper.cpp and its Python binding into a folder of its own, unless it's there.
whispercpp() {
    local to=$HARK_BENCH_CACHE/whispercpp-$1
    [ -e "$to/.done" ] && return
    echo "building whisper.cpp for $1 (minutes)" >&2
    rm -rf "$to"
    CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) CMAKE_ARGS="${*:2}" "$HARK_BENCH_CACHE/venv/bin/python" -m pip install -q --no-cache-dir --no-deps \
        --no-binary pywhispercpp --target "$to" pywhispercpp==1.5.1
    touch "$to/.done"
}

# python VARIANT SCRIPT ARG...: runs a script with that build of whisper.cpp.
python() {
    local cpp=$HARK_BENCH_CACHE/whispercpp-$1
    PYTHONPATH=$cpp LD_LIBRARY_PATH=$cpp:$packages "$HARK_BENCH_CACHE/venv/bin/python" -B "$here/$2" "${@:3}"
}

# CTranslate2's package takes AVX2 for its own loops unless it's told otherwise, which costs it about 8 %.
best_ctranslate2() {
    if grep -qw avx512f /proc/cpuinfo; then export CT2_FORCE_CPU_ISA=AVX512; fi
}

case ${1:-} in
setup)
    "$HARK_SHARED/bench/setup.sh"
    whispercpp native -DGGML_NATIVE=ON -DGGML_LLAMAFILE=ON
    whispercpp avx2 -DGGML_NATIVE=OFF -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON -DGGML_LLAMAFILE=ON
    ;;
speed)
    mkdir -p "$out"
    best_ctranslate2
    python native speed.py --plan native --out "$out/speed.json" --hark "$hark" "${@:2}"
    ;;
avx2)
    mkdir -p "$out"
    export HARK_CPU=avx2 CT2_FORCE_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2 ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 OPENBLAS_CORETYPE=Haswell
    python avx2 speed.py --plan avx2 --out "$out/avx2.json" --hark "$hark" "${@:2}"
    ;;
matmul)
    mkdir -p "$out"
    cd "$root"
    CGO_ENABLED=0 go build -o "$out/matmul" ./scripts/peers/matmul
    for threads in 1 2; do
        "$out/matmul" -openblas "$(echo "$packages"/numpy.libs/libscipy_openblas64_*.so)" \
            -onnxruntime "$(echo "$packages"/onnxruntime/capi/libonnxruntime.so.*)" -threads $threads -out "$out/matmul-$threads.json" "${@:2}"
        echo
    done
    ;;
shared)
    mkdir -p "$out"
    best_ctranslate2
    python native shared.py --out "$out/shared.json" --hark "$hark" "${@:2}"
    ;;
all) # each table in a file of its own too
    mkdir -p "$out"
    for part in matmul shared avx2 speed; do
        "$here/run.sh" $part | tee "$out/$part.md" || echo "$part failed" >&2
    done
    ;;
*)
    sed -n '2,6s/^# \?//p' "${BASH_SOURCE[0]}"
    exit 2
    ;;
esac
