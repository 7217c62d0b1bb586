#include "mindtorch/dispatch/eager/out_forms.h"

#include <algorithm>
#include <string_view>

#include "mindtorch/ops/registry.h"

namespace mindtorch::dispatch {

bool keeps_shape_of_out(const ops::Op& base, const ops::TensorSpec& spec, const Tensor& out) {
  constexpr std::string_view kNames[] = {"arange", "range", "linspace", "logspace"};
  return spec.sizes.size() == 1 && out.numel() == spec.sizes[0] && out.sizes() != spec.sizes &&
         std::find(std::begin(kNames), std::end(kNames), base.schema.name) != std::end(kNames);
}

Tensor shown_with_out(const ops::Op& base, ops::Args args, const Tensor& out) {
  if (base.schema.name != "normal" || base.schema.overload != "Tensor_float") return Tensor();
  const Tensor& mean = args[0].tensor();
  const Shape sizes = broadcast_shapes(mean.sizes(), out.sizes());
  return mean.alias(sizes, broadcast_strides(mean.sizes(), mean.strides(), sizes),
                    mean.storage_offset());
}

std::optional<DrawInPlace> draw_in_place(const ops::Op& base, ops::Args args, const Tensor& out) {
  const std::string_view name = base.schema.name;
  const bool is_range = name == "randint";
  if ((name != "rand" && name != "randn" && !is_range) || out.is_contiguous()) return std::nullopt;
  const auto generator = std::find_if(base.schema.params.begin(), base.schema.params.end(),
                                      [](const ops::Param& p) { return p.name == "generator"; });
  const ops::Value& drawn_by = args[static_cast<size_t>(generator - base.schema.params.begin())];
  if (!is_range) {
    return DrawInPlace{&ops::registry().at(name == "rand" ? "uniform_" : "normal_"),
                       {ops::Value(0.0), ops::Value(1.0), drawn_by}};
  }
  const bool has_low = base.schema.overload == "low";
  const ops::Value low = has_low ? args[0] : ops::Value(int64_t{0});
  return DrawInPlace{&ops::registry().at("random_.from"), {low, args[has_low ? 1 : 0], drawn_by}};
}

}  // namespace mindtorch::dispatch
