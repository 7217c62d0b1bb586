#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "mindtorch/backends/ascend/acl_abi.h"
#include "mindtorch/backends/ascend/acl_api.h"
#include "mindtorch/backends/ascend/plan_cache.h"
#include "mindtorch/ops/kernel.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/tensor/tensor.h"

// The one way to run an ACLNN op: call(on, MT_ACLNN(aclnnAdd), self, other, typed(alpha, dtype),
// out). Phase one runs once for each combination of shapes, strides, dtypes and scalars (see
// plan_cache.h); a call that was seen before only gives the executor its addresses. The workspace
// comes from the device's allocator and returns to it at once, since what the stream does later
// runs after.
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

// A scalar argument in the dtype the op is to see it in. The value is one that the dtype has, so
// that scalars that are equal as this dtype share a plan, and no others do.
struct TypedScalar {
  Scalar value;
  DType dtype;
};
// Integers that are out of range wrap around, as on the CPU.
TypedScalar typed(const Scalar& value, DType dtype);

// Which of an op's results are wanted.
struct Mask {
  Mask(std::initializer_list<bool> wanted) : count(wanted.size()) {
    std::copy(wanted.begin(), wanted.end(), values.begin());
  }
  const bool* begin() const { return values.data(); }
  const bool* end() const { return values.data() + count; }

  std::array<bool, 3> values{};
  size_t count;
};

namespace detail {

// The key of a call, as its arguments add to it.
class KeyWriter {
 public:
  explicit KeyWriter(PlanKey& key) : key_(key) {}
  void add(const Tensor& tensor);
  void add(const TypedScalar& scalar);
  void add(IntList values);
  void add(TensorList tensors);
  void add(const Mask& mask) {
    for (const bool bit : mask) add(bit);
  }
  void add(std::nullptr_t) { add(0); }  // an array that is left out
  // A text of the program's own: it is where it is for good.
  void add(char* text) { key_.add(static_cast<const void*>(text)); }
  template <class T>
  void add(const T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(value));
    key_.add(word);
  }

 private:
  PlanKey& key_;
  SmallVector<const void*, 8> seen_;  // which tensors are the same memory
};

// What an argument is on CANN's side. `rebind_addresses` points the executor to where `now` is.
template <class T>
struct Argument {  // numbers, bools and enums are themselves
  explicit Argument(const T& value) : value(value) {}
  T get() const { return value; }
  aclnnStatus rebind_addresses(aclOpExecutor*, size_t&, const T&) { return 0; }
  T value;
};

template <>
struct Argument<Tensor> {
  explicit Argument(const Tensor& tensor);  // an undefined tensor is null
  ~Argument();
  Argument(const Argument&) = delete;
  aclTensor* get() const { return handle; }
  aclnnStatus rebind_addresses(aclOpExecutor* executor, size_t& index, const Tensor& now) {
    if (handle == nullptr) return 0;
    const size_t at = index++;
    void* const data = const_cast<void*>(now.storage()->data());
    if (data == address) return 0;
    const aclnnStatus code = acl().aclSetTensorAddr(executor, at, handle, data);
    if (code == 0) address = data;
    return code;
  }
  aclTensor* handle;
  void* address;
};

template <>
struct Argument<TypedScalar> {
  explicit Argument(const TypedScalar& scalar);
  ~Argument();
  Argument(const Argument&) = delete;
  aclScalar* get() const { return handle; }
  aclnnStatus rebind_addresses(aclOpExecutor*, size_t&, const TypedScalar&) { return 0; }
  aclScalar* handle;
};

template <>
struct Argument<IntList> {
  explicit Argument(IntList values);
  ~Argument();
  Argument(const Argument&) = delete;
  aclIntArray* get() const { return handle; }
  aclnnStatus rebind_addresses(aclOpExecutor*, size_t&, IntList) { return 0; }
  aclIntArray* handle;
};

template <>
struct Argument<Mask> {
  explicit Argument(const Mask& mask);
  ~Argument();
  Argument(const Argument&) = delete;
  aclBoolArray* get() const { return handle; }
  aclnnStatus rebind_addresses(aclOpExecutor*, size_t&, const Mask&) { return 0; }
  aclBoolArray* handle;
};

template <>
struct Argument<TensorList> {
  explicit Argument(TensorList tensors);
  ~Argument();
  Argument(const Argument&) = delete;
  aclTensorList* get() const { return handle; }
  aclnnStatus rebind_addresses(aclOpExecutor* executor, size_t& index, TensorList now);
  aclTensorList* handle;
  std::vector<void*> addresses;
};

template <>
struct Argument<DType> {
  explicit Argument(DType dtype) : value(to_acl(dtype)) {}
  aclDataType get() const { return value; }
  aclnnStatus rebind_addresses(aclOpExecutor*, size_t&, DType) { return 0; }
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

// Between phase one and the end. CANN deletes a one-shot executor in phase two, whatever comes.
class Executor {
 public:
  Executor() = default;
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  aclOpExecutor** out() { return &handle_; }
  aclOpExecutor* get() const { return handle_; }
  void make_repeatable();  // if the op can be repeated
  // For phase two.
  aclOpExecutor* use() { return repeatable_ ? handle_ : std::exchange(handle_, nullptr); }

 private:
  aclOpExecutor* handle_ = nullptr;
  bool repeatable_ = false;
};

// One call's arguments and executor. CANN wants the arguments to outlive the executor.
template <class... Args>
class PreparedCall final : public CachedPlan {
 public:
  explicit PreparedCall(const Args&... args) : arguments_{args...} {}

  template <class Plan>
  aclnnStatus plan(const OpFunctions<Plan>& op) {
    return std::apply(
        [&](const auto&... argument) {
          return op.plan(argument.get()..., &workspace_bytes_, executor_.out());
        },
        arguments_);
  }

  aclnnStatus rebind_addresses(const Args&... args) {
    size_t index = 0;
    aclnnStatus code = 0;
    std::apply(
        [&](auto&... argument) {
          (void)((code = argument.rebind_addresses(executor_.get(), index, args), code == 0) &&
                 ...);
        },
        arguments_);
    return code;
  }

  Executor& executor() { return executor_; }
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  template <size_t I>
  auto argument() const {
    return std::get<I>(arguments_).get();
  }

 private:
  std::tuple<Argument<Args>...> arguments_;
  uint64_t workspace_bytes_ = 0;
  Executor executor_;
};

// The device's runtime, with the device current for this thread.
runtime::DeviceRuntime& runtime_of(const ops::Launch& on);
// The stream of the launch; its device is bound to this thread.
runtime::Stream stream_of(const ops::Launch& on);
// Phase two, with a workspace; synchronises when launches are blocking.
aclnnStatus execute(runtime::Stream stream,
                    const char* name,
                    Execute function,
                    uint64_t workspace_bytes,
                    Executor& executor);

// The shape a description has now.
Shape shape_of(const aclTensor* tensor);

// Distinguishes PreparedCalls of different argument types, which the op alone does not.
template <class... Args>
inline constexpr char kForm = 0;

}  // namespace detail

template <class Plan, class... Args>
void call(ops::Launch& on, const OpFunctions<Plan>& op, const Args&... args) {
  using Prepared = detail::PreparedCall<Args...>;
  const runtime::Stream stream = detail::stream_of(on);
  PlanKey key;
  key.add(reinterpret_cast<const void*>(op.plan));
  key.add(&detail::kForm<Args...>);
  detail::KeyWriter writer(key);
  (writer.add(args), ...);

  PlanLease lease(PlanCache::of(stream), key);
  auto* prepared = static_cast<Prepared*>(lease.get());
  aclnnStatus code = 0;
  if (prepared == nullptr || MT_UNLIKELY(prepared->rebind_addresses(args...) != 0)) {
    prepared = new Prepared(args...);
    lease.renew(std::unique_ptr<CachedPlan>(prepared));
    code = prepared->plan(op);
    if (code == 0 && lease.wanted()) prepared->executor().make_repeatable();
  }
  if (code == 0) {
    code = detail::execute(stream, op.name, op.execute, prepared->workspace_bytes(),
                           prepared->executor());
  }
  if (MT_UNLIKELY(code != 0)) detail::raise_op(op.name, code, {detail::describe(args)...});
  if (prepared->executor().get() != nullptr) lease.keep();
}

namespace detail {

// Both phases of a call whose plan is not kept.
template <class Plan, class... Args>
void run(runtime::Stream stream,
         const OpFunctions<Plan>& op,
         PreparedCall<Args...>& prepared,
         const Args&... args) {
  aclnnStatus code = prepared.plan(op);
  if (code == 0)
    code = execute(stream, op.name, op.execute, prepared.workspace_bytes(), prepared.executor());
  if (MT_UNLIKELY(code != 0)) raise_op(op.name, code, {describe(args)...});
}

}  // namespace detail

// For arguments that do not come again, such as the place in a sequence of random numbers.
template <class Plan, class... Args>
void call_once(ops::Launch& on, const OpFunctions<Plan>& op, const Args&... args) {
  const runtime::Stream stream = detail::stream_of(on);
  detail::PreparedCall<Args...> prepared(args...);
  detail::run(stream, op, prepared, args...);
}

// For ops that know the size of a result only when they have run: waits for the stream, and returns
// the shape that argument number `Out` has then.
template <size_t Out, class Plan, class... Args>
Shape call_sized(ops::Launch& on, const OpFunctions<Plan>& op, const Args&... args) {
  const runtime::Stream stream = detail::stream_of(on);
  detail::PreparedCall<Args...> prepared(args...);
  detail::run(stream, op, prepared, args...);
  stream.synchronize();
  return detail::shape_of(prepared.template argument<Out>());
}

}  // namespace mindtorch::ascend
