#pragma once

#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>

#include "mindtorch/backends/ascend/acl_abi.h"
#include "mindtorch/backends/ascend/acl_api.h"
#include "mindtorch/ops/kernel.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/tensor/tensor.h"

// The one way to run an ACLNN op: call(on, MT_ACLNN(aclnnAdd), self, other, typed(alpha, dtype),
// out). Arguments become CANN's descriptions and are destroyed again; the workspace comes from the
// device's allocator and returns to it at once, since what the stream does later runs after.
namespace mindtorch::ascend {

aclDataType to_acl(DType dtype);

using Execute = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

// Both phases of one op. Resolved at first use; an op that CANN lacks throws NotImplementedError
// naming it.
template <class Plan>
struct OpFunctions {
  const char* name;
  Plan plan;
  Execute execute;
};

// Throws NotImplementedError if either phase is missing.
std::pair<void*, Execute> find_op(const char* name);

template <class Plan>
OpFunctions<Plan> find_functions(const char* name) {
  const auto [plan, execute] = find_op(name);
  return {name, reinterpret_cast<Plan>(plan), execute};
}

#define MT_ACLNN(op)                                                                 \
  ([]() -> const auto& {                                                             \
    static const auto functions =                                                    \
        ::mindtorch::ascend::find_functions<decltype(&::op##GetWorkspaceSize)>(#op); \
    return functions;                                                                \
  }())

// A scalar argument in the dtype the op is to see it in.
struct TypedScalar {
  Scalar value;
  DType dtype;
};
inline TypedScalar typed(const Scalar& value, DType dtype) { return {value, dtype}; }

namespace detail {

// What an argument is on CANN's side, for the length of one call.
template <class T>
struct Argument {  // numbers, bools and enums are themselves
  explicit Argument(const T& value) : value(value) {}
  T get() const { return value; }
  T value;
};

template <>
struct Argument<Tensor> {
  explicit Argument(const Tensor& tensor);  // an undefined tensor is null
  ~Argument();
  Argument(const Argument&) = delete;
  aclTensor* get() const { return handle; }
  aclTensor* handle;
};

template <>
struct Argument<TypedScalar> {
  explicit Argument(const TypedScalar& scalar);
  ~Argument();
  Argument(const Argument&) = delete;
  aclScalar* get() const { return handle; }
  aclScalar* handle;
};

template <>
struct Argument<IntList> {
  explicit Argument(IntList values);
  ~Argument();
  Argument(const Argument&) = delete;
  aclIntArray* get() const { return handle; }
  aclIntArray* handle;
};

template <>
struct Argument<TensorList> {
  explicit Argument(TensorList tensors);
  ~Argument();
  Argument(const Argument&) = delete;
  aclTensorList* get() const { return handle; }
  aclTensorList* handle;
};

template <>
struct Argument<DType> {
  explicit Argument(DType dtype) : value(to_acl(dtype)) {}
  aclDataType get() const { return value; }
  aclDataType value;
};

std::string describe(const Tensor& tensor);
std::string describe(const TypedScalar& scalar);
std::string describe(TensorList tensors);
template <class T>
std::string describe(const T&) {
  return "";
}

// Throws RuntimeError naming op, arguments, code and CANN's text.
[[noreturn]] void raise_op(const char* op,
                           int64_t code,
                           std::initializer_list<std::string> arguments);

// The device's runtime, with the device current for this thread.
runtime::DeviceRuntime& runtime_of(const ops::Launch& on);
// Phase two on the current stream, with a workspace; synchronises when launches are blocking.
aclnnStatus execute(runtime::DeviceRuntime& runtime,
                    Execute function,
                    uint64_t workspace_bytes,
                    aclOpExecutor* executor);

}  // namespace detail

template <class Plan, class... Args>
void call(ops::Launch& on, const OpFunctions<Plan>& op, const Args&... args) {
  runtime::DeviceRuntime& runtime = detail::runtime_of(on);
  const std::tuple<detail::Argument<Args>...> arguments{args...};
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  aclnnStatus code = std::apply(
      [&](const auto&... argument) {
        return op.plan(argument.get()..., &workspace_bytes, &executor);
      },
      arguments);
  if (code == 0) code = detail::execute(runtime, op.execute, workspace_bytes, executor);
  if (MT_UNLIKELY(code != 0)) detail::raise_op(op.name, code, {detail::describe(args)...});
}

}  // namespace mindtorch::ascend
