# The typed C++ front of every op is written from the op definitions at build time.
set(generated_dir ${PROJECT_BINARY_DIR}/generated)
set(definitions_dir ${PROJECT_SOURCE_DIR}/mindtorch/ops/definitions)
set(make_functions ${PROJECT_SOURCE_DIR}/tools/make_functions.py)
file(MAKE_DIRECTORY ${generated_dir})
add_custom_target(mindtorch_generated)

if(EXISTS ${make_functions})
  file(GLOB definition_sources CONFIGURE_DEPENDS ${definitions_dir}/*.cpp)
  set(generated_files
      ${generated_dir}/mindtorch/functional/functions.h
      ${generated_dir}/mindtorch/functional/functions.cpp
      ${generated_dir}/mindtorch/tensor/tensor_methods.inc)
  add_custom_command(
    OUTPUT ${generated_files}
    COMMAND ${Python_EXECUTABLE} ${make_functions} ${definitions_dir} ${generated_dir}
    DEPENDS ${make_functions} ${definition_sources}
    COMMENT "Writing the functions of every op"
    VERBATIM)
  add_custom_target(mindtorch_generated_files DEPENDS ${generated_files})
  add_dependencies(mindtorch_generated mindtorch_generated_files)
  target_sources(mindtorch PRIVATE ${generated_dir}/mindtorch/functional/functions.cpp)
  set_source_files_properties(
    ${generated_dir}/mindtorch/functional/functions.cpp TARGET_DIRECTORY mindtorch
    PROPERTIES COMPILE_OPTIONS "-UMINDTORCH_INTERNAL" SKIP_PRECOMPILE_HEADERS ON)
endif()
add_dependencies(mindtorch mindtorch_generated)
