# CANN's interface in C, and what the simulator answers for what it leaves out, are written from tables
# at build time.
set(simulator_generated_dir ${PROJECT_BINARY_DIR}/generated/simulator)
set(abi_dir ${PROJECT_SOURCE_DIR}/mindtorch/backends/ascend/abi)
set(make_acl_abi ${PROJECT_SOURCE_DIR}/tools/make_acl_abi.py)

file(GLOB abi_tables CONFIGURE_DEPENDS ${abi_dir}/*.tsv)
set(abi_files ${PROJECT_BINARY_DIR}/generated/mindtorch/backends/ascend/acl_abi.h
              ${PROJECT_BINARY_DIR}/generated/mindtorch/backends/ascend/acl_error_names.inc
              ${simulator_generated_dir}/opapi_execute.cpp
              ${simulator_generated_dir}/nnopbase_tensors.cpp)
# Libraries that hold nothing but answers.
set(simulator_answering_libraries acl_op_compiler ascend_dump msprofiler acl_tdt_channel acl_tdt_queue
                                  acl_cblas acl_dvpp acl_retr profapi runtime ge_runner graph)
foreach(library ascendcl nnopbase opapi hccl ${simulator_answering_libraries})
  list(APPEND abi_files ${simulator_generated_dir}/${library}_symbols.cpp)
endforeach()
add_custom_command(
  OUTPUT ${abi_files}
  COMMAND ${Python_EXECUTABLE} ${make_acl_abi} ${abi_dir} ${PROJECT_BINARY_DIR}/generated
  COMMAND ${CMAKE_COMMAND} -E touch ${abi_files}
  DEPENDS ${make_acl_abi} ${abi_tables}
  COMMENT "Writing CANN's interface"
  VERBATIM)
add_custom_target(mindtorch_acl_abi DEPENDS ${abi_files})
