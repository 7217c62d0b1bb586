# Two installations. The wheel (scikit-build-core): the module, the library and what it links, all
# inside the package. Otherwise: library, headers and a package for find_package(mindtorch).
set_target_properties(mindtorch PROPERTIES INSTALL_RPATH "$ORIGIN")

function(install_renamed entries destination component)
  foreach(entry ${entries})
    string(REGEX MATCH "^([^=]*)=(.*)$" _ "${entry}")
    set(name ${CMAKE_MATCH_1})
    get_filename_component(file ${CMAKE_MATCH_2} REALPATH)
    get_filename_component(extension ${name} EXT)
    if(extension)
      if(DEFINED SKBUILD)  # strips what it installs, but not these
        set(stripped ${PROJECT_BINARY_DIR}/bundled/${name})
        file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bundled)
        execute_process(COMMAND ${CMAKE_STRIP} -o ${stripped} ${file} COMMAND_ERROR_IS_FATAL ANY)
        set(file ${stripped})
      endif()
      install(PROGRAMS ${file} DESTINATION ${destination} RENAME ${name} COMPONENT ${component})
    else()
      install(FILES ${file} DESTINATION ${destination} RENAME ${name}.txt COMPONENT ${component})
    endif()
  endforeach()
endfunction()

mindtorch_find_bundled()
if(DEFINED SKBUILD)
  install(TARGETS mindtorch LIBRARY DESTINATION mindtorch_v2/lib COMPONENT python)
  install_renamed("${bundled_libraries}" mindtorch_v2/lib python)
  install_renamed("${bundled_licences}" mindtorch_v2/licenses python)
  if(TARGET _C)
    set_target_properties(_C PROPERTIES INSTALL_RPATH "$ORIGIN/lib")
    install(TARGETS _C LIBRARY DESTINATION mindtorch_v2 COMPONENT python)
  endif()
  return()
endif()

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mindtorch)
install(TARGETS mindtorch EXPORT mindtorch_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                                           COMPONENT cpp)
# What the system has stays there; what tools/setup.sh unpacked under build/ comes along.
list(FILTER bundled_libraries EXCLUDE REGEX "=/(usr/)?lib/")
install_renamed("${bundled_libraries}" ${CMAKE_INSTALL_LIBDIR} cpp)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/mindtorch ${PROJECT_BINARY_DIR}/generated/mindtorch
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT cpp
        FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
install(EXPORT mindtorch_targets NAMESPACE mindtorch:: DESTINATION ${package_dir} COMPONENT cpp)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/mindtorch-config.cmake.in
                              ${PROJECT_BINARY_DIR}/mindtorch-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mindtorch-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mindtorch-config.cmake
              ${PROJECT_BINARY_DIR}/mindtorch-config-version.cmake
        DESTINATION ${package_dir} COMPONENT cpp)
