# Finds what the library is built with; docs/dependencies.md says why each is there.

# The interpreter runs the source generators and finds OpenBLAS.
if(NOT Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()
set(MINDTORCH_PYTHON_HEADERS "" CACHE PATH "The folder with Python.h of the CPython that the module \
is for; empty: the interpreter's")
if(MINDTORCH_PYTHON AND MINDTORCH_PYTHON_HEADERS)
  include(PythonHeaders)
elseif(MINDTORCH_PYTHON)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
else()
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
endif()

find_package(Threads REQUIRED)

find_package(hwy CONFIG QUIET)
if(NOT hwy_FOUND)
  message(FATAL_ERROR "Highway is missing: apt-get install libhwy-dev, or run tools/setup.sh")
endif()

# An assembler for fused pointwise ops; without it they are interpreted.
find_path(XBYAK_INCLUDE_DIR xbyak/xbyak.h)
if(NOT XBYAK_INCLUDE_DIR AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  message(STATUS "Xbyak is missing (libxbyak-dev): no machine code for fused ops")
endif()

# OpenBLAS comes from PyPI (scipy-openblas32): current, and made to be bundled. Its symbols carry
# the prefix scipy_. A toolchain for another machine says in MINDTORCH_PYTHON_PACKAGES where it lies.
if(NOT MINDTORCH_PYTHON_PACKAGES)
  set(find_openblas "import scipy_openblas32 as b, os; print(os.path.dirname(b.__path__[0]))")
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c "${find_openblas}"
    OUTPUT_VARIABLE MINDTORCH_PYTHON_PACKAGES OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(openblas_include_dir ${MINDTORCH_PYTHON_PACKAGES}/scipy_openblas32/include)
set(openblas_lib_dir ${MINDTORCH_PYTHON_PACKAGES}/scipy_openblas32/lib)
if(NOT EXISTS ${openblas_lib_dir})
  message(FATAL_ERROR "OpenBLAS is missing for ${Python_EXECUTABLE}: "
                      "pip install scipy-openblas32, or run tools/setup.sh")
endif()
# Through the build folder, so that the compiler cache sees one path whichever environment it is in.
file(CREATE_LINK ${openblas_include_dir} ${PROJECT_BINARY_DIR}/openblas_include SYMBOLIC)
add_library(openblas::openblas SHARED IMPORTED)
set_target_properties(
  openblas::openblas
  PROPERTIES IMPORTED_LOCATION ${openblas_lib_dir}/libscipy_openblas.so
             IMPORTED_SONAME libscipy_openblas.so
             INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/openblas_include)

# What the sources of the library need; tests that reach inside link it too.
add_library(mindtorch_backend_libraries INTERFACE)
target_link_libraries(
  mindtorch_backend_libraries INTERFACE openblas::openblas hwy::hwy Threads::Threads
                                        ${CMAKE_DL_LIBS})
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  # Highway's NEON functions are compiled so; constructors that the compiler writes must match them.
  target_compile_options(mindtorch_backend_libraries INTERFACE -march=armv8-a+crypto)
endif()

# Shared libraries that travel with the Python package, so that it needs nothing of the system but
# the C and C++ runtimes; beside them their licences. Sets bundled_libraries and bundled_licences,
# lists of name=file.
function(mindtorch_find_bundled)
  get_target_property(hwy_file hwy::hwy LOCATION)
  set(libraries "libhwy.so.1=${hwy_file}"
                "libscipy_openblas.so=${openblas_lib_dir}/libscipy_openblas.so")
  file(GLOB openblas_licence ${openblas_lib_dir}/../../scipy_openblas32-*/licenses/LICENSE.txt)
  set(licences)
  foreach(entry "libhwy=/usr/share/doc/libhwy1/copyright"
                "xbyak=/usr/share/doc/libxbyak-dev/copyright" "openblas=${openblas_licence}")
    string(REGEX MATCH "^([^=]*)=(.*)$" _ "${entry}")
    set(file ${CMAKE_MATCH_2})
    if(NOT EXISTS "${file}")  # unpacked by tools/setup.sh, where it may not install
      set(file ${PROJECT_SOURCE_DIR}/build/debian${file})
    endif()
    if(EXISTS "${file}" AND NOT IS_DIRECTORY "${file}")
      list(APPEND licences "${CMAKE_MATCH_1}=${file}")
    endif()
  endforeach()
  set(bundled_libraries ${libraries} PARENT_SCOPE)
  set(bundled_licences ${licences} PARENT_SCOPE)
endfunction()
