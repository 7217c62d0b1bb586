#!/usr/bin/env bash
# Prepares this checkout: Debian packages, a virtual environment in .venv, PyPI packages, and a path
# entry so that .venv/bin/python imports mindtorch_v2 from python/. Says what it does; the second run
# takes a moment, because a stamp records what is already there.
#
#   PYTHON=python3.12 tools/setup.sh    choose the interpreter (default: python3; 3.10 or newer)
#
# Without root (and without passwordless sudo) Debian packages are unpacked under build/debian.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
venv=$root/.venv
unpacked=$root/build/debian

say() { printf '[setup] %s\n' "$*"; }
fail() {
  printf '[setup] error: %s\n' "$*" >&2
  exit 1
}

if [[ -x $venv/bin/python ]]; then
  python=$venv/bin/python
else
  python=$(command -v "${PYTHON:-python3}") || fail "${PYTHON:-python3} is missing"
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
  fail "Python 3.10 or newer is needed; $python is $("$python" --version 2>&1)"

stamp=$venv/.mindtorch-setup
fingerprint=$(cat tools/setup.sh tools/bootstrap_pip.py requirements-dev.txt | cksum)" $root"
if [[ -f $stamp && $(cat "$stamp") == "$fingerprint" ]]; then
  exit 0
fi

# --- Debian packages ------------------------------------------------------------------------------
has_header() { [[ -e /usr/include/$1 || -e /usr/local/include/$1 || -e $unpacked/usr/include/$1 ]]; }
python_headers() {
  "$python" - <<'PY'
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
PY
}
has_pip() { "$python" -c 'import venv, ensurepip' 2>/dev/null || [[ -x $venv/bin/pip ]]; }

missing=()
command -v "${CXX:-c++}" >/dev/null || command -v g++ >/dev/null || missing+=(g++)
has_header hwy/highway.h || missing+=(libhwy-dev)
[[ $(uname -m) != x86_64 ]] || has_header xbyak/xbyak.h || missing+=(libxbyak-dev)
has_header gtest/gtest.h || missing+=(libgtest-dev)
has_header benchmark/benchmark.h || missing+=(libbenchmark-dev)
python_headers || missing+=(python3-dev)
has_pip || missing+=(python3-venv)
command -v ccache >/dev/null || missing+=(ccache)

if ((${#missing[@]})); then
  as_root=()
  allowed=yes
  if [[ $(id -u) != 0 ]]; then
    if sudo -n true 2>/dev/null; then as_root=(sudo -n); else allowed=no; fi
  fi
  if ! command -v apt-get >/dev/null; then
    say "not a Debian system; these packages, or what they hold, are missing: ${missing[*]}"
  elif [[ $allowed == yes ]]; then
    say "installing Debian packages: ${missing[*]}"
    "${as_root[@]}" apt-get update -qq || say "apt-get update failed; trying with the lists at hand"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
      fail "could not install: ${missing[*]}"
  else
    say "no root: unpacking under build/debian instead of installing: ${missing[*]}"
    say "(an administrator would run: apt-get install ${missing[*]})"
    mkdir -p "$unpacked"/apt/{lists/partial,archives/partial} "$unpacked/debs"
    options=(-o Dir::State::Lists="$unpacked/apt/lists" -o Dir::Cache="$unpacked/apt"
      -o Debug::NoLocking=1 -qq)
    wanted=()
    for package in "${missing[@]}"; do
      case $package in
      libhwy-dev) wanted+=(libhwy-dev libhwy1) ;;
      python3-dev)
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        wanted+=("libpython$version-dev")
        ;;
      libgtest-dev | libxbyak-dev) wanted+=("$package") ;;
      g++) fail "a C++ compiler is needed: apt-get install g++" ;;
      *) say "going on without $package" ;;
      esac
    done
    if ((${#wanted[@]})); then
      apt-get "${options[@]}" update || say "apt-get update failed; trying with the lists at hand"
      for package in "${wanted[@]}"; do
        (cd "$unpacked/debs" && apt-get "${options[@]}" download "$package") ||
          say "could not fetch $package"
      done
      for file in "$unpacked"/debs/*.deb; do
        if [[ -e $file ]]; then dpkg-deb -x "$file" "$unpacked"; fi
      done
    fi
  fi
  has_header hwy/highway.h || fail "Highway is needed to build: apt-get install libhwy-dev"
  [[ $(uname -m) != x86_64 ]] || has_header xbyak/xbyak.h ||
    say "no Xbyak (libxbyak-dev): fused ops will be interpreted"
  has_header gtest/gtest.h || say "no GoogleTest (libgtest-dev): the C++ tests will be left out"
fi

# --- virtual environment --------------------------------------------------------------------------
if [[ ! -x $venv/bin/python ]]; then
  say "creating .venv with $("$python" --version)"
  "$python" -m venv "$venv" >/dev/null 2>&1 || {
    rm -rf "$venv"
    "$python" -m venv --without-pip "$venv" ||
      fail "Python's venv module is missing: apt-get install python3-venv"
  }
fi
python=$venv/bin/python
"$python" -m pip --version >/dev/null 2>&1 || {
  say "fetching pip from PyPI"
  "$python" tools/bootstrap_pip.py
}

requirements=(-r requirements-dev.txt)
new_enough_cmake() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p') || return 1
  [[ -n $version && $(printf '3.25\n%s\n' "$version" | sort -V | head -1) == 3.25 ]]
}
new_enough_cmake || requirements+=("cmake>=3.25,<5")
command -v ninja >/dev/null || requirements+=("ninja>=1.11")
say "installing PyPI packages into .venv (a few minutes on a fresh machine)"
"$python" -m pip install --quiet --no-compile --disable-pip-version-check "${requirements[@]}" ||
  fail "pip could not install requirements-dev.txt"

# --- the source tree as a package -----------------------------------------------------------------
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf '%s\n' "$root/python" >"$site/mindtorch_v2_source.pth"

printf '%s' "$fingerprint" >"$stamp"
say "ready"
