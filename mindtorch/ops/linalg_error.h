#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "mindtorch/base/error.h"

namespace mindtorch {

// The numbers in a matrix do not allow what was asked: it is singular, not positive-definite, or an
// algorithm does not converge.
class MT_API LinAlgError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
};

namespace ops {

// Throws torch's error for the first info of LAPACK that is not 0. `api_name` begins the message
// and says what was computed; nothing is checked without one. `is_batch`: the message names the
// matrix.
MT_API void check_linalg_infos(std::span<const int32_t> infos,
                               std::optional<std::string_view> api_name,
                               bool is_batch);

}  // namespace ops
}  // namespace mindtorch
