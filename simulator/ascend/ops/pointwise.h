#pragma once

#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "simulator/ascend/ops/loops.h"

namespace sim {

// Which computing types the function of an op is written for.
struct Numbers {
  template <class F>
  static void with(DType dtype, F&& f) {
    with_compute(dtype, f);
  }
};
struct Reals {
  template <class F>
  static void with(DType dtype, F&& f) {
    with_real(dtype, f);
  }
};
struct Floats {  // integers compute in float
  template <class F>
  static void with(DType dtype, F&& f) {
    with_floating(dtype, f);
  }
};
struct Fields {  // so do they here, and complex numbers are themselves
  template <class F>
  static void with(DType dtype, F&& f) {
    if (dtype == ACL_COMPLEX128) return f(Complex128{});
    if (dtype == ACL_COMPLEX64) return f(Complex64{});
    with_floating(dtype, f);
  }
};
struct Integers {
  template <class F>
  static void with(DType dtype, F&& f) {
    if (dtype == ACL_UINT64) return f(uint64_t{});
    f(int64_t{});
  }
};

// One argument of an element-wise op.
struct Arg {
  enum Kind {
    kTensor,  // takes part in promotion
    kScalar,  // so does this, as a scalar
    kFactor,  // a scalar that only comes along
    kMask,    // a bool or uint8 tensor
  };
  const char* name;
  const aclTensor* tensor;
  const aclScalar* scalar;
  Kind kind;
  Types types = 0;  // that this one may have; 0: those of the op
};

inline Arg arg(const char* name, const aclTensor* tensor) {
  return {name, tensor, nullptr, Arg::kTensor};
}
inline Arg arg(const char* name, const aclScalar* scalar) {
  return {name, nullptr, scalar, Arg::kScalar};
}
inline Arg factor(const char* name, const aclScalar* scalar) {
  return {name, nullptr, scalar, Arg::kFactor};
}
inline Arg mask(const char* name, const aclTensor* tensor) {
  return {name, tensor, nullptr, Arg::kMask};
}

// Where an element-wise op writes: a tensor of its own, or its first argument.
struct Out {
  const char* name;
  const aclTensor* tensor;
};
inline Out out(const char* name, const aclTensor* tensor) { return {name, tensor}; }
inline Out in_place() { return {nullptr, nullptr}; }

// The dtype of the result, given the one in which the arguments meet.
enum class Result {
  kSame,
  kFloat,     // float32 for integers
  kQuotient,  // so too, but stored as whatever the arguments could be stored as
  kBool,      // stored as any dtype
  kReal,      // the parts of complex numbers
};

// An argument once checked: a slot, or the bytes of a scalar.
struct Source {
  Operand operand;
  aclScalar scalar;

  View view(const Launch& launch) const {
    if (operand) return get(launch, operand);
    return contiguous_view(const_cast<char*>(scalar.bytes.data()), scalar.dtype, {});
  }
};

// The function of an op over whole tensors, computed in a dtype.
using Elementwise = std::function<void(DType compute, const View& out, const View* in)>;

template <class With, size_t N, class F>
Elementwise over_elements(F f) {
  return [f](DType compute, const View& out, const View* in) {
    With::with(compute, [&](auto zero) {
      [&]<size_t... K>(std::index_sequence<K...>) {
        map_elements<decltype(zero)>(out, f, std::array<View, N>{in[K]...});
      }(std::make_index_sequence<N>{});
    });
  };
}

// Runs f over the elements. The result is rounded to `result` first, then stored as out's dtype,
// which takes workspace where they differ.
void run_elementwise(Planner& p,
                     const Operand& out,
                     DType compute,
                     DType result,
                     std::vector<Source> sources,
                     Elementwise f);

// A whole element-wise op: checks, promotion, broadcast, loop.
aclnnStatus elementwise(const char* op,
                        Types types,
                        Result rule,
                        std::span<const Arg> args,
                        Out out,
                        const Elementwise& f,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor);
template <class With, size_t N, class F>
aclnnStatus elementwise(const char* op,
                        Types types,
                        Result rule,
                        const Arg (&args)[N],
                        Out out,
                        F f,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor) {
  return elementwise(op, types, rule, std::span<const Arg>(args), out, over_elements<With, N>(f),
                     workspace_size, executor);
}

// Arithmetic that wraps for integers.
template <class C>
C add(C a, C b) {
  if constexpr (std::is_same_v<C, int64_t>) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class C>
C sub(C a, C b) {
  if constexpr (std::is_same_v<C, int64_t>) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  } else {
    return a - b;
  }
}
template <class C>
C mul(C a, C b) {
  if constexpr (std::is_same_v<C, int64_t>) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

// Not-a-number wins, as on the device.
template <class C>
C larger(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return a < b ? b : a;
}
template <class C>
C smaller(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return b < a ? b : a;
}

}  // namespace sim

// Phase one of aclnn<Name>, which an element-wise op defines with SIM_RUN.
#define SIM_SIGNATURE(Name, ...)                                                  \
  aclnnStatus aclnn##Name##GetWorkspaceSize(__VA_ARGS__, uint64_t* workspaceSize, \
                                            aclOpExecutor** executor)
#define SIM_RUN(Name, With, types, rule, f, target, ...) \
  const Arg args[] = {__VA_ARGS__};                      \
  return elementwise<With>("aclnn" #Name, types, rule, args, target, f, workspaceSize, executor)
