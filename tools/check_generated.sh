#!/usr/bin/env bash
# Fails when a checked-in generated file differs from what its generator writes now. The files are
# left as they were.
set -euo pipefail
cd "$(dirname "$0")/.."
[[ -f tools/make_stubs.py ]] || exit 0
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
mapfile -t files < <(git ls-files 'python/mindtorch_v2/*.pyi' docs/ops.md docs/options.md)
for file in "${files[@]}"; do
  install -D -m 644 "$file" "$before/$file"
done
.venv/bin/python tools/make_stubs.py
status=0
for file in "${files[@]}"; do
  if ! diff -u --label "$file (checked in)" --label "$file (generated)" "$before/$file" "$file"; then
    status=1
  fi
  cp "$before/$file" "$file"
done
((status == 0)) || echo "generated files are out of date: run \`make stubs\` and commit the result" >&2
exit $status
