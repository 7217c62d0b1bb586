#!/usr/bin/env bash
# Fetches what an x86-64 machine needs to build and run mindtorch for aarch64, under build/cross:
# Debian's cross compiler and qemu, the aarch64 packages they build against, and OpenBLAS and NumPy
# from PyPI. Nothing is installed on the machine, so no root is needed. Run tools/setup.sh first.
set -euo pipefail
cd "$(dirname "$0")/.."
cross=$PWD/build/cross
debian=$cross/debian

say() { printf '[setup] %s\n' "$*"; }

stamp=$cross/.complete
fingerprint=$(cat tools/setup_aarch64.sh requirements.txt | cksum)" $cross"
if [[ -f $stamp && $(cat "$stamp") == "$fingerprint" ]]; then
  exit 0
fi
[[ $(uname -m) == x86_64 ]] && command -v apt-get >/dev/null ||
  { say "the cross build needs an x86-64 Debian machine; on aarch64 itself run make test" && exit 1; }
rm -rf "$cross"
mkdir -p "$cross"/apt/{lists,archives}/partial "$debian"

# --- Debian packages ------------------------------------------------------------------------------
# apt resolves the dependencies for a system on which nothing is installed, in folders of our own.
say "fetching the cross compiler, qemu and aarch64 packages from Debian (170 MB)"
touch "$cross/apt/status"
options=(-qq -o APT::Architectures=amd64,arm64 -o APT::Install-Recommends=0 -o Acquire::Languages=none
  -o Dir::State::Lists="$cross/apt/lists" -o Dir::State::status="$cross/apt/status"
  -o Dir::Cache="$cross/apt" -o APT::Sandbox::User=root -o Debug::NoLocking=1
  -o Acquire::Retries=3)
apt-get "${options[@]}" update
apt-get "${options[@]}" --download-only -y install g++-aarch64-linux-gnu qemu-user-static \
  {libhwy-dev,libgtest-dev,libpython3-dev,python3-minimal}:arm64 >/dev/null
for file in "$cross"/apt/archives/*.deb; do
  case ${file##*/} in
  libc6_*_amd64.deb) ;; # the machine's own
  *) dpkg-deb -x "$file" "$debian" ;;
  esac
done
[[ -e $debian/lib ]] || ln -s usr/lib "$debian/lib"
rm -rf "$cross/apt" "$debian"/usr/share/{doc,man}
find "$debian/usr/bin" -name 'qemu-*' ! -name qemu-aarch64-static -delete

# The tools find their own shared libraries, and the compiler its headers.
mkdir -p "$cross/bin"
for tool in g++ gcc ar ranlib nm strip; do
  case $tool in g++ | gcc) flags="--sysroot=$debian" ;; *) flags= ;; esac
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q %s "$@"\n' "$debian/usr/lib/x86_64-linux-gnu" \
    "$debian/usr/bin/aarch64-linux-gnu-$tool" "$flags" >"$cross/bin/aarch64-linux-gnu-$tool"
done
# A processor with NEON alone, as in most hosts of Ascend cards. OpenBLAS takes what else qemu has to
# offer for the real thing, and fails.
printf '#!/bin/sh\nexec %q -cpu cortex-a72 -L %q "$@"\n' "$debian/usr/bin/qemu-aarch64-static" "$debian" \
  >"$cross/bin/qemu-aarch64"
chmod +x "$cross"/bin/*

# --- PyPI packages --------------------------------------------------------------------------------
say "fetching OpenBLAS and NumPy for aarch64 from PyPI"
version=$(basename "$debian"/usr/include/python3.*)
grep -E '^(scipy-openblas32|numpy)' requirements.txt >"$cross/requirements.txt"
.venv/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps \
  --only-binary=:all: --implementation cp --python-version "${version#python}" \
  --platform manylinux2014_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 \
  --target "$cross/python" -r "$cross/requirements.txt"

printf '%s' "$fingerprint" >"$stamp"
say "ready to build for aarch64"
