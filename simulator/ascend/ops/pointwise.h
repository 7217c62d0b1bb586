#pragma once

#include <cmath>
#include <string>

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
  kFloat,  // float32 for integers
  kBool,   // stored as any dtype
  kReal,   // the parts of complex numbers
};

inline DType result_dtype(Result rule, DType compute) {
  switch (rule) {
    case Result::kFloat:
      return category(compute) <= Category::kInteger ? ACL_FLOAT : compute;
    case Result::kBool:
      return ACL_BOOL;
    case Result::kReal:
      if (compute == ACL_COMPLEX128) return ACL_DOUBLE;
      if (compute == ACL_COMPLEX32) return ACL_FLOAT16;
      return compute == ACL_COMPLEX64 ? ACL_FLOAT : compute;
    default:
      return compute;
  }
}

// An argument once checked: a slot, or the bytes of a scalar.
struct Source {
  Operand operand;
  aclScalar scalar;

  View view(const Launch& launch) const {
    if (operand) return get(launch, operand);
    return contiguous_view(const_cast<char*>(scalar.bytes.data()), scalar.dtype, {});
  }
};

// Runs f over the elements. The result is rounded to `result` first, then stored as out's dtype,
// which takes workspace where they differ.
template <class With, size_t N, class F>
void run_elementwise(Planner& p,
                     const Operand& out,
                     DType compute,
                     DType result,
                     const std::array<Source, N>& sources,
                     F f) {
  if (out.numel() == 0) return;
  const bool convert = result != out.dtype();
  const int64_t bytes = out.numel() * static_cast<int64_t>(item_bytes(result));
  const uint64_t at = convert ? p.workspace(bytes) : 0;
  p.run([=](Launch& launch) {
    const View& target = get(launch, out);
    const View direct =
        convert ? contiguous_view(launch.workspace(at), result, target.shape) : target;
    With::with(compute, [&](auto zero) {
      using C = decltype(zero);
      [&]<size_t... K>(std::index_sequence<K...>) {
        map_elements<C>(direct, f, sources[K].view(launch)...);
      }(std::make_index_sequence<N>{});
    });
    if (convert) cast_elements(target, direct);
  });
}

// A whole element-wise op: checks, promotion, broadcast, loop.
template <class With, size_t N, class F>
aclnnStatus elementwise(const char* op,
                        Types types,
                        Result rule,
                        const Arg (&args)[N],
                        Out out,
                        F f,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    std::array<Source, N> sources;
    Shape shape;
    std::string names;
    DType compute = ACL_DT_UNDEFINED;
    for (size_t k = 0; k < N; ++k) {
      const Arg& arg = args[k];
      if (arg.kind == Arg::kScalar || arg.kind == Arg::kFactor) {
        sources[k].scalar = p.scalar(arg.scalar, arg.name);
        continue;
      }
      const Types allowed = arg.kind == Arg::kMask ? kBool | kU8 : types;
      sources[k].operand = k == 0 && out.name == nullptr ? p.inout(arg.tensor, arg.name, allowed)
                                                         : p.input(arg.tensor, arg.name, allowed);
      names += (names.empty() ? "" : " and ") + std::string(arg.name);
      shape = p.broadcast(shape, sources[k].operand.shape(), names.c_str());
      if (arg.kind == Arg::kMask) continue;
      const DType dtype = sources[k].operand.dtype();
      const DType met = compute == ACL_DT_UNDEFINED ? dtype : promote(compute, dtype);
      p.check(met != ACL_DT_UNDEFINED, names + " have dtypes that do not promote: " +
                                           dtype_name(compute) + " and " + dtype_name(dtype));
      compute = met;
    }
    for (size_t k = 0; k < N; ++k) {
      if (args[k].kind == Arg::kScalar) {
        compute = promote_scalar(compute, sources[k].scalar.dtype);
      }
    }
    const Operand target =
        out.name == nullptr ? sources[0].operand : p.output(out.tensor, out.name, kAll);
    const DType result = result_dtype(rule, compute);
    p.check_shape(target, shape);
    if (rule != Result::kBool) p.check_cast(result, target);
    run_elementwise<With>(p, target, compute, result, sources, f);
  });
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
