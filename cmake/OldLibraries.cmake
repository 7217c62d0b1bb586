# Links for systems that are older than this one: what tools/old_libraries.py writes stands for the C
# and C++ libraries. Wheels are linked so; the code that is linked is the same.
option(MINDTORCH_OLD_LIBRARIES "Link for the systems of the wheels' tag (tools/manylinux.py)" OFF)

if(MINDTORCH_OLD_LIBRARIES)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR "MINDTORCH_OLD_LIBRARIES needs GCC: it looks for the libraries as GCC does")
  endif()
  # Named after what makes it, so that a change there links everything again.
  set(tools ${PROJECT_SOURCE_DIR}/tools)
  file(GLOB inputs CONFIGURE_DEPENDS ${tools}/new_functions/*.cpp)
  list(APPEND inputs ${tools}/old_libraries.py ${tools}/manylinux.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs})
  set(hashes ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION})
  foreach(input ${inputs})
    file(SHA1 ${input} hash)
    string(APPEND hashes ${hash})
  endforeach()
  string(SHA1 hash "${hashes}")
  string(SUBSTRING ${hash} 0 8 hash)
  set(old_libraries ${PROJECT_BINARY_DIR}/old_libraries/${hash})
  if(NOT EXISTS ${old_libraries}/libnew_functions.a)
    execute_process(
      COMMAND ${Python_EXECUTABLE} ${tools}/old_libraries.py
              --compiler ${CMAKE_CXX_COMPILER} --archiver ${CMAKE_AR} ${old_libraries}
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
  add_link_options(-L${old_libraries} -Wl,--exclude-libs,libnew_functions.a)
endif()
