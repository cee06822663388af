#!/usr/bin/env bash
# Fails, naming the files, if any Go file of the repository is not in gofmt's form.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unformatted=$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l)
if [ -n "$unformatted" ]; then
    printf 'not in gofmt form:\n%s\n' "$unformatted" >&2
    exit 1
fi
