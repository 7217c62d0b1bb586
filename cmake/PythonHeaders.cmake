# For a module of another CPython than the one that runs the generators: of another version or machine.
# Its headers say all that is needed; CMake's own search refuses what is not the interpreter's.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
file(STRINGS ${MINDTORCH_PYTHON_HEADERS}/patchlevel.h lines REGEX "define PY_M(AJOR|INOR)_VERSION")
if(NOT "${lines}" MATCHES "PY_MAJOR_VERSION[ \t]+([0-9]+).*PY_MINOR_VERSION[ \t]+([0-9]+)")
  message(FATAL_ERROR "${MINDTORCH_PYTHON_HEADERS}/patchlevel.h states no version")
endif()
set(Python_VERSION_MAJOR ${CMAKE_MATCH_1})
set(Python_VERSION_MINOR ${CMAKE_MATCH_2})
set(Python_VERSION ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})
set(Python_SOABI cpython-${CMAKE_MATCH_1}${CMAKE_MATCH_2}-${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(SKBUILD_SOABI ${Python_SOABI})  # it knows the interpreter's only
set(Python_INCLUDE_DIRS ${MINDTORCH_PYTHON_HEADERS})
add_library(Python::Module INTERFACE IMPORTED)
set_target_properties(Python::Module PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Python_INCLUDE_DIRS}")
