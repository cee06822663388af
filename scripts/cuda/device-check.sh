#!/usr/bin/env bash
# Tries everything on a real GPU, in a few minutes: what doctor says, the tests of the kernels and of both models, which elsewhere run on the
# emulated GPU, and speeds.
#
# usage: device-check.sh HARK
# HARK_CUDA_LIBRARY: the driver's library (default: libcuda.so.1)
set -euo pipefail

hark=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CGO_ENABLED=0 HARK_CUDA_LIBRARY=${HARK_CUDA_LIBRARY:-libcuda.so.1}

"$hark" doctor --device cuda || true # what else it finds missing is not the point here
go test -count=1 -timeout 5m ./engine/cuda/...
go test -count=1 -timeout 5m -run '^TestGPU' ./engine/whisper ./engine/parakeet
go test -run '^$' -bench GPU -benchtime 20x -timeout 5m ./engine/cuda
