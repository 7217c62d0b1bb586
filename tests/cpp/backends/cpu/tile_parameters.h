#pragma once

#include <cmath>
#include <map>
#include <vector>

#include "mindtorch/ops/pointwise.h"

namespace mindtorch::cpu {

using ops::Pointwise;
using ops::PointwiseParams;

inline PointwiseParams make_params(double p0 = 0, double p1 = 0, double p2 = 0) {
  PointwiseParams params;
  const double values[3] = {p0, p1, p2};
  for (int i = 0; i < 3; ++i) {
    params.f[i] = values[i];
    params.i[i] = static_cast<int64_t>(values[i]);
  }
  return params;
}

// What functions with parameters are tried with. All else about a function is in its row.
inline const std::vector<PointwiseParams>& parameters_of(Pointwise function) {
  using P = Pointwise;
  static const std::map<Pointwise, std::vector<PointwiseParams>> list = {
      {P::kAddScaled, {make_params(3)}},
      {P::kRoundDecimals, {make_params(2), make_params(-2)}},
      {P::kNanToNum, {make_params(1.5, 7, -9)}},
      {P::kPowScalar,
       {make_params(0), make_params(1), make_params(3), make_params(10), make_params(0.3),
        make_params(-2.5), make_params(INFINITY)}},
      {P::kLogit, {make_params(-1), make_params(0.125, 0.875)}},
      {P::kElu, {make_params(1.25, 1.5, 1)}},
      {P::kLeakyRelu, {make_params(0.125)}},
      {P::kSoftplus, {make_params(1, 20), make_params(2, 20)}},
      {P::kHardshrink, {make_params(0.5)}},
      {P::kSoftshrink, {make_params(0.5)}},
      {P::kThreshold, {make_params(1, 5)}},
      {P::kClampScalar,
       {make_params(1, 3), make_params(3, 1), make_params(NAN, 1), make_params(1, NAN)}},
      {P::kClampMinScalar, {make_params(2), make_params(NAN)}},
      {P::kClampMaxScalar, {make_params(2), make_params(NAN)}},
      {P::kLerpScalar, {make_params(0.25), make_params(0.75)}},
      {P::kAddcmul, {make_params(3)}},
      {P::kAddcdiv, {make_params(3)}},
  };
  static const std::vector<PointwiseParams> none = {{}};
  const auto found = list.find(function);
  return found == list.end() ? none : found->second;
}

}  // namespace mindtorch::cpu
