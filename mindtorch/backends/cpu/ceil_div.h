#pragma once

#include <type_traits>

namespace mindtorch::cpu {

// Blocks of b that hold a. Always inline: one copy may not serve all instruction sets.
template <typename A, typename B>
[[gnu::always_inline]] constexpr std::common_type_t<A, B> ceil_div(A a, B b) {
  const std::common_type_t<A, B> size = b;
  return (a + size - 1) / size;
}

}  // namespace mindtorch::cpu
