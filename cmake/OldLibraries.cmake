# Links for systems that are older than this one: what tools/old_libraries.py writes stands for the C
# and C++ libraries. Wheels are linked so; the code that is linked is the same.
option(MINDTORCH_OLD_LIBRARIES "Link for the systems of the wheels' tag (tools/manylinux.py)" OFF)

if(MINDTORCH_OLD_LIBRARIES)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR "MINDTORCH_OLD_LIBRARIES needs GCC: it looks for the libraries as GCC does")
  endif()
  set(old_libraries ${PROJECT_BINARY_DIR}/old_libraries)
  execute_process(
    COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/old_libraries.py
            --compiler ${CMAKE_CXX_COMPILER} --archiver ${CMAKE_AR} ${old_libraries}
    COMMAND_ERROR_IS_FATAL ANY)
  add_link_options(-L${old_libraries} -Wl,--exclude-libs,libnew_functions.a)
endif()
