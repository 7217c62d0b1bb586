// Special functions: torch.special, and what torch has of them under names of their own.
#include <cmath>
#include <numbers>

#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/functions/declare.h"

namespace mindtorch::ops {
namespace {

using G = GradientInputs;
using std::numbers::inv_sqrtpi;
using std::numbers::sqrt2;

template <typename Declare>
Pointwise registered(const char* name, int arity, const Declare& declare) {
  FunctionInfo info;
  info.name = name;
  info.torch_kernel = name;
  info.arity = static_cast<uint8_t>(arity);
  Declaration declaration(info);
  declare(declaration.in(kFloatTypes));
  return register_function(std::move(info));
}

PointwiseCall float_call(Pointwise function, const Tensor& self) {
  const DType dtype = float_dtype(self.dtype());
  return PointwiseCall(function, dtype, dtype, self);
}

PointwiseCall entr(const Tensor& self) {
  static const Pointwise function = registered("entr", 1, [](Declaration& d) {
    d.is([](const Inputs& x) {
       const Expr inside = where(x.a > 0, -x.a * log(x.a), where(x.a == 0, 0, -INFINITY));
       return where(isnan(x.a), x.a, inside);
     }).gradients([](const G& x) { return x.grad * (-1 - log(x.a)); });
  });
  return float_call(function, self);
}

PointwiseCall ndtr(const Tensor& self) {
  static const Pointwise function = registered("ndtr", 1, [](Declaration& d) {
    d.is([](const Inputs& x) { return 0.5 * erfc(x.a * (-1 / sqrt2)); }).gradients([](const G& x) {
      return x.grad * (inv_sqrtpi / sqrt2) * exp(square(x.a) * -0.5);
    });
  });
  return float_call(function, self);
}

PointwiseCall log_ndtr(const Tensor& self) {
  static const Pointwise function = registered("log_ndtr", 1, [](Declaration& d) {
    d.is([](const Inputs& x) {
       const Expr t = x.a * (1 / sqrt2);
       const Expr low = log(erfcx(-t) * 0.5) - square(t);
       return where(x.a < -1, low, log1p(erfc(t) * -0.5));
     }).gradients([](const G& x) {
      return x.grad * (sqrt2 * inv_sqrtpi) / erfcx(x.a * (-1 / sqrt2));
    });
  });
  return float_call(function, self);
}

PointwiseCall spherical_bessel_j0(const Tensor& self) {
  static const Pointwise function = registered("spherical_bessel_j0", 1, [](Declaration& d) {
    d.is([](const Inputs& x) { return where(isinf(x.a), 0, where(x.a == 0, 1, sin(x.a) / x.a)); });
  });
  return float_call(function, self);
}

PointwiseCall xlog1py(const Tensor& self, const Tensor& other) {
  static const Pointwise function = registered("xlog1py", 2, [](Declaration& d) {
    d.is([](const Inputs& x) { return where((x.a == 0) & !isnan(x.b), 0, x.a * log1p(x.b)); })
        .gradients(
            [](const G& x) {
              const Expr product = where((x.grad == 0) & !isnan(x.b), 0, x.grad * log1p(x.b));
              return where((x.a == 0) & (x.b <= -1), 0, product);
            },
            [](const G& x) { return x.grad * x.a / (x.b + 1); });
  });
  return promoted_to_float(function, self, other);
}

// The derivative number n of digamma: (-1)**(n + 1) n! zeta(n + 1, x), with p0 = n + 1 and p1 the
// factor.
PointwiseCall polygamma(int64_t n, const Tensor& self) {
  MT_CHECK(n >= 0, RuntimeError, "polygamma(n, x) does not support negative n.");
  static const Pointwise function = registered("polygamma", 1, [](Declaration& d) {
    d.is([](const Inputs& x) { return x.p1 * zeta(x.p0, x.a); }).gradients([](const G& x) {
      return x.grad * -x.p0 * x.p1 * zeta(x.p0 + 1, x.a);
    });
  });
  if (n == 0) return to_float<Pointwise::kDigamma>(self);
  if (n == 1) return to_float<Pointwise::kTrigamma>(self);
  const double factorial = std::tgamma(static_cast<double>(n) + 1);
  return float_call(function, self)
      .param(0, static_cast<double>(n + 1))
      .param(1, n % 2 == 0 ? -factorial : factorial);
}

PointwiseCall standard_gamma_grad(const Tensor& self, const Tensor& output) {
  return promoted_to_float(Pointwise::kStandardGammaGrad, self, output);
}

PointwiseCall dirichlet_grad(const Tensor& x, const Tensor& alpha, const Tensor& total) {
  const DType dtype = float_dtype(x.dtype());
  return PointwiseCall(Pointwise::kDirichletGrad, dtype, dtype, x, alpha, total);
}

struct Entry {
  const char* schema;
  const char* sentence;
  const char* example;
};

template <auto kRule>
void add(Registry& ops, const Entry& entry, Location location = Location::here()) {
  ops.define<kRule>(entry.schema, location)
      .variants(kOutVariant)
      .function_only()
      .doc(entry.sentence, entry.example);
}

// torch differentiates none of these.
template <auto kRule>
void add_constant(Registry& ops, const Entry& entry, Location location = Location::here()) {
  ops.define<kRule>(entry.schema, location)
      .variants(kOutVariant)
      .function_only()
      .not_differentiable()
      .doc(entry.sentence, entry.example);
}
template <Pointwise kFunction>
void add_bessel(Registry& ops, const Entry& entry, Location location = Location::here()) {
  add_constant<to_float<kFunction>>(ops, entry, location);
}

void define_bessel(Registry& ops) {
  ops.define<to_float<Pointwise::kBesselI0>>("i0(Tensor self) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"special_i0"})
      .doc("The modified Bessel function of the first kind, order 0.",
           ">>> torch.i0(torch.tensor([0., 1.]))\ntensor([1.0000, 1.2661])");
  add<to_float<Pointwise::kBesselI0e>>(
      ops, {"special_i0e(Tensor self) -> Tensor", "`i0` times exp(-|x|).",
            ">>> torch.special.i0e(torch.tensor([1.]))\ntensor([0.4658])"});
  add<to_float<Pointwise::kBesselI1>>(
      ops, {"special_i1(Tensor self) -> Tensor",
            "The modified Bessel function of the first kind, order 1.",
            ">>> torch.special.i1(torch.tensor([1.]))\ntensor([0.5652])"});
  add_bessel<Pointwise::kBesselI0>(
      ops, {"special_modified_bessel_i0(Tensor self) -> Tensor", "The same as `i0`.",
            ">>> torch.special.modified_bessel_i0(torch.tensor([1.]))\ntensor([1.2661])"});
  add_bessel<Pointwise::kBesselI1>(
      ops, {"special_modified_bessel_i1(Tensor self) -> Tensor", "The same as `i1`.",
            ">>> torch.special.modified_bessel_i1(torch.tensor([1.]))\ntensor([0.5652])"});
  add<to_float<Pointwise::kBesselI1e>>(
      ops, {"special_i1e(Tensor self) -> Tensor", "`i1` times exp(-|x|).",
            ">>> torch.special.i1e(torch.tensor([1.]))\ntensor([0.2079])"});
  add_bessel<Pointwise::kBesselJ0>(
      ops, {"special_bessel_j0(Tensor self) -> Tensor",
            "The Bessel function of the first kind, order 0.",
            ">>> torch.special.bessel_j0(torch.tensor([1.]))\ntensor([0.7652])"});
  add_bessel<Pointwise::kBesselJ1>(
      ops, {"special_bessel_j1(Tensor self) -> Tensor",
            "The Bessel function of the first kind, order 1.",
            ">>> torch.special.bessel_j1(torch.tensor([1.]))\ntensor([0.4401])"});
  add_bessel<Pointwise::kBesselY0>(
      ops, {"special_bessel_y0(Tensor self) -> Tensor",
            "The Bessel function of the second kind, order 0.",
            ">>> torch.special.bessel_y0(torch.tensor([1.]))\ntensor([0.0883])"});
  add_bessel<Pointwise::kBesselY1>(
      ops, {"special_bessel_y1(Tensor self) -> Tensor",
            "The Bessel function of the second kind, order 1.",
            ">>> torch.special.bessel_y1(torch.tensor([1.]))\ntensor([-0.7812])"});
  add_bessel<Pointwise::kBesselK0>(
      ops, {"special_modified_bessel_k0(Tensor self) -> Tensor",
            "The modified Bessel function of the second kind, order 0.",
            ">>> torch.special.modified_bessel_k0(torch.tensor([1.]))\ntensor([0.4210])"});
  add_bessel<Pointwise::kBesselK1>(
      ops, {"special_modified_bessel_k1(Tensor self) -> Tensor",
            "The modified Bessel function of the second kind, order 1.",
            ">>> torch.special.modified_bessel_k1(torch.tensor([1.]))\ntensor([0.6019])"});
  add_bessel<Pointwise::kBesselK0e>(
      ops, {"special_scaled_modified_bessel_k0(Tensor x) -> Tensor",
            "`modified_bessel_k0` times exp(x).",
            ">>> torch.special.scaled_modified_bessel_k0(torch.tensor([1.]))\ntensor([1.1445])"});
  add_bessel<Pointwise::kBesselK1e>(
      ops, {"special_scaled_modified_bessel_k1(Tensor x) -> Tensor",
            "`modified_bessel_k1` times exp(x).",
            ">>> torch.special.scaled_modified_bessel_k1(torch.tensor([1.]))\ntensor([1.6362])"});
  add_constant<spherical_bessel_j0>(
      ops, {"special_spherical_bessel_j0(Tensor x) -> Tensor",
            "The spherical Bessel function of the first kind, order 0: sin(x) / x.",
            ">>> torch.special.spherical_bessel_j0(torch.tensor([0.]))\ntensor([1.])"});
  add_bessel<Pointwise::kAiryAi>(
      ops, {"special_airy_ai(Tensor x) -> Tensor", "The Airy function Ai.",
            ">>> torch.special.airy_ai(torch.tensor([0.]))\ntensor([0.3550])"});
}

void define_gamma(Registry& ops) {
  ops.define<binary_float<Pointwise::kIgamma>>("igamma(Tensor self, Tensor other) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"special_gammainc"})
      .doc("The regularized lower incomplete gamma function P(self, other).",
           ">>> torch.igamma(torch.tensor([1.]), torch.tensor([1.]))\ntensor([0.6321])");
  ops.define<binary_float<Pointwise::kIgammac>>("igammac(Tensor self, Tensor other) -> Tensor")
      .variants(kInplaceAndOut)
      .also({"special_gammaincc"})
      .doc("The regularized upper incomplete gamma function Q(self, other).",
           ">>> torch.igammac(torch.tensor([1.]), torch.tensor([1.]))\ntensor([0.3679])");
  ops.define<polygamma>("polygamma(int n, Tensor self) -> Tensor")
      .variants(kOutVariant)
      .function_only()
      .also({"special_polygamma"})
      .doc("The derivative number `n` of `digamma`.",
           ">>> torch.polygamma(1, torch.tensor([1.]))\ntensor([1.6449])");
  ops.define<binary_float<Pointwise::kZeta>>("special_zeta(Operand self, Operand other) -> Tensor")
      .variants(kOutVariant)
      .function_only()
      .doc("Hurwitz's zeta function: the sum of (other + k) ** -self over k = 0, 1, ...",
           ">>> torch.special.zeta(torch.tensor([2.]), 1)\ntensor([1.6449])");
  ops.define<standard_gamma_grad>("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor")
      .doc("How samples of gamma distributions of the shapes `self` move with their shape.",
           ">>> torch._standard_gamma_grad(torch.tensor([1.]), torch.tensor([1.]))\n"
           "tensor([1.1736])");
  ops.define<dirichlet_grad>("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor")
      .function_only()
      .doc("How samples of Dirichlet distributions move with their concentrations.",
           ">>> torch._dirichlet_grad(torch.tensor([0.5]), torch.tensor([1.]), "
           "torch.tensor([2.]))\ntensor([0.6931])");
}

void define_normal(Registry& ops) {
  add<entr>(ops, {"special_entr(Tensor self) -> Tensor", "-x log(x), 0 at 0 and -inf below.",
                  ">>> torch.special.entr(torch.tensor([0., 1.]))\ntensor([0., -0.])"});
  add<to_float<Pointwise::kErfcx>>(ops,
                                   {"special_erfcx(Tensor self) -> Tensor", "exp(x**2) * erfc(x).",
                                    ">>> torch.special.erfcx(torch.tensor([0.]))\ntensor([1.])"});
  add<ndtr>(ops, {"special_ndtr(Tensor self) -> Tensor",
                  "The distribution function of the standard normal distribution.",
                  ">>> torch.special.ndtr(torch.tensor([0.]))\ntensor([0.5000])"});
  add<log_ndtr>(ops, {"special_log_ndtr(Tensor self) -> Tensor", "The logarithm of `ndtr`.",
                      ">>> torch.special.log_ndtr(torch.tensor([0.]))\ntensor([-0.6931])"});
  add<to_float<Pointwise::kNdtri>>(
      ops, {"special_ndtri(Tensor self) -> Tensor", "The inverse of `ndtr`.",
            ">>> torch.special.ndtri(torch.tensor([0.25]))\ntensor([-0.6745])"});
  ops.define<xlog1py>("special_xlog1py(Operand self, Operand other) -> Tensor")
      .variants(kOutVariant)
      .function_only()
      .doc("self * log1p(other), and 0 where `self` is 0.",
           ">>> torch.special.xlog1py(torch.tensor([0.]), torch.tensor([-1.]))\ntensor([0.])");
}

template <Pointwise kFunction>
void add_polynomial(Registry& ops,
                    const char* name,
                    const char* sentence,
                    const char* value,
                    Location location = Location::here()) {
  const std::string schema = std::string("special_") + name + "(Operand x, Operand n) -> Tensor";
  const std::string example = std::string(">>> torch.special.") + name +
                              "(torch.tensor([0.5]), 2)\ntensor([" + value + "])";
  ops.define<binary_float<kFunction>>(schema, location)
      .variants(kOutVariant)
      .function_only()
      .not_differentiable()
      .doc(sentence, example);
}

void define_polynomials(Registry& ops) {
  using P = Pointwise;
  add_polynomial<P::kChebyshevT>(ops, "chebyshev_polynomial_t",
                                 "The Chebyshev polynomial of the first kind, of degree `n`.",
                                 "-0.5000");
  add_polynomial<P::kChebyshevU>(ops, "chebyshev_polynomial_u",
                                 "The Chebyshev polynomial of the second kind, of degree `n`.",
                                 "0.");
  add_polynomial<P::kChebyshevV>(ops, "chebyshev_polynomial_v",
                                 "The Chebyshev polynomial of the third kind, of degree `n`.",
                                 "-1.");
  add_polynomial<P::kChebyshevW>(ops, "chebyshev_polynomial_w",
                                 "The Chebyshev polynomial of the fourth kind, of degree `n`.",
                                 "1.");
  add_polynomial<P::kShiftedChebyshevT>(ops, "shifted_chebyshev_polynomial_t",
                                        "`chebyshev_polynomial_t` of 2 x - 1.", "-1.");
  add_polynomial<P::kShiftedChebyshevU>(ops, "shifted_chebyshev_polynomial_u",
                                        "`chebyshev_polynomial_u` of 2 x - 1.", "-1.");
  add_polynomial<P::kShiftedChebyshevV>(ops, "shifted_chebyshev_polynomial_v",
                                        "`chebyshev_polynomial_v` of 2 x - 1.", "-1.");
  add_polynomial<P::kShiftedChebyshevW>(ops, "shifted_chebyshev_polynomial_w",
                                        "`chebyshev_polynomial_w` of 2 x - 1.", "-1.");
  add_polynomial<P::kHermiteH>(ops, "hermite_polynomial_h",
                               "The physicist's Hermite polynomial of degree `n`.", "-1.");
  add_polynomial<P::kHermiteHe>(ops, "hermite_polynomial_he",
                                "The probabilist's Hermite polynomial of degree `n`.", "-0.7500");
  add_polynomial<P::kLaguerreL>(ops, "laguerre_polynomial_l",
                                "The Laguerre polynomial of degree `n`.", "0.1250");
  add_polynomial<P::kLegendreP>(ops, "legendre_polynomial_p",
                                "The Legendre polynomial of degree `n`.", "-0.1250");
}

}  // namespace

void define_special(Registry& ops) {
  define_bessel(ops);
  define_gamma(ops);
  define_normal(ops);
  define_polynomials(ops);
}

}  // namespace mindtorch::ops
