#pragma once

namespace mindtorch {

// Where in our sources something was declared. Made by the compiler's builtins because Clang 14
// has no usable std::source_location.
struct Location {
  const char* file = "";
  int line = 0;

  static constexpr Location here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace mindtorch
