#!/usr/bin/env bash
# Fails if a generated file is not what its generator makes now. Leaves the files as it found them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Generated files say so in their first line, in the form that Go's tools look for.
mapfile -t generated < <(git grep -lE '^// Code generated .* DO NOT EDIT\.$' -- '*.go' '*.s' || true)
if [ ${#generated[@]} -eq 0 ]; then
    exit 0
fi
kept=$(mktemp -d)
# restore puts the files back as they were.
restore() {
    for f in "${generated[@]}"; do
        cmp -s "$kept/$f" "$f" || cp -p "$kept/$f" "$f"
    done
    rm -rf "$kept"
}
cp -p --parents "${generated[@]}" "$kept"
trap restore EXIT

# The PTX of kernels/cuda takes half a minute to make; the package's own test compares it.
mapfile -t packages < <(go list ./... | grep -vx hark/kernels/cuda)
go generate "${packages[@]}"
status=0
for f in "${generated[@]}"; do
    if ! cmp -s "$kept/$f" "$f"; then
        echo "$f is stale: run make generate" >&2
        status=1
    fi
done
exit $status
