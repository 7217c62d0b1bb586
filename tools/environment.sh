# Sourced by the other scripts: puts .venv/bin (which may hold cmake and ninja) first in PATH, and finds
# the Debian packages that tools/setup.sh unpacked under build/debian where it could not install them.
PATH=$PWD/.venv/bin:$PATH
if [ -d "$PWD/build/debian/usr" ]; then
  export CMAKE_PREFIX_PATH="$PWD/build/debian/usr${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
  export CPLUS_INCLUDE_PATH="$PWD/build/debian/usr/include${CPLUS_INCLUDE_PATH:+:$CPLUS_INCLUDE_PATH}"
fi
