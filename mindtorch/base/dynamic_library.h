#pragma once

#include <string>

#include "mindtorch/base/macros.h"

namespace mindtorch {

// A shared library opened at run time. Never closed: vendor libraries do not survive it. Copies
// mean the same library.
class MT_API DynamicLibrary {
 public:
  DynamicLibrary() = default;
  // Not open on failure; error() says why. The name of a file, or a path.
  static DynamicLibrary open(const std::string& name);

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  const std::string& error() const noexcept { return error_; }
  // Where the file lies that was opened; empty when the loader does not say.
  std::string path() const;
  // Null when the library and what it depends on have no such symbol.
  void* symbol(const char* name) const noexcept;

 private:
  void* handle_ = nullptr;
  std::string error_;
};

// The folder this library itself was loaded from.
MT_API std::string own_folder();

}  // namespace mindtorch
