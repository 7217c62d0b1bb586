#pragma once

#include <limits>

#include "mindtorch/base/macros.h"
#include "mindtorch/ops/pointwise.h"

// Special functions of single numbers, in float64: what the host evaluates and the CPU's tiles call
// where there is no vector form. Out of a function's domain they give torch's NaN, infinity or
// zero.
namespace mindtorch::ops::special {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

double digamma(double x);
double erfcx(double x);  // exp(x * x) * erfc(x)
double ndtri(double p);  // the inverse of the normal distribution function

double bessel_i0(double x);
double bessel_i0e(double x);  // times exp(-|x|)
double bessel_i1(double x);
double bessel_i1e(double x);
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_k0(double x);
double bessel_k0e(double x);  // times exp(x)
double bessel_k1(double x);
double bessel_k1e(double x);
double bessel_y0(double x);
double bessel_y1(double x);
double airy_ai(double x);

double zeta(double s, double q);     // Hurwitz's: the sum of (q + k) ** -s
double igamma(double a, double x);   // the lower incomplete gamma function over gamma(a)
double igammac(double a, double x);  // the upper one

// How a sample of a gamma distribution moves with its shape, when its place in the distribution
// stays: -(d cdf / d alpha) / pdf.
double standard_gamma_grad(double alpha, double sample);
// The same of a beta distribution of shapes alpha and total - alpha, over 1 - sample.
double dirichlet_grad(double sample, double alpha, double total);

// Polynomials of degree n, a whole number; zero below 0.
double chebyshev_t(double x, double n);
double chebyshev_u(double x, double n);
double chebyshev_v(double x, double n);
double chebyshev_w(double x, double n);
double shifted_chebyshev_t(double x, double n);
double shifted_chebyshev_u(double x, double n);
double shifted_chebyshev_v(double x, double n);
double shifted_chebyshev_w(double x, double n);
double hermite_h(double x, double n);
double hermite_he(double x, double n);
double laguerre_l(double x, double n);
double legendre_p(double x, double n);

// One of the above and the function it is, in the member for its number of operands. The number is
// stated: with GCC's sanitizers no comparison of a function's address is a constant expression.
struct NumberFunction {
  constexpr NumberFunction(Pointwise function, double (*of)(double))
      : function(function), operands(1), of_one(of) {}
  constexpr NumberFunction(Pointwise function, double (*of)(double, double))
      : function(function), operands(2), of_two(of) {}
  constexpr NumberFunction(Pointwise function, double (*of)(double, double, double))
      : function(function), operands(3), of_three(of) {}

  Pointwise function;
  int operands;
  double (*of_one)(double) = nullptr;
  double (*of_two)(double, double) = nullptr;
  double (*of_three)(double, double, double) = nullptr;
};
inline constexpr NumberFunction kNumberFunctions[] = {
    {Pointwise::kErfcx, erfcx},
    {Pointwise::kNdtri, ndtri},
    {Pointwise::kBesselI0, bessel_i0},
    {Pointwise::kBesselI0e, bessel_i0e},
    {Pointwise::kBesselI1, bessel_i1},
    {Pointwise::kBesselI1e, bessel_i1e},
    {Pointwise::kBesselJ0, bessel_j0},
    {Pointwise::kBesselJ1, bessel_j1},
    {Pointwise::kBesselK0, bessel_k0},
    {Pointwise::kBesselK0e, bessel_k0e},
    {Pointwise::kBesselK1, bessel_k1},
    {Pointwise::kBesselK1e, bessel_k1e},
    {Pointwise::kBesselY0, bessel_y0},
    {Pointwise::kBesselY1, bessel_y1},
    {Pointwise::kAiryAi, airy_ai},
    {Pointwise::kZeta, zeta},
    {Pointwise::kIgamma, igamma},
    {Pointwise::kIgammac, igammac},
    {Pointwise::kStandardGammaGrad, standard_gamma_grad},
    {Pointwise::kDirichletGrad, dirichlet_grad},
    {Pointwise::kChebyshevT, chebyshev_t},
    {Pointwise::kChebyshevU, chebyshev_u},
    {Pointwise::kChebyshevV, chebyshev_v},
    {Pointwise::kChebyshevW, chebyshev_w},
    {Pointwise::kShiftedChebyshevT, shifted_chebyshev_t},
    {Pointwise::kShiftedChebyshevU, shifted_chebyshev_u},
    {Pointwise::kShiftedChebyshevV, shifted_chebyshev_v},
    {Pointwise::kShiftedChebyshevW, shifted_chebyshev_w},
    {Pointwise::kHermiteH, hermite_h},
    {Pointwise::kHermiteHe, hermite_he},
    {Pointwise::kLaguerreL, laguerre_l},
    {Pointwise::kLegendreP, legendre_p},
};

}  // namespace mindtorch::ops::special
