#!/usr/bin/env bash
# Configures (once) and builds one preset: tools/build.sh <preset> <jobs>. The Makefile calls it after
# tools/setup.sh, with .venv/bin in PATH.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
jobs=${2:-$(nproc)}
build=build/$preset

# The sources with heavy templates take up to 2 GB each while they compile.
memory_gb=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo 2>/dev/null || echo 64)
((jobs > memory_gb / 2)) && jobs=$((memory_gb / 2))
((jobs < 1)) && jobs=1

if [[ ! -f $build/build.ninja ]]; then
  options=()
  for folder in /usr/include /usr/local/include build/debian/usr/include none; do
    [[ -e $folder/gtest/gtest.h ]] && break
  done
  [[ $folder == none ]] && options+=(-DMINDTORCH_TESTS=OFF)
  headers=$(.venv/bin/python -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
  if [[ -e build/debian/usr/include/$headers/Python.h ]]; then
    options+=("-DPython_INCLUDE_DIR=$PWD/build/debian/usr/include/$headers")
  fi
  echo "[build] configuring $build"
  cmake --preset "$preset" "${options[@]}" >"/tmp/mindtorch-configure.$$" 2>&1 || {
    cat "/tmp/mindtorch-configure.$$" >&2
    rm -f "/tmp/mindtorch-configure.$$"
    exit 1
  }
  rm -f "/tmp/mindtorch-configure.$$"
fi
echo "[build] building $build with $jobs jobs (the first time takes some minutes)"
cmake --build "$build" -j "$jobs"
