#include "mindtorch/base/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

namespace mindtorch {

DynamicLibrary DynamicLibrary::open(const std::string& name) {
  DynamicLibrary library;
  library.handle_ = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library.handle_ == nullptr) {
    const char* reason = dlerror();
    library.error_ = reason != nullptr ? reason : "unknown error";
  }
  return library;
}

std::string DynamicLibrary::path() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr)
    return "";
  return map->l_name;
}

void* DynamicLibrary::symbol(const char* name) const noexcept {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

std::string own_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace mindtorch
