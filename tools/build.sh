#!/usr/bin/env bash
# Configures (once) and builds one preset: tools/build.sh <preset> <jobs> [target]. Run tools/setup.sh
# first.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/environment.sh
preset=${1:-release}
jobs=${2:-$(nproc)}
build=build/$preset

# The sources with heavy templates take up to 2 GB each while they compile.
memory_gb=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo 2>/dev/null || echo 64)
if ((jobs > memory_gb / 2)); then jobs=$((memory_gb / 2)); fi
if ((jobs < 1)); then jobs=1; fi

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
  mkdir -p "$build"
  cmake --preset "$preset" "${options[@]}" >"$build/configure.log" 2>&1 || {
    cat "$build/configure.log" >&2
    exit 1
  }
fi
echo "[build] building $build with $jobs jobs (the first time takes some minutes)"
cmake --build "$build" -j "$jobs" ${3:+--target "$3"}
