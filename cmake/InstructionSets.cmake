# Which instruction sets the vector code of the CPU ops is compiled for. A build from source is for the
# machine that compiles it: its own best set and plain code, which runs anywhere. Every further set is a
# third more to compile.
#
#   MINDTORCH_CPU_TARGETS=native   the machine's own (the default)
#                        all      every one: wheels, and what is built for other machines
set(MINDTORCH_CPU_TARGETS native CACHE STRING "Instruction sets of the CPU ops: native or all")
set_property(CACHE MINDTORCH_CPU_TARGETS PROPERTY STRINGS native all)
if(NOT MINDTORCH_CPU_TARGETS MATCHES "^(native|all)$")
  message(FATAL_ERROR "MINDTORCH_CPU_TARGETS is ${MINDTORCH_CPU_TARGETS}; it can be native or all")
endif()

# Of x86-64's sets we use AVX2 and AVX-512, of aarch64's NEON; Highway knows more.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(disabled_simd "HWY_SVE|HWY_SVE_256|HWY_SVE2|HWY_SVE2_128")
else()
  set(enabled_simd "HWY_AVX2|HWY_AVX3")
  if(MINDTORCH_CPU_TARGETS STREQUAL "native" AND NOT CMAKE_CROSSCOMPILING)
    # Highway answers: it is also what chooses when the program runs. Asked at each configuration: the
    # folder may have come to another machine.
    set(source "${PROJECT_BINARY_DIR}/best_set.cpp")
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
#include <cstdio>

#include "hwy/targets.h"

int main() {
  const auto supported = hwy::SupportedTargets();
  std::puts((supported & HWY_AVX3) != 0 ? "HWY_AVX3" : (supported & HWY_AVX2) != 0 ? "HWY_AVX2" : "0");
}
]])
    try_run(exit_code compiled ${PROJECT_BINARY_DIR}/best_set ${source}
            LINK_LIBRARIES hwy::hwy RUN_OUTPUT_VARIABLE best COMPILE_OUTPUT_VARIABLE errors)
    if(NOT compiled OR NOT exit_code EQUAL 0)
      message(FATAL_ERROR "Highway does not tell this machine's instruction sets: ${errors}")
    endif()
    unset(exit_code CACHE)
    unset(compiled CACHE)
    string(STRIP "${best}" enabled_simd)
  endif()
  set(disabled_simd "0x3FFF&~(${enabled_simd})")  # the bits of all x86-64's sets above SSE2
endif()
set(mindtorch_simd_definition "HWY_DISABLED_TARGETS=(${disabled_simd})")

# Sources that are compiled once for each instruction set. The others do not depend on the choice, and
# builds for one set and for all share their objects in the compiler cache.
#
#   mindtorch_simd_sources(<target> [GROUP <name>] SOURCES <files>...)
#
# GROUP: in one compiler run (see Sources.cmake). Highway compiles a file once for each set by
# including it again; here that file is the group, so that all sources see one set at a time.
function(mindtorch_simd_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "GROUP" "SOURCES")
  if(ARG_GROUP)
    set(name "groups/${target}/${ARG_GROUP}.cpp")
    string(CONCAT again "#undef HWY_TARGET_INCLUDE\n" "#define HWY_TARGET_INCLUDE \"${name}\"\n")
    mindtorch_includes(includes ${ARG_SOURCES})
    set(sources ${PROJECT_BINARY_DIR}/generated/${name})
    file(CONFIGURE OUTPUT ${sources} CONTENT
         "${again}#include \"hwy/foreach_target.h\"\n${includes}${again}" @ONLY)
  else()
    list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
  endif()
  target_sources(${target} PRIVATE ${sources})
  set_property(SOURCE ${sources} TARGET_DIRECTORY ${target} APPEND
               PROPERTY COMPILE_DEFINITIONS "${mindtorch_simd_definition}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Intrinsics use values that are undefined on purpose (GCC bug 105593), of which GCC warns where
    # their header is precompiled.
    set_property(SOURCE ${sources} TARGET_DIRECTORY ${target} APPEND
                 PROPERTY COMPILE_OPTIONS -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
endfunction()

# All of them include it, and it is as long as all of the standard headers together.
set(mindtorch_simd_header "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(mindtorch_simd_header <immintrin.h>)
endif()
