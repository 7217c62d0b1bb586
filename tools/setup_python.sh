#!/usr/bin/env bash
# Fetches a CPython with its headers from one of Debian's releases: tools/setup_python.sh 3.14 [arm64]
# It is unpacked in build/pythons/<version>-<architecture>, with all libraries that it needs; nothing is
# installed on the machine, so no root is needed. One for this machine runs as
# build/pythons/3.14-amd64/usr/bin/python3.14; one for another needs its emulator.
set -euo pipefail
cd "$(dirname "$0")/.."
declare -A releases=([3.11]=bookworm [3.13]=trixie [3.14]=forky)
machine=$(dpkg --print-architecture)
version=$1
architecture=${2:-$machine}
release=${releases[$version]:-}
[[ -n $release ]] || { echo "[setup] Debian has no CPython $version: ${!releases[*]}" >&2 && exit 1; }
root=$PWD/build/pythons/$version-$architecture
apt=$root/apt

stamp=$root/.complete
fingerprint=$(cksum <tools/setup_python.sh)" $root"
if [[ -f $stamp && $(cat "$stamp") == "$fingerprint" ]]; then
  exit 0
fi
# Another release is where this machine's own is.
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' |
  sed -n "s/^Debian $codename //p" | head -1)
[[ -n $mirror ]] || { echo "[setup] apt knows no mirror of Debian $codename: apt-get update" >&2 && exit 1; }
echo "[setup] fetching CPython $version for $architecture from Debian $release"
rm -rf "$root"
mkdir -p "$apt"/{lists,archives}/partial

# apt resolves the dependencies for a system on which nothing is installed, in folders of our own.
touch "$apt/status"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] $mirror $release main" >"$apt/sources.list"
options=(-qq -o APT::Architecture="$architecture" -o APT::Architectures="$architecture"
  -o APT::Install-Recommends=0 -o Acquire::Languages=none -o APT::Sandbox::User=root
  -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o Dir::State::Lists="$apt/lists" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt"
  -o Debug::NoLocking=1 -o Acquire::Retries=3)
apt-get "${options[@]}" update
apt-get "${options[@]}" --download-only -y install "python$version-minimal" "libpython$version-dev" \
  libstdc++6 >/dev/null
# From trixie on, packages have no /lib; before, it is a folder of theirs.
mkdir -p "$root/usr/lib"
ln -s usr/lib "$root/lib"
[[ $architecture != amd64 ]] || { mkdir -p "$root/usr/lib64" && ln -s usr/lib64 "$root/lib64"; }
for file in "$apt"/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$file" | tar -x --keep-directory-symlink --no-same-owner -C "$root"
done
rm -rf "$apt" "$root"/usr/share/{doc,man}
# Debian's pyconfig.h includes that of the architecture, from a folder that holds the C library's
# headers here.
mv "$root/usr/include"/*-linux-gnu/"python$version/pyconfig.h" "$root/usr/include/python$version/"

if [[ $architecture == "$machine" ]]; then
  # The interpreter runs with the libraries that came with it. In the other order patchelf breaks it.
  program=$root/usr/bin/python$version
  loader=$(find "$root/usr/lib" "$root"/usr/lib64/ -name 'ld-linux*.so*' 2>/dev/null | head -1)
  .venv/bin/patchelf --force-rpath --set-rpath "$root/usr/lib/$(uname -m)-linux-gnu" "$program"
  .venv/bin/patchelf --set-interpreter "$loader" "$program"
fi
printf '%s' "$fingerprint" >"$stamp"
