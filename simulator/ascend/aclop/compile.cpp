// Ops by name, compiled and run: the path that the two-phase ops have replaced.
#include "simulator/ascend/aclop/call.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"

using namespace sim;

template <class T, class U>
static std::vector<T> list_of(int count, U* const* members) {
  if (count <= 0 || members == nullptr) return {};
  return std::vector<T>(members, members + count);
}

static aclError null_argument(const char* name) {
  return fail(ACL_ERROR_INVALID_PARAM, std::string(name) + " is null");
}

static aclError check_list(int count, const void* descs, const void* buffers, const char* name) {
  if (count < 0)
    return fail(ACL_ERROR_INVALID_PARAM, std::string(name) + ": the number is negative");
  if (count > 0 && (descs == nullptr || buffers == nullptr)) return null_argument(name);
  return ACL_SUCCESS;
}

static aclError compile_and_execute(const char* function,
                                    const char* op,
                                    int inputs,
                                    const aclTensorDesc* const* input_descs,
                                    const aclDataBuffer* const* input_buffers,
                                    int outputs,
                                    const aclTensorDesc* const* output_descs,
                                    aclDataBuffer* const* output_buffers,
                                    const aclopAttr* attributes,
                                    aclrtStream stream) {
  if (const aclError code = enter(function, {{"numInputs", inputs},
                                             {"numOutputs", outputs},
                                             {"attr", attributes},
                                             {"stream", stream}})) {
    return code;
  }
  if (op == nullptr) return null_argument("opType");
  if (const aclError code = check_list(inputs, input_descs, input_buffers, "inputs")) return code;
  if (const aclError code = check_list(outputs, output_descs, output_buffers, "outputs")) {
    return code;
  }
  const NamedCall call{op,
                       list_of<const aclTensorDesc*>(inputs, input_descs),
                       list_of<const aclDataBuffer*>(inputs, input_buffers),
                       list_of<const aclTensorDesc*>(outputs, output_descs),
                       list_of<const aclDataBuffer*>(outputs, output_buffers),
                       attributes};
  return run_named(call, stream);
}

extern "C" {

// Not CANN's: what the list of all functions asks for.
SIM_API const char* mtsim_named_op(size_t index) { return named_op(index); }

SIM_API aclError aclopCompileAndExecute(const char* op,
                                        int inputs,
                                        const aclTensorDesc* const* input_descs,
                                        const aclDataBuffer* const* input_buffers,
                                        int outputs,
                                        const aclTensorDesc* const* output_descs,
                                        aclDataBuffer* const* output_buffers,
                                        const aclopAttr* attributes,
                                        int /*engine*/,
                                        int /*compile_flag*/,
                                        const char* /*path*/,
                                        aclrtStream stream) {
  return compile_and_execute("aclopCompileAndExecute", op, inputs, input_descs, input_buffers,
                             outputs, output_descs, output_buffers, attributes, stream);
}

// Returns when the op is done, since the caller then reads the true shapes of the outputs.
SIM_API aclError aclopCompileAndExecuteV2(const char* op,
                                          int inputs,
                                          aclTensorDesc** input_descs,
                                          aclDataBuffer** input_buffers,
                                          int outputs,
                                          aclTensorDesc** output_descs,
                                          aclDataBuffer** output_buffers,
                                          aclopAttr* attributes,
                                          int /*engine*/,
                                          int /*compile_flag*/,
                                          const char* /*path*/,
                                          aclrtStream stream) {
  if (const aclError code =
          compile_and_execute("aclopCompileAndExecuteV2", op, inputs, input_descs, input_buffers,
                              outputs, output_descs, output_buffers, attributes, stream)) {
    return code;
  }
  return aclrtSynchronizeStream(stream);
}

// How ops are compiled is no matter here; only what CANN refuses is refused.
SIM_API aclError aclopSetCompileFlag(int flag) {
  if (const aclError code = enter("aclopSetCompileFlag", {{"flag", flag}})) return code;
  constexpr int kDefault = 0;
  constexpr int kFuzzy = 1;
  if (flag == kDefault || flag == kFuzzy) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, "there is no flag " + std::to_string(flag));
}
}
