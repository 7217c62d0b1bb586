#!/usr/bin/env bash
# Runs the C++ tests of one built preset: tools/test_cpp.sh <preset> <jobs> [ctest's pattern].
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/environment.sh
preset=${1:-release}
if grep -q '^MINDTORCH_TESTS:.*=OFF' "build/$preset/CMakeCache.txt"; then
  echo "[test] the C++ tests are left out: GoogleTest is missing (apt-get install libgtest-dev)"
  exit 0
fi
ctest --preset "$preset" -j "${2:-2}" ${3:+-R "$3"}
