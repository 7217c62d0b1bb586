# Language level, warnings, optimisation, sanitizers and the compiler cache.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# A product and a sum stay two roundings on every instruction set, so that a fused loop, an eager
# kernel and another machine give the same bits.
add_compile_options(-ffp-contract=off -fno-math-errno)

# Linked by every target of ours; vendored headers come in as system headers.
add_library(mindtorch_warnings INTERFACE)
target_compile_options(mindtorch_warnings INTERFACE -Wall -Wextra -Wconversion
                                                    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns about std::string's own operator+ (GCC bug 105651), in three ways where the headers
  # are precompiled.
  target_compile_options(mindtorch_warnings INTERFACE -Wno-restrict -Wno-stringop-overflow
                                                      -Wno-array-bounds)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC takes what a group includes for headers, whose types should not depend on unnamed namespaces.
  target_compile_options(mindtorch_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(MINDTORCH_WERROR)
  target_compile_options(mindtorch_warnings INTERFACE -Werror)
endif()

if(MINDTORCH_SANITIZE)
  add_compile_options(-fsanitize=${MINDTORCH_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MINDTORCH_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code hides from GCC that a part of a vector of one lane has at most one.
    add_compile_options(-Wno-stringop-overread)
  endif()
  if(MINDTORCH_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
else()
  add_compile_options(-fno-semantic-interposition)
  add_link_options(-Wl,-z,now -Wl,--as-needed)
endif()

# Code locations are relative to the repository, and no path of the build machine ends up in
# the library. The compiler sees paths relative to the build folder under ccache, else whole ones.
file(RELATIVE_PATH path_to_root ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
string(REGEX REPLACE "/$" "" path_to_root "${path_to_root}")
add_compile_options(-fmacro-prefix-map=${path_to_root}/=)

# Paths are made relative to this checkout, so that all checkouts on a machine share one cache.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
endif()

# Reading the standard headers is a third of what a source costs to compile. Every source still
# includes what it uses: `make includes` checks that.
function(mindtorch_precompile_headers target)
  if(MINDTORCH_PRECOMPILED_HEADERS)
    target_precompile_headers(
      ${target}
      PRIVATE
      ${ARGN}
      <algorithm>
      <array>
      <atomic>
      <chrono>
      <cmath>
      <cstdint>
      <cstring>
      <functional>
      <limits>
      <map>
      <memory>
      <mutex>
      <optional>
      <span>
      <string>
      <string_view>
      <unordered_map>
      <utility>
      <vector>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -fpch-preprocess)  # for ccache
    endif()
  endif()
endfunction()

