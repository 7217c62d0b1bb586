#pragma once

#include <cstdint>
#include <span>

#include "mindtorch/ops/functions.h"

namespace mindtorch::ops {

// The value of a function for single numbers, on the host, straight from its expression. Every step
// is rounded to Real: float, double or long double. Truth is 1 or 0.
template <typename Real>
MT_API Real evaluate(Pointwise function,
                     std::span<const Real> operands,
                     const PointwiseParams& params);

// The same for integers and bool. Results wrap around as the dtype does; division by zero gives 0.
MT_API int64_t evaluate_integer(Pointwise function,
                                DType dtype,
                                std::span<const int64_t> operands,
                                const PointwiseParams& params);

}  // namespace mindtorch::ops
