#pragma once

#include <memory>
#include <span>
#include <utility>

#include "mindtorch/base/location.h"
#include "mindtorch/ops/boxing.h"
#include "mindtorch/ops/spec.h"
#include "mindtorch/ops/value.h"
#include "mindtorch/runtime/stream.h"
#include "mindtorch/tensor/dtype_set.h"

namespace mindtorch::ops {

struct Op;

// Where a kernel or a fused program runs.
struct Launch {
  Device device;
  runtime::Stream stream{};  // of an accelerator: the one to queue the work on
  const Op* op = nullptr;    // whose kernel it is, for functions that serve many; null: of no op
};

// Fills outputs that are allocated as the shape rule said. Infers nothing, allocates workspace
// only.
using ImplFn = void (*)(Launch&, Args, std::span<Tensor>);
// For ops whose result shapes depend on values: makes its own outputs.
using DynamicFn = void (*)(Launch&, Args, Outputs&);

// Says what a device's kernel makes beside the op's results: adds a spec for each auxiliary output.
using AuxiliaryFn = void (*)(Args, SpecList&);

// What one device has for one op. Whoever registers it states what it takes and keeps.
struct Kernel {
  ImplFn impl = nullptr;
  DynamicFn dynamic = nullptr;
  // The dtypes of what it computes with: of the first tensor it is given, or makes where it is
  // given none. And those of any tensor, indices and masks among them. Without a kernel all: that
  // there is none is said first.
  DTypeSet takes = kAnyType;
  DTypeSet takes_beside = kAnyType;
  AuxiliaryFn auxiliary = nullptr;  // null: it keeps nothing
  bool draws_in_graphs = false;     // other random numbers each time a graph is replayed
  // What it would take on another chip than the one that is here (Registry::use_chip), and that
  // chip's name.
  DTypeSet not_on_chip = 0;
  const char* chip = nullptr;
  // What torch calls the kernel where it refuses a dtype on its CPU; null: as the op.
  const char* torch_name = nullptr;
  Location location{};

  explicit operator bool() const { return impl != nullptr || dynamic != nullptr; }
};

// Runs any pointwise op of a device; `out` has the broadcast shape and any dtype and strides.
using PointwiseFn = void (*)(Launch&, const PointwiseCall&, const Tensor& out);
using PointwiseCheck = void (*)(const PointwiseCall&);

namespace detail {

template <typename... Params>
constexpr size_t count_outputs() {
  return (size_t{0} + ... + (kIsOutput<Params> ? 1 : 0));
}

template <auto Function, typename... Params, size_t... I, size_t... O>
void call_kernel(TypeList<Params...>,
                 Launch& launch,
                 Args args,
                 [[maybe_unused]] std::span<Tensor> outputs,
                 std::index_sequence<I...>,
                 std::index_sequence<O...>) {
  using All = std::tuple<Params...>;
  Function(launch, Unbox<std::tuple_element_t<I, All>>::from(args[I])..., outputs[O]...);
}

template <auto Function, typename... Params>
void unpack_kernel(void (*)(Launch&, Params...),
                   Launch& launch,
                   Args args,
                   std::span<Tensor> outputs) {
  constexpr size_t kOutputs = count_outputs<Params...>();
  call_kernel<Function>(TypeList<Params...>{}, launch, args, outputs,
                        std::make_index_sequence<sizeof...(Params) - kOutputs>{},
                        std::make_index_sequence<kOutputs>{});
}

inline void store(Outputs& outputs, Tensor&& tensor) {
  outputs.tensors.push_back(std::move(tensor));
}
inline void store(Outputs& outputs, std::vector<Tensor>&& tensors) {
  for (Tensor& tensor : tensors) outputs.tensors.push_back(std::move(tensor));
}
inline void store(Outputs& outputs, const Scalar& scalar) { outputs.scalar = scalar; }
inline void store(Outputs& outputs, bool value) { outputs.scalar = Scalar(value); }
inline void store(Outputs& outputs, int64_t value) { outputs.scalar = Scalar(value); }
inline void store(Outputs& outputs, double value) { outputs.scalar = Scalar(value); }
template <typename... T>
void store(Outputs& outputs, std::tuple<T...>&& tensors) {
  std::apply([&](auto&&... each) { (store(outputs, std::move(each)), ...); }, std::move(tensors));
}

template <auto Function, typename Result, typename... Params, size_t... I>
void call_dynamic(Result (*)(Launch&, Params...),
                  Launch& launch,
                  Args args,
                  Outputs& outputs,
                  std::index_sequence<I...>) {
  store(outputs, Function(launch, Unbox<Params>::from(args[I])...));
}

// The parameters of a kernel that stand for the schema's, and the number of those after them.
template <typename Result, typename... Params>
constexpr Signature inputs(Result (*)(Launch&, Params...)) {
  return Signature(kParamRules<Params...>).first(sizeof...(Params) - count_outputs<Params...>());
}
template <typename Result, typename... Params>
constexpr size_t output_count(Result (*)(Launch&, Params...)) {
  return count_outputs<Params...>();
}

}  // namespace detail

// Boxed forms of typed kernels: void(Launch&, schema arguments..., Tensor& outputs...).
template <auto Function>
void boxed_kernel(Launch& launch, Args args, std::span<Tensor> outputs) {
  detail::unpack_kernel<Function>(Function, launch, args, outputs);
}
// Result(Launch&, schema arguments...), for ops that make their own outputs.
template <auto Function>
void boxed_dynamic(Launch& launch, Args args, Outputs& outputs) {
  detail::call_dynamic<Function>(Function, launch, args, outputs,
                                 std::make_index_sequence<detail::inputs(Function).size()>{});
}

}  // namespace mindtorch::ops
