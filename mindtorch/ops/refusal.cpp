#include "mindtorch/ops/refusal.h"

#include "mindtorch/ops/functions.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::ops {
namespace {

// "it takes int64, float32"
std::string taken(DTypeSet dtypes) {
  std::string text = "it takes ";
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!contains(dtypes, dtype)) continue;
    if (!text.ends_with(' ')) text += ", ";
    text += name(dtype);
  }
  return text;
}

[[noreturn]] void refuse_as_torch(std::string_view kernel, DType dtype) {
  MT_THROW(NotImplementedError, "\"", kernel, "\" not implemented for '", legacy_name(dtype), "'");
}

}  // namespace

void refuse(std::string_view op,
            Device device,
            std::optional<DType> dtype,
            std::string_view reason,
            std::string_view chip) {
  MT_THROW(NotImplementedError, "Could not run '", op, "' on device ", resolve(device).str(),
           chip.empty() ? "" : ", ", chip, dtype ? " for torch." : "", dtype ? name(*dtype) : "",
           ": ", reason);
}

void refuse_kernel(const Op& op, Device device, const Tensor* typed) {
  refuse(op.schema.full_name(), device,
         typed == nullptr ? std::nullopt : std::optional(typed->dtype()),
         device.is_meta() ? "its output shape depends on the data" : "there is no kernel for it");
}

void refuse_dtype(const Op& op, Device device, DType dtype) {
  const Kernel& kernel = op.kernel(device.type);
  if (device.is_cpu()) {
    refuse_as_torch(kernel.torch_name != nullptr ? kernel.torch_name : op.schema.name, dtype);
  }
  refuse(op.schema.full_name(), device, dtype, taken(kernel.takes),
         contains(kernel.not_on_chip, dtype) ? kernel.chip : "");
}

void check_device_dtype(const Op& op, Device device, DType dtype) {
  const DTypeSet held = registry().device_dtypes(device.type);
  if (contains(held, dtype)) return;
  refuse(op.schema.full_name(), device, dtype, taken(held),
         registry().chip_without(device.type, dtype));
}

void refuse_dtype(Pointwise function, DType dtype) {
  refuse_as_torch(function_info(function).torch_kernel, dtype);
}

}  // namespace mindtorch::ops
