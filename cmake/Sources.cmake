# Small sources are compiled in groups, one compiler run for each: reading the headers takes ten times
# as long as compiling what a source adds to them. A group is a list that somebody wrote, not so and so
# many files in alphabetical order: what a change compiles again can be seen, and names that meet in a
# group meet in every build. tools/check_includes.py (`make includes`) shows that every source includes
# what it uses.
#
# CMake's own unity builds name their sources by absolute paths, which two checkouts that share a
# compiler cache do not have in common; these do not.

# Writes an #include of each source into a variable.
function(mindtorch_includes result)
  set(includes "")
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    foreach(root ${PROJECT_BINARY_DIR}/generated ${PROJECT_SOURCE_DIR})
      cmake_path(IS_PREFIX root ${source} below)
      if(below)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${root})
        break()
      endif()
    endforeach()
    string(APPEND includes "#include \"${source}\"\n")
  endforeach()
  set(${result} "${includes}" PARENT_SCOPE)
endfunction()

# mindtorch_sources(<target> GROUP <name> [FOR_SIZE] SOURCES <files>...)
#
# FOR_SIZE: they only call others, and never in a loop: half the size counts for more than a few
# instructions.
function(mindtorch_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "FOR_SIZE" "GROUP" "SOURCES")
  mindtorch_includes(includes ${ARG_SOURCES})
  set(sources ${PROJECT_BINARY_DIR}/groups/${target}/${ARG_GROUP}.cpp)
  file(CONFIGURE OUTPUT ${sources} CONTENT "${includes}" @ONLY)
  target_sources(${target} PRIVATE ${sources})
  if(ARG_FOR_SIZE AND CMAKE_BUILD_TYPE STREQUAL "Release")
    # They cannot share headers that were compiled for speed.
    set_property(SOURCE ${sources} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS -Os)
    set_property(SOURCE ${sources} TARGET_DIRECTORY ${target} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()
