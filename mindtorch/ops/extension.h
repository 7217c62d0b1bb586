#pragma once

// Ops, or a device, that another shared library brings along: the header that such a library
// includes, and the function that loads it.
//
//   MINDTORCH_LIBRARY(gated, ops) {
//     ops.define<swiglu>("swiglu(Tensor self, Tensor gate) -> Tensor").variants(kInplaceAndOut);
//   }
//
//   MINDTORCH_DEVICE(toy, device) {
//     device.driver = std::make_unique<ToyDriver>();
//     device.ops.kernel<mm>(device.type, "mm").takes(bit(DType::kFloat32));
//   }

#include <memory>
#include <string>

#include "mindtorch/driver/driver.h"
#include "mindtorch/ops/functions/declare.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::ops {

// The ops of one library, under the name it gave itself.
struct OpLibrary {
  std::string name;
  Registry ops;
};

// A device of a library: how it is reached, and what it has for mindtorch's ops.
struct DeviceLibrary {
  const DeviceType type;
  Registry& ops;
  std::unique_ptr<driver::DeviceDriver> driver{};
};

// Loads a shared library and defines its ops and its device; the same one again where it is loaded
// already. Throws where the file cannot be opened, brings neither, or what it defines is refused:
// then nothing is defined. What is loaded stays until the process ends. Safe to call while other
// threads run ops.
MT_API const OpLibrary& load_library(const std::string& path);

}  // namespace mindtorch::ops

// Begins the function that defines a library's ops in `registry`; once in each library.
#define MINDTORCH_LIBRARY(library_name, registry)                                           \
  static void mindtorch_define_ops_of_##library_name(::mindtorch::ops::Registry& registry); \
  extern "C" MT_API void mindtorch_define_ops(::mindtorch::ops::OpLibrary& library) {       \
    library.name = #library_name;                                                           \
    mindtorch_define_ops_of_##library_name(library.ops);                                    \
  }                                                                                         \
  static void mindtorch_define_ops_of_##library_name(::mindtorch::ops::Registry& registry)

// Begins the function that describes a library's device; once in each library.
#define MINDTORCH_DEVICE(device_name, device)                                                 \
  static void mindtorch_define_device_##device_name(::mindtorch::ops::DeviceLibrary& device); \
  extern "C" MT_API void mindtorch_define_device(::mindtorch::ops::DeviceLibrary& device) {   \
    mindtorch_define_device_##device_name(device);                                            \
  }                                                                                           \
  static void mindtorch_define_device_##device_name(::mindtorch::ops::DeviceLibrary& device)
