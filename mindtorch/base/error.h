#pragma once

#include <initializer_list>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>

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

// A part of a text: anything that can be written to a stream. The compiler makes one function for
// each type, not one for each list of types and each length of a literal: messages are written
// rarely, and there are many.
struct TextPart {
  const void* value;
  void (*write)(std::ostream& stream, const void* value);
};

MT_API void write_characters(std::ostream& stream, const void* characters);

template <typename T>
void write_value(std::ostream& stream, const void* value) {
  stream << *static_cast<const T*>(value);
}

template <typename T>
TextPart text_part(const T& part) {
  if constexpr (std::is_same_v<std::remove_extent_t<T>, char> && std::is_array_v<T>) {
    return {part, &write_characters};
  } else {
    return {std::addressof(part), &write_value<T>};
  }
}

MT_API std::string join(std::initializer_list<TextPart> parts);

template <typename... Parts>
std::string concat(const Parts&... parts) {
  return join({text_part(parts)...});
}

template <typename Class>
[[noreturn, gnu::cold, gnu::noinline]] void throw_joined(std::initializer_list<TextPart> parts) {
  throw Class(join(parts));
}

template <typename Class, typename... Parts>
[[noreturn, gnu::always_inline]] inline void throw_error(const Parts&... parts) {
  throw_joined<Class>({text_part(parts)...});
}

[[noreturn]] MT_API void assertion_failed(const char* condition, const char* file, int line);

}  // namespace detail

// Throws `Class` with the parts joined into one text. Kept out of line of the caller's fast path.
#define MT_THROW(Class, ...) ::mindtorch::detail::throw_error<::mindtorch::Class>(__VA_ARGS__)

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
