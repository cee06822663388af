#!/usr/bin/env bash
# Fetches what turns kernels into PTX and PTX into machine code, NVRTC and ptxas, into .cache/cuda, unless they are there. Neither needs a GPU.
# They are pinned: committed PTX must come out the same to the byte.
#
# usage: setup.sh
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=$root/.cache/cuda
wheels=(nvidia-cuda-nvrtc-cu12==12.0.140 nvidia-cuda-nvcc-cu12==12.9.86)

if [ "$(cat "$cache/wheels" 2>/dev/null)" != "${wheels[*]}" ]; then
    mkdir -p "$cache"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --upgrade --target "$cache/site" "${wheels[@]}" >&2
    echo "${wheels[*]}" >"$cache/wheels"
fi
