#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "mindtorch/base/macros.h"

namespace mindtorch {

// The base of every exception this library throws. Each subclass becomes the Python class of the
// same name; bindings/interpreter/errors.cpp is the one translator.
class MT_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;

  const char* what() const noexcept override {
    return extended_.empty() ? std::runtime_error::what() : extended_.c_str();
  }
  // Adds context on the way up.
  void append(const std::string& text) { extended_ = what() + text; }

 private:
  std::string extended_;
};

class MT_API RuntimeError : public Error {
 public:
  using Error::Error;
};
class MT_API ValueError : public Error {
 public:
  using Error::Error;
};
class MT_API TypeError : public Error {
 public:
  using Error::Error;
};
class MT_API IndexError : public Error {
 public:
  using Error::Error;
};
class MT_API NotImplementedError : public Error {
 public:
  using Error::Error;
};
class MT_API OutOfMemoryError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
};

namespace detail {

template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return std::move(text).str();
}

[[noreturn]] MT_API void assertion_failed(const char* condition, const char* file, int line);

}  // namespace detail

// Throws `Class` with the parts joined into one text. Kept out of line of the caller's fast path.
#define MT_THROW(Class, ...) throw ::mindtorch::Class(::mindtorch::detail::concat(__VA_ARGS__))

// For what a user can cause.
#define MT_CHECK(condition, Class, ...)                          \
  do {                                                           \
    if (MT_UNLIKELY(!(condition))) MT_THROW(Class, __VA_ARGS__); \
  } while (false)

// For what only a bug of ours can cause.
#define MT_ASSERT(condition)                                                 \
  do {                                                                       \
    if (MT_UNLIKELY(!(condition)))                                           \
      ::mindtorch::detail::assertion_failed(#condition, __FILE__, __LINE__); \
  } while (false)

}  // namespace mindtorch
