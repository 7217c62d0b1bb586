# Toolchain: from an x86-64 machine to aarch64, with what tools/setup_aarch64.sh fetched. Programs of
# the build, the tests among them, run under qemu.
get_filename_component(cross ${CMAKE_CURRENT_LIST_DIR}/../build/cross ABSOLUTE)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER ${cross}/bin/aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${cross}/bin/aarch64-linux-gnu-g++)
foreach(tool AR RANLIB NM STRIP)
  string(TOLOWER ${tool} name)
  set(CMAKE_${tool} ${cross}/bin/aarch64-linux-gnu-${name} CACHE FILEPATH "")
endforeach()
set(CMAKE_CROSSCOMPILING_EMULATOR ${cross}/bin/qemu-aarch64)

set(CMAKE_FIND_ROOT_PATH ${cross}/debian)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

# The module is for the interpreter there; this machine's own runs the generators.
file(GLOB python_headers ${cross}/debian/usr/include/python3.*)
set(MINDTORCH_PYTHON_HEADERS ${python_headers} CACHE PATH "")
set(MINDTORCH_PYTHON_PACKAGES ${cross}/python)
