#include "mindtorch/dispatch/eager/out_arguments.h"

#include <algorithm>

namespace mindtorch::dispatch {

using ops::Args;
using ops::ArgType;
using ops::Op;

namespace {

// zeros, arange, rand: what makes a tensor on a device.
bool is_factory(const Op& op) {
  return std::ranges::any_of(op.schema.params, [](const ops::Param& param) {
    return param.keyword_only && param.type == ArgType::kDevice;
  });
}

// What zeros(..., out=) makes is what out is: dtype= and device= may say the same, no more.
Args make_like(const Tensor& out, const Op& base, Args args, OutArguments& fitted) {
  fitted.values.assign(args.begin(), args.end());
  for (size_t i = 0; i < args.size(); ++i) {
    const ops::Param& param = base.schema.params[i];
    if (!param.keyword_only) continue;
    if (param.type == ArgType::kDType) {
      MT_CHECK(args[i].is_none() || args[i].dtype() == out.dtype(), RuntimeError, "dtype ",
               legacy_name(args[i].dtype()), " does not match dtype of out parameter (",
               legacy_name(out.dtype()), ")");
      fitted.values[i] = ops::Value(out.dtype());
    } else if (param.type == ArgType::kDevice) {
      MT_CHECK(args[i].is_none() || args[i].device().type == out.device().type, RuntimeError,
               "device type ", name(args[i].device().type),
               " does not match device type of out parameter (", name(out.device().type), ")");
      fitted.values[i] = ops::Value(out.device());
    }
  }
  return {fitted.values.data(), fitted.values.size()};
}

// The first argument in the shape it has together with out=.
Args broadcast_with(const Tensor& out, Args args, OutArguments& fitted) {
  const Tensor& first = args[0].tensor();
  const Shape sizes = broadcast_shapes(first.sizes(), out.sizes());
  fitted.broadcast = first.alias(sizes, broadcast_strides(first.sizes(), first.strides(), sizes),
                                 first.storage_offset());
  fitted.values.assign(args.begin(), args.end());
  fitted.values[0] = ops::Value(fitted.broadcast);
  return {fitted.values.data(), fitted.values.size()};
}

}  // namespace

Args accumulate_in_dtype_of(const Tensor& self, const Op& base, Args args, OutArguments& fitted) {
  if (base.accumulates_in == ops::AccumulateIn::kOwnDType) return args;
  if (base.accumulates_in == ops::AccumulateIn::kOutDTypeOfFloats &&
      !(is_floating_point(self.dtype()) && is_floating_point(args[0].tensor().dtype()))) {
    return args;
  }
  fitted.values.assign(args.begin(), args.end());
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_dtype = base.schema.params[i].type == ArgType::kDType;
    if (is_dtype && args[i].is_none()) fitted.values[i] = ops::Value(self.dtype());
  }
  return {fitted.values.data(), fitted.values.size()};
}

Args fit_to_out(const Tensor& out, const Op& base, Args args, OutArguments& fitted) {
  if (base.kind == ops::OpKind::kPointwise) return args;
  if (is_factory(base)) return make_like(out, base, args, fitted);
  if (base.broadcasts_with_out) return broadcast_with(out, args, fitted);
  return accumulate_in_dtype_of(out, base, args, fitted);
}

}  // namespace mindtorch::dispatch
