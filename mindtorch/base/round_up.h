#pragma once

#include <cstddef>

namespace mindtorch {

// To a multiple of `unit`.
constexpr size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace mindtorch
