#include "mindtorch/ops/extension.h"

#include <map>
#include <memory>
#include <mutex>

#include "mindtorch/base/dynamic_library.h"
#include "mindtorch/base/error.h"

namespace mindtorch::ops {

const OpLibrary& load_library(const std::string& path) {
  using DefineOps = void (*)(OpLibrary&);
  static std::mutex mutex;
  // By what they define, which is one address for each library, whatever path it was opened by.
  static auto& loaded = *new std::map<DefineOps, std::unique_ptr<const OpLibrary>>;
  registry();  // ops of a library may be run before any other
  const DynamicLibrary library = DynamicLibrary::open(path);
  MT_CHECK(library, RuntimeError, "Could not load the library ", path, ": ", library.error());
  const auto define = reinterpret_cast<DefineOps>(library.symbol("mindtorch_define_ops"));
  MT_CHECK(define != nullptr, RuntimeError, "The library ", path,
           " defines no ops: it has no MINDTORCH_LIBRARY");
  const std::lock_guard lock(mutex);
  std::unique_ptr<const OpLibrary>& known = loaded[define];
  if (known == nullptr) {
    auto made = std::make_unique<OpLibrary>();
    define(*made);
    known = std::move(made);
  }
  return *known;
}

}  // namespace mindtorch::ops
