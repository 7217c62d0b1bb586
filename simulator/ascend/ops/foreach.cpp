// One op over lists of tensors.
#include <math.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "simulator/ascend/ops/rows.h"

using namespace sim;

namespace {

constexpr Types kTypes = kF | kI | kF64;

void check_lists(Planner& p,
                 const std::vector<Operand>& a,
                 const std::vector<Operand>& b,
                 const std::string& names) {
  p.check(a.size() == b.size(), names + " must have one length");
  for (size_t i = 0; i < a.size(); ++i) p.check_shape(b[i], a[i].shape());
}

// A number that comes as a host scalar, one for each tensor, or a device tensor.
struct Number {
  std::vector<aclScalar> scalars;
  Operand tensor;  // one element, or one for each tensor of the list

  // 1 where none was given.
  template <class C>
  C get(const Launch& launch, size_t i) const {
    if (tensor) {
      C value{};
      load(sim::get(launch, tensor), tensor.numel() == 1 ? 0 : static_cast<int64_t>(i), 1, &value);
      return value;
    }
    if (scalars.empty()) return C(1);
    return scalar_as<C>(scalars[scalars.size() == 1 ? 0 : i]);
  }
};

// As the caller gives it.
struct NumberArg {
  NumberArg() = default;
  NumberArg(const aclScalar* from, const char* of) : name(of), kind(kScalar), scalar(from) {}
  NumberArg(const aclTensor* from, const char* of) : name(of), kind(kTensor), tensor(from) {}
  NumberArg(const aclScalarList* from, const char* of) : name(of), kind(kList), list(from) {}

  const char* name = nullptr;
  enum { kNone, kScalar, kTensor, kList } kind = kNone;
  const aclScalar* scalar = nullptr;
  const aclTensor* tensor = nullptr;
  const aclScalarList* list = nullptr;
};

Number number(Planner& p, const NumberArg& arg, size_t length) {
  if (arg.kind == NumberArg::kNone) return {};
  const std::string name = arg.name;
  if (arg.kind == NumberArg::kList) {
    if (arg.list == nullptr) throw Rejected{kNullPointer, name + " is null"};
    p.check(object_id(arg.list) != 0, name + " was destroyed before");
    p.check(arg.list->scalars.size() == length, name + " must have one for each tensor");
    Number result;
    for (const aclScalar* scalar : arg.list->scalars) {
      result.scalars.push_back(p.scalar(scalar, arg.name));
    }
    return result;
  }
  if (arg.kind == NumberArg::kScalar) return {{p.scalar(arg.scalar, arg.name)}, {}};
  const Operand operand = p.input(arg.tensor, arg.name, kTypes);
  p.check(operand.numel() == 1 || operand.numel() == static_cast<int64_t>(length),
          name + " must have one element, or one for each tensor");
  return {{}, operand};
}

// The function of an op for the tensors that stand at place i of the lists.
using Body = std::function<void(
    Launch& launch, const Number& number, size_t i, DType dtype, const View& out, const View* in)>;

// f(x...)
template <class With, size_t N, class F>
Body each(F f) {
  return [f](Launch&, const Number&, size_t, DType dtype, const View& out, const View* in) {
    over_elements<With, N>(f)(dtype, out, in);
  };
}

// f(x..., number)
template <class With, size_t N, class F>
Body with_number(F f) {
  return [f](Launch& launch, const Number& number, size_t i, DType dtype, const View& out,
             const View* in) {
    With::with(dtype, [&](auto zero) {
      using C = decltype(zero);
      const C last = number.get<C>(launch, i);
      std::array<View, N> views;
      std::copy_n(in, N, views.begin());
      map_elements<C>(out, [last, &f](auto... x) { return static_cast<C>(f(x..., last)); }, views);
    });
  };
}

// Rounds to the dtype that a step of the device gives, as where it keeps its results between two
// steps in half precision.
struct AsHalf {
  float operator()(float value) const { return from_half(to_half(value)); }
};
struct AsIs {
  template <class C>
  C operator()(C value) const {
    return value;
  }
};

// f(round, x..., number), where the device computes each step of float16 in float16.
template <class With, size_t N, class F>
Body in_steps(F f) {
  const Body others = with_number<With, N>([f](auto... x) { return f(AsIs{}, x...); });
  const Body halves = with_number<Floats, N>([f](auto... x) {
    if constexpr ((std::is_same_v<decltype(x), float> && ...)) return f(AsHalf{}, x...);
    return f(AsIs{}, x...);
  });
  return [=](Launch& launch, const Number& number, size_t i, DType dtype, const View& out,
             const View* in) {
    (dtype == ACL_FLOAT16 ? halves : others)(launch, number, i, dtype, out, in);
  };
}

struct List {
  const aclTensorList* tensors;
  const char* name;
};

aclnnStatus over_lists(const char* op,
                       std::span<const List> lists,
                       const NumberArg& number_arg,
                       const aclTensorList* out,
                       Types types,
                       const Body& body,
                       uint64_t* workspace_size,
                       aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    std::vector<std::vector<Operand>> in;
    for (const List& list : lists) in.push_back(p.inputs(list.tensors, list.name, types));
    const Number value = number(p, number_arg, in[0].size());
    const std::vector<Operand> to = p.outputs(out, "out", types);
    const std::string first = lists[0].name;
    for (size_t k = 1; k < in.size(); ++k) {
      check_lists(p, in[0], in[k], first + " and " + lists[k].name);
    }
    check_lists(p, in[0], to, first + " and out");
    p.run([in, value, to, body](Launch& launch) {
      std::vector<View> views(in.size());
      for (size_t i = 0; i < to.size(); ++i) {
        for (size_t k = 0; k < in.size(); ++k) views[k] = get(launch, in[k][i]);
        body(launch, value, i, in[0][i].dtype(), get(launch, to[i]), views.data());
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
  C operator()(C a, C b) const {
    return mul(a, b);
  }
};
struct Over {
  template <class C>
  C operator()(C a, C b) const {
    return b == C{} && std::is_integral_v<C> ? C{} : a / b;
  }
};
struct Largest {
  template <class C>
  C operator()(C a, C b) const {
    return larger(a, b);
  }
};
struct Smallest {
  template <class C>
  C operator()(C a, C b) const {
    return smaller(a, b);
  }
};
struct Power {
  template <class C>
  C operator()(C a, C b) const {
    return static_cast<C>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
};
struct AddScaled {
  template <class Round, class C>
  C operator()(Round round, C a, C b, C alpha) const {
    return add(a, mul(round(alpha), b));  // one instruction, unlike the difference
  }
};
struct SubScaled {
  template <class Round, class C>
  C operator()(Round round, C a, C b, C alpha) const {
    return sub(a, round(mul(round(alpha), b)));
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
  C operator()(C a, C b, C weight) const {
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
  template <class Round, class C>
  C operator()(Round round, C a, C b, C c, C value) const {
    return a + round(value) * round(b / c);
  }
};
struct Addcmul {
  template <class C>
  C operator()(C a, C b, C c, C value) const {
    return a + value * b * c;
  }
  template <class Round, class C>
  C operator()(Round round, C a, C b, C c, C value) const {
    return a + round(value) * round(b * c);
  }
};

}  // namespace

#define SIM_LISTS(Name, number, out, types, body, ...) \
  const List lists[] = {__VA_ARGS__};                  \
  return over_lists("aclnnForeach" #Name, lists, number, out, types, body, workspaceSize, executor)
#define SIM_EACH(Name, With, expression)                                           \
  SIM_SIGNATURE(Foreach##Name, const aclTensorList* x, const aclTensorList* out) { \
    const auto f = [](auto v) -> decltype(v) { return expression; };               \
    SIM_LISTS(Name, {}, out, kTypes | kBool, (each<With, 1>(f)), {x, "x"});        \
  }
#define SIM_WITH_NUMBER(Name, Kind, name, Target, f)                                            \
  SIM_SIGNATURE(Foreach##Name, const aclTensorList* x, const Kind* name, Target* out) {         \
    SIM_LISTS(Name, NumberArg(name, #name), out, kTypes, (with_number<Reals, 1>(f)), {x, "x"}); \
  }
#define SIM_SCALARS(Name, f)                                               \
  SIM_WITH_NUMBER(Name##Scalar, aclTensor, scalar, const aclTensorList, f) \
  SIM_WITH_NUMBER(Name##ScalarV2, aclScalar, scalar, aclTensorList, f)     \
  SIM_WITH_NUMBER(Name##ScalarList, aclScalarList, scalars, const aclTensorList, f)
#define SIM_PAIRS(Name, f)                                                               \
  SIM_SIGNATURE(Foreach##Name##List, const aclTensorList* x1, const aclTensorList* x2,   \
                const aclTensorList* out) {                                              \
    SIM_LISTS(Name##List, {}, out, kTypes, (each<Reals, 2>(f)), {x1, "x1"}, {x2, "x2"}); \
  }
#define SIM_SCALED_PAIRS(Name, Kind, Target, body)                                         \
  SIM_SIGNATURE(Foreach##Name, const aclTensorList* x1, const aclTensorList* x2,           \
                const Kind* alpha, Target* out) {                                          \
    SIM_LISTS(Name, NumberArg(alpha, "alpha"), out, kTypes, body, {x1, "x1"}, {x2, "x2"}); \
  }
#define SIM_TRIPLES(Name, Kind, name, Target, body)                                    \
  SIM_SIGNATURE(Foreach##Name, const aclTensorList* x1, const aclTensorList* x2,       \
                const aclTensorList* x3, const Kind* name, Target* out) {              \
    SIM_LISTS(Name, NumberArg(name, #name), out, kTypes, body, {x1, "x1"}, {x2, "x2"}, \
              {x3, "x3"});                                                             \
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
  SIM_LISTS(Copy, {}, out, kTypes | kBool | kU, (each<Reals, 1>([](auto v) { return v; })),
            {x, "x"});
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
SIM_SCALED_PAIRS(AddList, aclTensor, const aclTensorList, (in_steps<Reals, 2>(AddScaled{})))
SIM_SCALED_PAIRS(AddListV2, aclScalar, aclTensorList, (in_steps<Reals, 2>(AddScaled{})))
SIM_SCALED_PAIRS(SubList, aclTensor, const aclTensorList, (in_steps<Reals, 2>(SubScaled{})))
SIM_SCALED_PAIRS(SubListV2, aclScalar, aclTensorList, (in_steps<Reals, 2>(SubScaled{})))
SIM_TRIPLES(
    AddcdivScalar, aclTensor, scalar, const aclTensorList, (with_number<Floats, 3>(Addcdiv{})))
SIM_TRIPLES(AddcdivScalarV2, aclScalar, scalar, aclTensorList, (with_number<Floats, 3>(Addcdiv{})))
SIM_TRIPLES(
    AddcdivScalarList, aclTensor, scalars, const aclTensorList, (in_steps<Floats, 3>(Addcdiv{})))
SIM_TRIPLES(AddcdivList, aclTensor, scalars, const aclTensorList, (in_steps<Floats, 3>(Addcdiv{})))
SIM_TRIPLES(
    AddcmulScalar, aclTensor, scalar, const aclTensorList, (with_number<Floats, 3>(Addcmul{})))
SIM_TRIPLES(AddcmulScalarV2, aclScalar, scalar, aclTensorList, (with_number<Floats, 3>(Addcmul{})))
SIM_TRIPLES(
    AddcmulScalarList, aclTensor, scalars, const aclTensorList, (with_number<Floats, 3>(Addcmul{})))
SIM_TRIPLES(AddcmulList, aclTensor, scalars, const aclTensorList, (in_steps<Floats, 3>(Addcmul{})))

SIM_SIGNATURE(ForeachPowScalarAndTensor,
              const aclScalar* scalar,
              const aclTensorList* x,
              const aclTensorList* out) {
  const auto f = [](auto a, auto b) { return Power{}(b, a); };
  SIM_LISTS(PowScalarAndTensor, NumberArg(scalar, "scalar"), out, kTypes,
            (with_number<Reals, 1>(f)), {x, "x"});
}
SIM_WITH_NUMBER(RoundOffNumber, aclTensor, roundMode, const aclTensorList, RoundOff{})
SIM_WITH_NUMBER(RoundOffNumberV2, aclScalar, roundMode, aclTensorList, RoundOff{})

SIM_SIGNATURE(ForeachLerpScalar,
              const aclTensorList* x1,
              const aclTensorList* x2,
              const aclScalar* weight,
              const aclTensorList* out) {
  SIM_LISTS(LerpScalar, NumberArg(weight, "weight"), out, kTypes, (with_number<Reals, 2>(LerpBy{})),
            {x1, "x1"}, {x2, "x2"});
}
SIM_SIGNATURE(ForeachLerpList,
              const aclTensorList* x1,
              const aclTensorList* x2,
              const aclTensorList* weight,
              const aclTensorList* out) {
  SIM_LISTS(LerpList, {}, out, kTypes, (each<Floats, 3>(LerpBetween{})), {x1, "x1"}, {x2, "x2"},
            {weight, "weight"});
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
