// One op over lists of tensors.
#include <math.h>

#include "simulator/ascend/ops/rows.h"

using namespace sim;

namespace {

constexpr Types kTypes = kF | kI | kF64;

void check_lists(Planner& p,
                 const std::vector<Operand>& a,
                 const std::vector<Operand>& b,
                 const char* names) {
  p.check(a.size() == b.size(), std::string(names) + " must have one length");
  for (size_t i = 0; i < a.size(); ++i) p.check_shape(b[i], a[i].shape());
}

// A number that comes as a host scalar, one for each tensor, or a device tensor.
struct Number {
  std::vector<aclScalar> scalars;
  Operand tensor;  // one element, or one for each tensor of the list

  template <class C>
  C get(const Launch& launch, size_t i) const {
    if (tensor) {
      C value{};
      load(sim::get(launch, tensor), tensor.numel() == 1 ? 0 : static_cast<int64_t>(i), 1, &value);
      return value;
    }
    return scalar_as<C>(scalars[scalars.size() == 1 ? 0 : i]);
  }
};
Number number(Planner& p, const aclScalar* scalar, const char* name, size_t) {
  return {{p.scalar(scalar, name)}, {}};
}
Number number(Planner& p, const aclTensor* tensor, const char* name, size_t length) {
  const Operand operand = p.input(tensor, name, kTypes);
  p.check(operand.numel() == 1 || operand.numel() == static_cast<int64_t>(length),
          std::string(name) + " must have one element, or one for each tensor");
  return {{}, operand};
}
Number number(Planner& p, const aclScalarList* list, const char* name, size_t length) {
  if (list == nullptr) throw Rejected{kNullPointer, std::string(name) + " is null"};
  p.check(object_id(list) != 0, std::string(name) + " was destroyed before");
  p.check(list->scalars.size() == length, std::string(name) + " must have one for each tensor");
  Number result;
  for (const aclScalar* scalar : list->scalars) result.scalars.push_back(p.scalar(scalar, name));
  return result;
}

template <class With, class F>
aclnnStatus unary(const char* op,
                  const aclTensorList* x,
                  const aclTensorList* out,
                  Types types,
                  F f,
                  uint64_t* workspace_size,
                  aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const std::vector<Operand> in = p.inputs(x, "x", types);
    const std::vector<Operand> to = p.outputs(out, "out", types);
    check_lists(p, in, to, "x and out");
    p.run([=](Launch& launch) {
      for (size_t i = 0; i < in.size(); ++i) {
        With::with(in[i].dtype(), [&](auto zero) {
          map_elements<decltype(zero)>(get(launch, to[i]), f, get(launch, in[i]));
        });
      }
    });
  });
}

// f(x, number)
template <class Scalar, class F>
aclnnStatus with_number(const char* op,
                        const aclTensorList* x,
                        const Scalar* scalar,
                        const char* name,
                        const aclTensorList* out,
                        F f,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const std::vector<Operand> in = p.inputs(x, "x", kTypes);
    const Number value = number(p, scalar, name, in.size());
    const std::vector<Operand> to = p.outputs(out, "out", kTypes);
    check_lists(p, in, to, "x and out");
    p.run([=](Launch& launch) {
      for (size_t i = 0; i < in.size(); ++i) {
        with_real(in[i].dtype(), [&](auto zero) {
          using C = decltype(zero);
          const C second = value.get<C>(launch, i);
          map_elements<C>(
              get(launch, to[i]), [&](C first) { return f(first, second); }, get(launch, in[i]));
        });
      }
    });
  });
}

// f(x1, x2, number); without a number it is 1.
template <class Scalar, class F>
aclnnStatus pairs(const char* op,
                  const aclTensorList* x1,
                  const aclTensorList* x2,
                  const Scalar* scalar,
                  const char* name,
                  const aclTensorList* out,
                  F f,
                  uint64_t* workspace_size,
                  aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const std::vector<Operand> a = p.inputs(x1, "x1", kTypes);
    const std::vector<Operand> b = p.inputs(x2, "x2", kTypes);
    const Number value = name == nullptr ? Number{} : number(p, scalar, name, a.size());
    const bool given = name != nullptr;
    const std::vector<Operand> to = p.outputs(out, "out", kTypes);
    check_lists(p, a, b, "x1 and x2");
    check_lists(p, a, to, "x1 and out");
    p.run([=](Launch& launch) {
      for (size_t i = 0; i < a.size(); ++i) {
        with_real(a[i].dtype(), [&](auto zero) {
          using C = decltype(zero);
          const C third = given ? value.get<C>(launch, i) : C(1);
          map_elements<C>(
              get(launch, to[i]), [&](C x, C y) { return static_cast<C>(f(x, y, third)); },
              get(launch, a[i]), get(launch, b[i]));
        });
      }
    });
  });
}

// f(x1, x2, x3, number)
template <class Scalar, class F>
aclnnStatus triples(const char* op,
                    const aclTensorList* x1,
                    const aclTensorList* x2,
                    const aclTensorList* x3,
                    const Scalar* scalar,
                    const char* name,
                    const aclTensorList* out,
                    F f,
                    uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const std::vector<Operand> a = p.inputs(x1, "x1", kTypes);
    const std::vector<Operand> b = p.inputs(x2, "x2", kTypes);
    const std::vector<Operand> c = p.inputs(x3, name == nullptr ? "weight" : "x3", kTypes);
    const Number value = name == nullptr ? Number{} : number(p, scalar, name, a.size());
    const bool given = name != nullptr;
    const std::vector<Operand> to = p.outputs(out, "out", kTypes);
    check_lists(p, a, b, "x1 and x2");
    check_lists(p, a, c, "x1 and the third list");
    check_lists(p, a, to, "x1 and out");
    p.run([=](Launch& launch) {
      for (size_t i = 0; i < a.size(); ++i) {
        with_floating(a[i].dtype(), [&](auto zero) {
          using C = decltype(zero);
          const C fourth = given ? value.get<C>(launch, i) : C(1);
          map_elements<C>(
              get(launch, to[i]), [&](C x, C y, C w) { return static_cast<C>(f(x, y, w, fourth)); },
              get(launch, a[i]), get(launch, b[i]), get(launch, c[i]));
        });
      }
    });
  });
}

struct AddTo {
  template <class C>
  C operator()(C a, C b) const {
    return add(a, b);
  }
};
struct SubFrom {
  template <class C>
  C operator()(C a, C b) const {
    return sub(a, b);
  }
};
struct Times {
  template <class C>
  C operator()(C a, C b, C = C(1)) const {
    return mul(a, b);
  }
};
struct Over {
  template <class C>
  C operator()(C a, C b, C = C(1)) const {
    return b == C{} && std::is_integral_v<C> ? C{} : a / b;
  }
};
struct Largest {
  template <class C>
  C operator()(C a, C b, C = C(1)) const {
    return larger(a, b);
  }
};
struct Smallest {
  template <class C>
  C operator()(C a, C b, C = C(1)) const {
    return smaller(a, b);
  }
};
struct Power {
  template <class C>
  C operator()(C a, C b, C = C(1)) const {
    return static_cast<C>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
};
struct AddScaled {
  template <class C>
  C operator()(C a, C b, C alpha) const {
    return add(a, mul(alpha, b));
  }
};
struct SubScaled {
  template <class C>
  C operator()(C a, C b, C alpha) const {
    return sub(a, mul(alpha, b));
  }
};
struct LerpBy {
  template <class C>
  C operator()(C a, C b, C weight) const {
    return static_cast<C>(a + weight * (b - a));
  }
};
struct LerpBetween {
  template <class C>
  C operator()(C a, C b, C weight, C) const {
    return a + weight * (b - a);
  }
};
// mode: 1 to the nearest (half to even), 2 down, 3 up, 4 half away from zero, 5 towards zero,
// 7 what is behind the point.
struct RoundOff {
  template <class C>
  C operator()(C a, C mode) const {
    if constexpr (std::is_integral_v<C>) {
      return mode == C(7) ? C{} : a;
    } else {
      switch (static_cast<int>(mode)) {
        case 1:
          return std::nearbyint(a);
        case 2:
          return std::floor(a);
        case 3:
          return std::ceil(a);
        case 4:
          return std::round(a);
        case 5:
          return std::trunc(a);
        case 7:
          return a - std::trunc(a);
        default:
          return a;
      }
    }
  }
};
struct Addcdiv {
  template <class C>
  C operator()(C a, C b, C c, C value) const {
    return a + value * (b / c);
  }
};
struct Addcmul {
  template <class C>
  C operator()(C a, C b, C c, C value) const {
    return a + value * b * c;
  }
};

}  // namespace

#define SIM_EACH(Name, With, expression)                                                          \
  SIM_SIGNATURE(Foreach##Name, const aclTensorList* x, const aclTensorList* out) {                \
    const auto f = [](auto v) -> decltype(v) { return expression; };                              \
    return unary<With>("aclnnForeach" #Name, x, out, kTypes | kBool, f, workspaceSize, executor); \
  }
#define SIM_WITH_NUMBER(Name, Kind, name, Target, f)                                           \
  SIM_SIGNATURE(Foreach##Name, const aclTensorList* x, const Kind* name, Target* out) {        \
    return with_number("aclnnForeach" #Name, x, name, #name, out, f, workspaceSize, executor); \
  }
#define SIM_SCALARS(Name, f)                                               \
  SIM_WITH_NUMBER(Name##Scalar, aclTensor, scalar, const aclTensorList, f) \
  SIM_WITH_NUMBER(Name##ScalarV2, aclScalar, scalar, aclTensorList, f)     \
  SIM_WITH_NUMBER(Name##ScalarList, aclScalarList, scalars, const aclTensorList, f)
#define SIM_PAIRS(Name, f)                                                                 \
  SIM_SIGNATURE(Foreach##Name##List, const aclTensorList* x1, const aclTensorList* x2,     \
                const aclTensorList* out) {                                                \
    return pairs<aclScalar>("aclnnForeach" #Name "List", x1, x2, nullptr, nullptr, out, f, \
                            workspaceSize, executor);                                      \
  }
#define SIM_SCALED_PAIRS(Name, Kind, Target, f)                                                  \
  SIM_SIGNATURE(Foreach##Name, const aclTensorList* x1, const aclTensorList* x2,                 \
                const Kind* alpha, Target* out) {                                                \
    return pairs("aclnnForeach" #Name, x1, x2, alpha, "alpha", out, f, workspaceSize, executor); \
  }
#define SIM_TRIPLES(Name, Kind, name, Target, f)                                         \
  SIM_SIGNATURE(Foreach##Name, const aclTensorList* x1, const aclTensorList* x2,         \
                const aclTensorList* x3, const Kind* name, Target* out) {                \
    return triples("aclnnForeach" #Name, x1, x2, x3, name, #name, out, f, workspaceSize, \
                   executor);                                                            \
  }

extern "C" {

SIM_EACH(Abs, Reals, (v < decltype(v){} ? sub(decltype(v){}, v) : v))
SIM_EACH(Acos, Floats, std::acos(v))
SIM_EACH(Asin, Floats, std::asin(v))
SIM_EACH(Atan, Floats, std::atan(v))
SIM_EACH(Cos, Floats, std::cos(v))
SIM_EACH(Cosh, Floats, std::cosh(v))
SIM_EACH(Erf, Floats, std::erf(v))
SIM_EACH(Erfc, Floats, std::erfc(v))
SIM_EACH(Exp, Floats, std::exp(v))
SIM_EACH(Expm1, Floats, std::expm1(v))
SIM_EACH(Log, Floats, std::log(v))
SIM_EACH(Log10, Floats, std::log10(v))
SIM_EACH(Log1p, Floats, std::log1p(v))
SIM_EACH(Log2, Floats, std::log2(v))
SIM_EACH(Neg, Reals, sub(decltype(v){}, v))
SIM_EACH(Reciprocal, Floats, 1 / v)
SIM_EACH(Sigmoid, Floats, 1 / (1 + std::exp(-v)))
SIM_EACH(Sign, Reals, static_cast<decltype(v)>((v > decltype(v){}) - (v < decltype(v){})))
SIM_EACH(Sin, Floats, std::sin(v))
SIM_EACH(Sinh, Floats, std::sinh(v))
SIM_EACH(Sqrt, Floats, std::sqrt(v))
SIM_EACH(Tan, Floats, std::tan(v))
SIM_EACH(Tanh, Floats, std::tanh(v))

SIM_SIGNATURE(ForeachCopy, const aclTensorList* x, const aclTensorList* out) {
  return unary<Reals>(
      "aclnnForeachCopy", x, out, kTypes | kBool | kU, [](auto v) { return v; }, workspaceSize,
      executor);
}
SIM_SIGNATURE(ForeachZeroInplace, const aclTensorList* x) {
  return plan("aclnnForeachZeroInplace", workspaceSize, executor, [&](Planner& p) {
    const std::vector<Operand> out = p.outputs(x, "x", kTypes | kBool);
    p.run([=](Launch& launch) {
      int64_t zero = 0;
      const View source = contiguous_view(&zero, ACL_INT64, {});
      for (const Operand& each : out) cast_elements(get(launch, each), source);
    });
  });
}

SIM_SCALARS(Add, AddTo{})
SIM_SCALARS(Sub, SubFrom{})
SIM_SCALARS(Mul, Times{})
SIM_SCALARS(Div, Over{})
SIM_SCALARS(Maximum, Largest{})
SIM_SCALARS(Minimum, Smallest{})
SIM_SCALARS(Pow, Power{})
SIM_PAIRS(Mul, Times{})
SIM_PAIRS(Div, Over{})
SIM_PAIRS(Maximum, Largest{})
SIM_PAIRS(Minimum, Smallest{})
SIM_PAIRS(Pow, Power{})
SIM_SCALED_PAIRS(AddList, aclTensor, const aclTensorList, AddScaled{})
SIM_SCALED_PAIRS(AddListV2, aclScalar, aclTensorList, AddScaled{})
SIM_SCALED_PAIRS(SubList, aclTensor, const aclTensorList, SubScaled{})
SIM_SCALED_PAIRS(SubListV2, aclScalar, aclTensorList, SubScaled{})
SIM_TRIPLES(AddcdivScalar, aclTensor, scalar, const aclTensorList, Addcdiv{})
SIM_TRIPLES(AddcdivScalarV2, aclScalar, scalar, aclTensorList, Addcdiv{})
SIM_TRIPLES(AddcdivScalarList, aclTensor, scalars, const aclTensorList, Addcdiv{})
SIM_TRIPLES(AddcdivList, aclTensor, scalars, const aclTensorList, Addcdiv{})
SIM_TRIPLES(AddcmulScalar, aclTensor, scalar, const aclTensorList, Addcmul{})
SIM_TRIPLES(AddcmulScalarV2, aclScalar, scalar, aclTensorList, Addcmul{})
SIM_TRIPLES(AddcmulScalarList, aclTensor, scalars, const aclTensorList, Addcmul{})
SIM_TRIPLES(AddcmulList, aclTensor, scalars, const aclTensorList, Addcmul{})

SIM_SIGNATURE(ForeachPowScalarAndTensor,
              const aclScalar* scalar,
              const aclTensorList* x,
              const aclTensorList* out) {
  return with_number(
      "aclnnForeachPowScalarAndTensor", x, scalar, "scalar", out,
      [](auto a, auto b) { return Power{}(b, a); }, workspaceSize, executor);
}
SIM_WITH_NUMBER(RoundOffNumber, aclTensor, roundMode, const aclTensorList, RoundOff{})
SIM_WITH_NUMBER(RoundOffNumberV2, aclScalar, roundMode, aclTensorList, RoundOff{})

SIM_SIGNATURE(ForeachLerpScalar,
              const aclTensorList* x1,
              const aclTensorList* x2,
              const aclScalar* weight,
              const aclTensorList* out) {
  return pairs("aclnnForeachLerpScalar", x1, x2, weight, "weight", out, LerpBy{}, workspaceSize,
               executor);
}
SIM_SIGNATURE(ForeachLerpList,
              const aclTensorList* x1,
              const aclTensorList* x2,
              const aclTensorList* weight,
              const aclTensorList* out) {
  return triples<aclScalar>("aclnnForeachLerpList", x1, x2, weight, nullptr, nullptr, out,
                            LerpBetween{}, workspaceSize, executor);
}
SIM_SIGNATURE(ForeachNorm,
              const aclTensorList* x,
              const aclScalar* scalar,
              const aclTensorList* out) {
  return plan("aclnnForeachNorm", workspaceSize, executor, [&](Planner& p) {
    const std::vector<Operand> in = p.inputs(x, "x", kF);
    const double order = p.scalar(scalar, "scalar").real();
    const std::vector<Operand> to = p.outputs(out, "out", kF);
    p.check(in.size() == to.size(), "x and out must have one length");
    for (const Operand& each : to)
      p.check(each.numel() == 1, p.name(each) + " must have one element");
    p.check(order == 1 || order == 2 || std::isinf(order), "scalar must be 1, 2 or infinity");
    p.run([=](Launch& launch) {
      for (size_t i = 0; i < in.size(); ++i) {
        double sum = 0;
        for (const double value : load_all<double>(get(launch, in[i]))) {
          const double size = std::abs(value);
          sum = std::isinf(order) ? std::max(sum, size) : sum + (order == 1 ? size : size * size);
        }
        if (order == 2) sum = std::sqrt(sum);
        store(get(launch, to[i]), 0, 1, &sum);
      }
    });
  });
}
}
