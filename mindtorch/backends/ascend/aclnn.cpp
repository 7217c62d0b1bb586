#include "mindtorch/backends/ascend/aclnn.h"

#include <cstdlib>
#include <string_view>

#include "mindtorch/backends/ascend/acl_error.h"
#include "mindtorch/backends/ascend/driver.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/stream.h"

namespace mindtorch::ascend {
namespace {

// ACL_LAUNCH_BLOCKING=1, or the vendor's name for it: every op is waited for.
bool launches_block() {
  static const bool blocking = [] {
    for (const char* name : {"ACL_LAUNCH_BLOCKING", "ASCEND_LAUNCH_BLOCKING"}) {
      const char* text = std::getenv(name);
      if (text == nullptr) continue;
      const std::string_view value = text;
      return !(value.empty() || value == "0" || value == "false" || value == "no");
    }
    return false;
  }();
  return blocking;
}

aclFormat format_for(size_t dims) {
  switch (dims) {
    case 3:
      return ACL_FORMAT_NCL;
    case 4:
      return ACL_FORMAT_NCHW;
    case 5:
      return ACL_FORMAT_NCDHW;
    default:
      return ACL_FORMAT_ND;
  }
}

aclTensor* describe_tensor(const Tensor& tensor) {
  const IntList sizes = tensor.sizes();
  const auto elements =
      static_cast<int64_t>(tensor.storage()->size_bytes()) / size_bytes(tensor.dtype());
  return acl().aclCreateTensor(sizes.data(), sizes.size(), to_acl(tensor.dtype()),
                               tensor.strides().data(), tensor.storage_offset(),
                               format_for(sizes.size()), &elements, 1, tensor.storage()->data());
}

}  // namespace

aclDataType to_acl(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return ACL_BOOL;
    case DType::kUInt8:
      return ACL_UINT8;
    case DType::kInt8:
      return ACL_INT8;
    case DType::kInt16:
      return ACL_INT16;
    case DType::kInt32:
      return ACL_INT32;
    case DType::kInt64:
      return ACL_INT64;
    case DType::kFloat16:
      return ACL_FLOAT16;
    case DType::kBFloat16:
      return ACL_BF16;
    case DType::kFloat32:
      return ACL_FLOAT;
    case DType::kFloat64:
      return ACL_DOUBLE;
  }
  return ACL_DT_UNDEFINED;
}

std::pair<void*, Execute> find_op(const char* name) {
  void* const plan = op_symbol((std::string(name) + "GetWorkspaceSize").c_str());
  void* const execute = op_symbol(name);
  MT_CHECK(plan != nullptr && execute != nullptr, NotImplementedError, "the installed CANN has no ",
           name);
  return {plan, reinterpret_cast<Execute>(execute)};
}

namespace detail {

Argument<Tensor>::Argument(const Tensor& tensor)
    : handle(tensor.defined() ? describe_tensor(tensor) : nullptr) {}
Argument<Tensor>::~Argument() {
  if (handle != nullptr) acl().aclDestroyTensor(handle);
}

Argument<TypedScalar>::Argument(const TypedScalar& scalar) {
  // CANN copies the value; integers travel as int64, floats as double, in the dtype's own category.
  if (scalar.dtype == DType::kBool) {
    bool value = scalar.value.to_bool();
    handle = acl().aclCreateScalar(&value, ACL_BOOL);
  } else if (is_floating_point(scalar.dtype)) {
    if (scalar.dtype == DType::kFloat64) {
      double value = scalar.value.to_double();
      handle = acl().aclCreateScalar(&value, ACL_DOUBLE);
    } else {
      auto value = static_cast<float>(scalar.value.to_double());
      handle = acl().aclCreateScalar(&value, ACL_FLOAT);
    }
  } else {
    int64_t value = scalar.value.to_int();
    handle = acl().aclCreateScalar(&value, ACL_INT64);
  }
}
Argument<TypedScalar>::~Argument() { acl().aclDestroyScalar(handle); }

Argument<IntList>::Argument(IntList values)
    : handle(acl().aclCreateIntArray(values.data(), values.size())) {}
Argument<IntList>::~Argument() { acl().aclDestroyIntArray(handle); }

Argument<TensorList>::Argument(TensorList tensors) {
  std::vector<aclTensor*> members;
  for (const Tensor& tensor : tensors) {
    members.push_back(tensor.defined() ? describe_tensor(tensor) : nullptr);
  }
  handle = acl().aclCreateTensorList(members.data(), members.size());
}
Argument<TensorList>::~Argument() { acl().aclDestroyTensorList(handle); }  // and its members

std::string describe(const Tensor& tensor) {
  if (!tensor.defined()) return "none";
  return mindtorch::detail::concat(name(tensor.dtype()), to_string(tensor.sizes()));
}
std::string describe(const TypedScalar& scalar) {
  return is_floating_point(scalar.dtype) ? mindtorch::detail::concat(scalar.value.to_double())
                                         : mindtorch::detail::concat(scalar.value.to_int());
}
std::string describe(TensorList tensors) {
  std::string text = "[";
  for (const Tensor& tensor : tensors) text += (text.size() > 1 ? ", " : "") + describe(tensor);
  return text + "]";
}

void raise_op(const char* op, int64_t code, std::initializer_list<std::string> arguments) {
  std::string text;
  for (const std::string& argument : arguments) {
    if (argument.empty()) continue;
    text += (text.empty() ? "" : ", ") + argument;
  }
  const char* recent = acl().aclGetRecentErrMsg();
  MT_THROW(RuntimeError, op, "(", text, ") failed with error ", code, " (", error_name(code), ")",
           recent == nullptr ? "" : ": ", recent == nullptr ? "" : recent);
}

runtime::DeviceRuntime& runtime_of(const ops::Launch& on) {
  static runtime::Accelerator& npus = runtime::accelerator("npu");
  runtime::DeviceRuntime& runtime = npus.runtime(on.device.index);
  bind(runtime.device());
  return runtime;
}

aclnnStatus execute(runtime::DeviceRuntime& runtime,
                    Execute function,
                    uint64_t workspace_bytes,
                    aclOpExecutor* executor) {
  const runtime::Stream stream = runtime::current_stream(runtime);
  runtime::Block* workspace = nullptr;
  if (workspace_bytes > 0) {
    try {
      workspace = runtime.memory().allocate(workspace_bytes, stream.handle());
    } catch (...) {
      if (acl().aclDestroyAclOpExecutor != nullptr) acl().aclDestroyAclOpExecutor(executor);
      throw;
    }
  }
  const aclnnStatus code =
      function(workspace != nullptr ? workspace->data : nullptr, workspace_bytes, executor,
               reinterpret_cast<aclrtStream>(stream.handle()));
  runtime.memory().release(workspace);
  if (code == 0 && launches_block()) stream.synchronize();
  return code;
}

}  // namespace detail

}  // namespace mindtorch::ascend
