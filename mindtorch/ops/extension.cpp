#include "mindtorch/ops/extension.h"

#include <map>
#include <memory>
#include <mutex>

#include "mindtorch/base/dynamic_library.h"
#include "mindtorch/base/error.h"
#include "mindtorch/runtime/accelerator.h"

namespace mindtorch::ops {
namespace {

using DefineOps = void (*)(OpLibrary&);
using DefineDevice = void (*)(DeviceLibrary&);

void forget_device(Registry& ops, DeviceType type) {
  for (const Op& op : ops.ops()) const_cast<Op&>(op).kernels[static_cast<int>(type)] = {};
  ops.pointwise_engine(type, nullptr);
  ops.fusion_engine(type, nullptr);
  ops.device_dtypes(type, kAnyType);
}

// Kernels first: there are no tensors of the device before it has a driver.
void add_device(DefineDevice define) {
  DeviceLibrary device{.type = DeviceType::kPrivateUse1, .ops = const_cast<Registry&>(registry())};
  const auto check_free = [&](std::string_view kind) {
    MT_CHECK(runtime::find_accelerator(kind) == nullptr, RuntimeError, "there is a device ", kind,
             " already");
  };
  check_free(name(device.type));  // there is room for one
  try {
    define(device);
    MT_CHECK(device.driver != nullptr, RuntimeError, "the library's device has no driver");
    check_free(device.driver->kind());
    name_private_device(device.driver->kind());
  } catch (...) {
    forget_device(device.ops, device.type);
    throw;
  }
  runtime::register_driver(std::move(device.driver));
}

}  // namespace

const OpLibrary& load_library(const std::string& path) {
  static std::mutex mutex;
  // By what they define, which is one address for each library, whatever path it was opened by.
  static auto& loaded = *new std::map<void*, std::unique_ptr<const OpLibrary>>;
  registry();  // ops of a library may be run before any other
  const DynamicLibrary library = DynamicLibrary::open(path);
  MT_CHECK(library, RuntimeError, "Could not load the library ", path, ": ", library.error());
  void* const define_ops = library.symbol("mindtorch_define_ops");
  void* const define_device = library.symbol("mindtorch_define_device");
  MT_CHECK(define_ops != nullptr || define_device != nullptr, RuntimeError, "The library ", path,
           " defines no ops: it has no MINDTORCH_LIBRARY, nor a MINDTORCH_DEVICE");
  const std::lock_guard lock(mutex);
  std::unique_ptr<const OpLibrary>& known =
      loaded[define_ops != nullptr ? define_ops : define_device];
  if (known == nullptr) {
    auto made = std::make_unique<OpLibrary>();
    if (define_ops != nullptr) reinterpret_cast<DefineOps>(define_ops)(*made);
    if (define_device != nullptr) add_device(reinterpret_cast<DefineDevice>(define_device));
    known = std::move(made);
  }
  return *known;
}

}  // namespace mindtorch::ops
