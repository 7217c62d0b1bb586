#include "mindtorch/backends/ascend/aclnn.h"

#include <algorithm>

#include "mindtorch/backends/ascend/acl_error.h"
#include "mindtorch/backends/ascend/driver.h"
#include "mindtorch/backends/ascend/options.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/device_timeline.h"
#include "mindtorch/runtime/stream.h"
#include "mindtorch/runtime/workspace.h"

namespace mindtorch::ascend {
namespace {

// Every op is waited for.
bool launches_block() {
  static const bool blocking =
      options::kAclLaunchBlocking.find().value_or(options::kAscendLaunchBlocking.get());
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

int64_t storage_elements(const Tensor& tensor) {
  return static_cast<int64_t>(tensor.storage()->size_bytes()) / size_bytes(tensor.dtype());
}

// What CANN made of an argument. Null would read as "no such argument".
template <class Handle>
Handle* made(Handle* handle, const char* function) {
  if (MT_LIKELY(handle != nullptr)) return handle;
  const char* recent = acl().aclGetRecentErrMsg();
  MT_THROW(RuntimeError, function, " failed", recent == nullptr ? "" : ": ",
           recent == nullptr ? "" : recent);
}
#define MT_MADE(function, ...) made(acl().function(__VA_ARGS__), #function)

aclTensor* describe_tensor(const Tensor& tensor) {
  const IntList sizes = tensor.sizes();
  const int64_t elements = storage_elements(tensor);
  return MT_MADE(aclCreateTensor, sizes.data(), sizes.size(), to_acl(tensor.dtype()),
                 tensor.strides().data(), tensor.storage_offset(), format_for(sizes.size()),
                 &elements, 1, const_cast<void*>(tensor.storage()->data()));
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
    case DType::kComplex32:
      return ACL_COMPLEX32;
    case DType::kComplex64:
      return ACL_COMPLEX64;
    case DType::kComplex128:
      return ACL_COMPLEX128;
    case DType::kUInt16:
      return ACL_UINT16;
    case DType::kUInt32:
      return ACL_UINT32;
    case DType::kUInt64:
      return ACL_UINT64;
    default:  // 8-bit floats
      break;
  }
  return ACL_DT_UNDEFINED;
}

TypedScalar typed(const Scalar& value, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {value.to_bool(), dtype};
    case DType::kUInt8:
      return {value.to<uint8_t>(), dtype};
    case DType::kInt8:
      return {value.to<int8_t>(), dtype};
    case DType::kInt16:
      return {value.to<int16_t>(), dtype};
    case DType::kInt32:
      return {value.to<int32_t>(), dtype};
    case DType::kInt64:
      return {value.to_int(), dtype};
    default:
      return {value, dtype};
  }
}

std::pair<void*, Execute> find_op(const char* name) {
  void* const plan = op_symbol((std::string(name) + "GetWorkspaceSize").c_str());
  void* const execute = op_symbol(name);
  MT_CHECK(plan != nullptr && execute != nullptr, NotImplementedError, "the installed CANN has no ",
           name);
  return {plan, reinterpret_cast<Execute>(execute)};
}

namespace detail {

void KeyWriter::add(const Tensor& tensor) {
  if (!tensor.defined()) return key_.add(uint64_t{0});
  const TensorImpl& impl = *tensor.impl();
  const void* const data = impl.storage->data();
  const auto same =
      static_cast<size_t>(std::find(seen_.begin(), seen_.end(), data) - seen_.begin());
  if (same == seen_.size()) seen_.push_back(data);
  key_.add(uint64_t{1} | static_cast<uint64_t>(impl.is_contiguous) << 1 |
           static_cast<uint64_t>(impl.dtype) << 8 | uint64_t{impl.sizes.size()} << 16 | same << 32);
  key_.add(static_cast<uint64_t>(storage_elements(tensor)));
  key_.add(static_cast<uint64_t>(impl.offset));
  for (const int64_t size : impl.sizes) key_.add(static_cast<uint64_t>(size));
  if (impl.is_contiguous) return;
  for (const int64_t stride : impl.strides) key_.add(static_cast<uint64_t>(stride));
}
void KeyWriter::add(const TypedScalar& scalar) {
  add(scalar.dtype);
  if (is_floating_point(scalar.dtype)) {
    add(scalar.value.to_double());
  } else if (is_complex(scalar.dtype)) {
    add(scalar.value.to_double());
    add(scalar.value.imag());
  } else {
    add(scalar.value.to_int());
  }
}
void KeyWriter::add(IntList values) {
  key_.add(uint64_t{values.size()});
  for (const int64_t value : values) key_.add(static_cast<uint64_t>(value));
}
void KeyWriter::add(TensorList tensors) {
  key_.add(uint64_t{tensors.size()});
  for (const Tensor& tensor : tensors) add(tensor);
}

Argument<Tensor>::Argument(const Tensor& tensor)
    : handle(tensor.defined() ? describe_tensor(tensor) : nullptr),
      address(tensor.defined() ? const_cast<void*>(tensor.storage()->data()) : nullptr) {}
Argument<Tensor>::~Argument() {
  if (handle != nullptr) acl().aclDestroyTensor(handle);
}

Argument<TypedScalar>::Argument(const TypedScalar& scalar) {
  // CANN copies the value; integers travel as int64, floats as double, in the dtype's own category.
  if (scalar.dtype == DType::kBool) {
    bool value = scalar.value.to_bool();
    handle = MT_MADE(aclCreateScalar, &value, ACL_BOOL);
  } else if (is_complex(scalar.dtype)) {
    std::complex<double> value = scalar.value.to_complex();
    handle = MT_MADE(aclCreateScalar, &value, ACL_COMPLEX128);
  } else if (is_floating_point(scalar.dtype)) {
    if (scalar.dtype == DType::kFloat64) {
      double value = scalar.value.to_double();
      handle = MT_MADE(aclCreateScalar, &value, ACL_DOUBLE);
    } else {
      auto value = static_cast<float>(scalar.value.to_double());
      handle = MT_MADE(aclCreateScalar, &value, ACL_FLOAT);
    }
  } else {
    int64_t value = scalar.value.to_int();
    handle = MT_MADE(aclCreateScalar, &value, ACL_INT64);
  }
}
Argument<TypedScalar>::~Argument() { acl().aclDestroyScalar(handle); }

Argument<IntList>::Argument(IntList values)
    : handle(MT_MADE(aclCreateIntArray, values.data(), values.size())) {}
Argument<IntList>::~Argument() { acl().aclDestroyIntArray(handle); }

Argument<Mask>::Argument(const Mask& mask)
    : handle(MT_MADE(aclCreateBoolArray, mask.values.data(), mask.count)) {}
Argument<Mask>::~Argument() { acl().aclDestroyBoolArray(handle); }

Argument<TensorList>::Argument(TensorList tensors) {
  std::vector<aclTensor*> members;
  try {
    for (const Tensor& tensor : tensors) {
      members.push_back(tensor.defined() ? describe_tensor(tensor) : nullptr);
      addresses.push_back(tensor.defined() ? const_cast<void*>(tensor.storage()->data()) : nullptr);
    }
    handle = MT_MADE(aclCreateTensorList, members.data(), members.size());
  } catch (...) {  // the list owns its members only once it is made
    for (aclTensor* member : members) {
      if (member != nullptr) acl().aclDestroyTensor(member);
    }
    throw;
  }
}
aclnnStatus Argument<TensorList>::rebind_addresses(aclOpExecutor* executor,
                                                   size_t& index,
                                                   TensorList now) {
  const size_t at = index++;
  for (size_t i = 0; i < now.size(); ++i) {
    if (!now[i].defined()) continue;
    void* const data = const_cast<void*>(now[i].storage()->data());
    if (data == addresses[i]) continue;
    const aclnnStatus code = acl().aclSetDynamicTensorAddr(executor, at, i, handle, data);
    if (code != 0) return code;
    addresses[i] = data;
  }
  return 0;
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
  throw driver::DriverError(
      mindtorch::detail::concat(op, "(", text, ")"), code,
      mindtorch::detail::concat(error_name(code), recent == nullptr ? "" : ": ",
                                recent == nullptr ? "" : recent));
}

runtime::DeviceRuntime& runtime_of(const ops::Launch& on) {
  static runtime::Accelerator& npus = runtime::accelerator("npu");
  runtime::DeviceRuntime& runtime = npus.runtime(on.device.index);
  bind(runtime.device());
  return runtime;
}

runtime::Stream stream_of(const ops::Launch& on) {
  bind(on.device.index);
  return on.stream;
}

Executor::~Executor() {
  if (handle_ != nullptr && acl().aclDestroyAclOpExecutor != nullptr) {
    acl().aclDestroyAclOpExecutor(handle_);
  }
}

void Executor::make_repeatable() {
  const AclApi& api = acl();
  if (api.aclSetAclOpExecutorRepeatable == nullptr || api.aclDestroyAclOpExecutor == nullptr ||
      api.aclSetTensorAddr == nullptr || api.aclSetDynamicTensorAddr == nullptr) {
    return;
  }
  repeatable_ = api.aclSetAclOpExecutorRepeatable(handle_) == 0;
  if (!repeatable_) api.aclGetRecentErrMsg();  // expected: its text is cleared
}

aclnnStatus execute(runtime::Stream stream,
                    const char* name,
                    Execute function,
                    uint64_t workspace_bytes,
                    Executor& executor) {
  const runtime::Workspace workspace(stream, workspace_bytes);
  const runtime::LaunchSpan timed(stream, name);
  const aclnnStatus code = function(workspace.data(), workspace_bytes, executor.use(),
                                    reinterpret_cast<aclrtStream>(stream.handle()));
  if (code == 0 && MT_UNLIKELY(launches_block())) stream.synchronize();
  return code;
}

Shape shape_of(const aclTensor* tensor) {
  int64_t* sizes = nullptr;
  uint64_t dims = 0;
  MT_ACL(aclGetViewShape, tensor, &sizes, &dims);
  const std::unique_ptr<int64_t[]> owned(sizes);
  return Shape(sizes, sizes + dims);
}

}  // namespace detail

}  // namespace mindtorch::ascend
