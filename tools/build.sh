#!/usr/bin/env bash
# Configures (once) and builds one preset: tools/build.sh <preset> <jobs> [target]. Run tools/setup.sh
# first. A build that was interrupted goes on where it was.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/environment.sh
source tools/machine.sh
source tools/processes.sh
preset=${1:-release}
jobs=${2:-$(nproc)}
build=build/$preset

fail() {
  printf '[build] error: %s\n' "$*" >&2
  exit 1
}

one_at_a_time build
available=$(available_mib)
wanted=$jobs
jobs=$(jobs_for "$wanted" "$available")
if ! was_built "$build" "${3:-all}"; then # as tools/setup.sh has found, if it had anything to do
  room=$disk_mib
  if [[ ${3:-} == python_module ]]; then room=$demo_disk_mib; fi
  problem=$(check_memory "$available") || fail "$problem"
  problem=$(check_disk "$PWD" "$(disk_needed "$room" "$build")") || fail "$problem"
  say_jobs build "$wanted" "$available"
fi

options=()
for folder in /usr/include /usr/local/include build/debian/usr/include none; do
  [[ -e $folder/gtest/gtest.h ]] && break
done
if [[ $folder == none ]]; then
  options+=(-DMINDTORCH_TESTS=OFF)
elif [[ -f $build/.configured && $(<"$build/.configured") == *MINDTORCH_TESTS=OFF* ]]; then
  rm "$build/.configured" # GoogleTest has come since
  options+=(-DMINDTORCH_TESTS=ON)
fi
headers=$(.venv/bin/python -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
if [[ -e build/debian/usr/include/$headers/Python.h ]]; then
  options+=("-DPython_INCLUDE_DIR=$PWD/build/debian/usr/include/$headers")
fi

# Vector code is compiled for the machine that configures (cmake/InstructionSets.cmake).
machine=$(grep -m1 -E '^(flags|Features)' /proc/cpuinfo | cksum) || machine=
if [[ -f $build/.configured && $(tail -n 1 "$build/.configured") != "$machine" ]]; then
  rm "$build/.configured"
fi

# build.ninja alone does not say that the configuration came to its end.
if [[ ! -f $build/build.ninja || ! -f $build/.configured ]]; then
  if [[ ! -f $build/build.ninja ]]; then
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
  fi
  echo "[build] configuring $build"
  mkdir -p "$build"
  start_group cmake --preset "$preset" "${options[@]}" >"$build/configure.log" 2>&1
  wait_for_group || {
    cat "$build/configure.log" >&2
    exit 1
  }
  printf '%s\n' "${options[*]}" "$machine" >"$build/.configured"
fi

exec .venv/bin/python tools/build_progress.py "$build" "$jobs" ${3:+"$3"}
