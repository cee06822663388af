#!/usr/bin/env bash
# Runs every fuzz target of the repository, one after another, each for the given time.
#
# usage: fuzz.sh TIME (as 60s)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=$1
ran=0
failed=0
for package in $(go list ./...); do
    for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
        echo "$package $target"
        ran=$((ran + 1))
        # Making an input small that only reaches more code is worth no more than seconds.
        go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 5s "$package" || failed=$((failed + 1))
    done
done
echo "fuzz: $((ran - failed)) passed, $failed failed"
[ "$ran" -gt 0 ] && [ "$failed" -eq 0 ]
