#!/usr/bin/env bash
# Prepares this checkout: Debian packages, a virtual environment in .venv, PyPI packages, and a path
# entry so that .venv/bin/python imports mindtorch_v2 from python/. Says what it does; the second run
# takes a moment, because a stamp records what is already there.
#
#   tools/setup.sh                      everything (requirements-dev.txt)
#   tools/setup.sh demo                 what building and the demo need (requirements.txt)
#   PYTHON=python3.12 tools/setup.sh    choose the interpreter (default: python3; 3.10 or newer)
#
# make hands PRESET and JOBS on, if they are given: whether there is room for that build is checked here.
# Without root (and without passwordless sudo) Debian packages are unpacked under build/debian. What
# apt and pip print goes to build/setup-*.log, and is shown if they fail.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
venv=$root/.venv
unpacked=$root/build/debian
source tools/machine.sh
source tools/processes.sh

say() { printf '[setup] %s\n' "$*"; }
fail() {
  printf '[setup] error: %s\n' "$*" >&2
  exit 1
}

case ${1:-all} in
all) requirements=requirements-dev.txt target=all ;;
demo) requirements=requirements.txt target=python_module disk_mib=$demo_disk_mib ;;
*) fail "usage: tools/setup.sh [demo]" ;;
esac

# A stamp of everything does for the demo as well.
fingerprint() { cat tools/setup.sh tools/bootstrap_pip.py "$@" | cksum | tr '\n' ' ' && echo "$root"; }
stamp=$venv/.mindtorch-setup
wanted=$(fingerprint requirements.txt)
everything=$(fingerprint requirements.txt requirements-dev.txt)
if [[ $requirements == requirements-dev.txt ]]; then wanted=$everything; fi
is_ready() {
  [[ -f $stamp && -x $venv/bin/python ]] || return 1
  local found
  found=$(<"$stamp")
  [[ $found == "$everything" || $found == "$wanted" ]]
}
if is_ready; then exit 0; fi
one_at_a_time setup
if is_ready; then exit 0; fi # by then
begin=$SECONDS

# --- what the machine must have -------------------------------------------------------------------
problem=$(check_platform) || fail "$problem"

# An environment that was not finished is made anew. pip has kept what it fetched.
unfinished=$venv/.mindtorch-unfinished
if [[ -e $unfinished ]] || { [[ -e $venv ]] && ! "$venv/bin/python" -c '' 2>/dev/null; }; then
  say "removing an unfinished .venv"
  rm -rf "$venv"
fi
if [[ -x $venv/bin/python ]]; then
  python=$venv/bin/python
else
  python=$(command -v "${PYTHON:-python3}") || fail "${PYTHON:-python3} is missing: apt-get install python3"
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
  fail "Python 3.10 or newer is needed, and $python is $("$python" --version 2>&1)"
"$python" -c 'import venv' 2>/dev/null ||
  fail "Python's venv module is missing: apt-get install python3-venv"

as_root=()
allowed=
if command -v apt-get >/dev/null; then
  if [[ $(id -u) == 0 ]]; then
    allowed=yes
  elif sudo -n true 2>/dev/null; then
    allowed=yes
    as_root=(sudo -n)
  fi
fi
compiler=$(find_compiler)
if [[ -n $compiler ]]; then
  problem=$(check_compiler "$compiler") || fail "$problem"
elif [[ -z $allowed || -n ${CXX:-} ]]; then
  fail "there is no C++ compiler${CXX:+ $CXX}: apt-get install g++"
fi
build=build/${PRESET:-release}
jobs=${JOBS:-$(nproc)}
available=$(available_mib)
if ! was_built "$build" "$target"; then
  problem=$(check_memory "$available") || fail "$problem"
fi
problem=$(check_disk "$root" "$(disk_needed "$disk_mib" "$build")") || fail "$problem"

wanted_packages=(-r "$requirements")
new_enough_cmake() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p') || return 1
  [[ -n $version && $(printf '3.25\n%s\n' "$version" | sort -V | head -1) == 3.25 ]]
}
new_enough_cmake || wanted_packages+=("cmake>=3.25,<5")
command -v ninja >/dev/null || wanted_packages+=("ninja>=1.11")

# With no network the packages may still be here, in .venv or in a folder that pip knows.
offline=()
problem=$("$python" tools/check_network.py 2>&1) || {
  offline=(--no-index)
  [[ $python == "$venv"/* ]] &&
    "$python" -m pip install --dry-run --no-index "${wanted_packages[@]}" >/dev/null 2>&1 ||
    fail "$problem"
}
mkdir -p build
was_built "$build" "$target" || say_jobs setup "$jobs" "$available"

# Runs a step with what it prints in a log; says every 15 seconds how far it is.
step() {
  local name=$1 log=build/setup-$1.log child seconds=0 line
  shift
  start_group "$@" >"$log" 2>&1 || return 1
  while kill -0 "$child" 2>/dev/null; do
    sleep 0.2
    seconds=$((seconds + 1))
    if ((seconds % 75 == 0)); then
      line=$(grep -vi '^warning\|^ *$' "$log" | tail -1 | sed 's/^ *//; s/ from .*//' | cut -c1-70) || true
      say "$((SECONDS - begin)) s: ${line:-$name packages}"
    fi
  done
  wait_for_group
}
# Ends with the last lines of a step's log, or with the disk, if that is full: the log is on it, too.
give_up() {
  local log=build/setup-$1.log folder problem
  shift
  tail -n 25 "$log" >&2 || true
  for folder in "$root" "${TMPDIR:-/tmp}"; do
    problem=$(check_disk "$folder" "$spare_disk_mib") || fail "$problem; $*"
  done
  if grep -qi 'no space left on device' "$log"; then fail "the disk is full: $*"; fi
  fail "$* (all of the output is in $log)"
}

# --- Debian packages ------------------------------------------------------------------------------
has_header() { [[ -e /usr/include/$1 || -e /usr/local/include/$1 || -e $unpacked/usr/include/$1 ]]; }
python_headers() {
  "$python" - <<'PY'
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
PY
}
python_name=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
has_pip() { "$python" -c 'import ensurepip' 2>/dev/null || [[ -x $venv/bin/pip ]]; }

missing=()
[[ -n $compiler ]] || missing+=(g++)
has_header hwy/highway.h || missing+=(libhwy-dev)
[[ $(uname -m) != x86_64 ]] || has_header xbyak/xbyak.h || missing+=(libxbyak-dev)
has_header gtest/gtest.h || missing+=(libgtest-dev)
has_header benchmark/benchmark.h || missing+=(libbenchmark-dev)
python_headers || [[ -e $unpacked/usr/include/$python_name/Python.h ]] || missing+=(python3-dev)
has_pip || missing+=(python3-venv)
command -v ccache >/dev/null || missing+=(ccache)

# A mirror that does not answer is given up soon.
apt_options=(-qq -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)

install_packages() {
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${apt_options[@]}"
    -o DPkg::Lock::Timeout=60)
  "${as_root[@]}" dpkg --configure -a # after an installation that was interrupted
  "${apt[@]}" update || echo "apt-get update failed; trying with the lists at hand"
  "${apt[@]}" install -y --no-install-recommends "$@"
} 9<&- # a service that a package starts must not hold the lock

# Unpacks into a folder that takes its name when it is complete.
unpack_packages() {
  local debs=$unpacked/debs fresh=$unpacked.new file package
  mkdir -p "$unpacked"/apt/{lists/partial,archives/partial} "$debs"
  local apt=(apt-get "${apt_options[@]}" -o Dir::State::Lists="$unpacked/apt/lists"
    -o Dir::Cache="$unpacked/apt" -o Debug::NoLocking=1)
  "${apt[@]}" update || echo "apt-get update failed; trying with the lists at hand"
  for package in "$@"; do
    (cd "$debs" && "${apt[@]}" download "$package") || echo "could not fetch $package"
  done
  rm -rf "$fresh"
  mkdir "$fresh"
  for file in "$debs"/*.deb; do
    if [[ -e $file ]]; then dpkg-deb -x "$file" "$fresh" || rm "$file"; fi
  done
  if [[ -d $fresh/usr ]]; then
    rm -rf "$unpacked/usr"
    mv "$fresh/usr" "$unpacked/usr"
  fi
  rm -rf "$fresh" "$unpacked/apt"
}

if ((${#missing[@]})); then
  if ! command -v apt-get >/dev/null; then
    say "not a Debian system; these packages, or what they hold, are missing: ${missing[*]}"
  elif [[ $allowed == yes ]]; then
    say "installing Debian packages: ${missing[*]}"
    step debian install_packages "${missing[@]}" || {
      if [[ -z $(find_compiler) ]] || ! has_header hwy/highway.h || ! python_headers || ! has_pip; then
        give_up debian "could not install Debian packages: ${missing[*]}"
      fi
      say "going on without what could not be installed: ${missing[*]}"
    }
  else
    say "no root: unpacking under build/debian instead of installing: ${missing[*]}"
    say "(an administrator would run: apt-get install ${missing[*]})"
    names=()
    for package in "${missing[@]}"; do
      case $package in
      libhwy-dev) names+=(libhwy-dev libhwy1) ;;
      python3-dev) names+=("lib$python_name-dev") ;;
      libgtest-dev | libxbyak-dev) names+=("$package") ;;
      *) say "going on without $package" ;;
      esac
    done
    if ((${#names[@]})); then
      step debian unpack_packages "${names[@]}" ||
        give_up debian "could not unpack Debian packages: ${names[*]}"
    fi
  fi
  has_header hwy/highway.h || {
    [[ ! -f build/setup-debian.log ]] || tail -n 25 build/setup-debian.log >&2
    fail "Highway is needed to build: apt-get install libhwy-dev"
  }
  [[ $(uname -m) != x86_64 ]] || has_header xbyak/xbyak.h ||
    say "no Xbyak (libxbyak-dev): fused ops will be interpreted"
  has_header gtest/gtest.h || say "no GoogleTest (libgtest-dev): the C++ tests will be left out"
fi

# --- virtual environment --------------------------------------------------------------------------
if [[ ! -x $venv/bin/python ]]; then
  say "creating .venv with $("$python" --version)"
  mkdir -p "$venv"
  touch "$unfinished"
  step venv "$python" -m venv "$venv" || step venv "$python" -m venv --clear --without-pip "$venv" ||
    give_up venv "Python could not make a virtual environment in .venv"
  touch "$unfinished"
fi
python=$venv/bin/python
"$python" -m pip --version >/dev/null 2>&1 || {
  say "fetching pip from PyPI"
  step pip "$python" tools/bootstrap_pip.py || give_up pip "could not fetch pip from PyPI"
}

say "installing PyPI packages into .venv (about a minute on a fresh machine)"
step pypi "$python" -m pip install --no-compile --no-input --progress-bar off --retries 2 \
  --disable-pip-version-check "${offline[@]}" "${wanted_packages[@]}" ||
  give_up pypi "pip could not install $requirements"

# --- the source tree as a package -----------------------------------------------------------------
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf '%s\n' "$root/python" >"$site/mindtorch_v2_source.pth"

printf '%s' "$wanted" >"$stamp.new"
mv "$stamp.new" "$stamp"
rm -f "$unfinished"
say "ready ($((SECONDS - begin)) s)"
