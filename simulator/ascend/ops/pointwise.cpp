// What all element-wise ops have in common.
#include "simulator/ascend/ops/pointwise.h"

namespace sim {
namespace {

DType result_dtype(Result rule, DType compute) {
  switch (rule) {
    case Result::kFloat:
    case Result::kQuotient:
      return category(compute) <= Category::kInteger ? ACL_FLOAT : compute;
    case Result::kBool:
      return ACL_BOOL;
    case Result::kReal:
      if (compute == ACL_COMPLEX128) return ACL_DOUBLE;
      if (compute == ACL_COMPLEX32) return ACL_FLOAT16;
      return compute == ACL_COMPLEX64 ? ACL_FLOAT : compute;
    default:
      return compute;
  }
}

// What out may be. Whole numbers and bool hold no results of functions that give fractions; what
// floats go into may also come out of the op; bits and flags are stored as anything.
Types out_types(Result rule, Types types) {
  if (rule == Result::kFloat) return kF | kF64 | (types & kC);
  const bool numbers = rule == Result::kSame || rule == Result::kQuotient;
  return numbers && (types & (kF | kF64)) != 0 ? types : kAll;
}

// The numbers that a comparison meets are those of the floating dtype it is made in; all integers
// are themselves there.
void round_numbers(std::span<const Arg> args, DType compute, std::vector<Source>& sources) {
  if (category(compute) != Category::kFloating) return;
  for (size_t k = 0; k < args.size(); ++k) {
    if (args[k].kind != Arg::kScalar) continue;
    aclScalar given = sources[k].scalar;
    sources[k].scalar.dtype = compute;
    cast_elements(contiguous_view(sources[k].scalar.bytes.data(), compute, {}),
                  contiguous_view(given.bytes.data(), given.dtype, {}));
  }
}

}  // namespace

void run_elementwise(Planner& p,
                     const Operand& out,
                     DType compute,
                     DType result,
                     std::vector<Source> sources,
                     Elementwise f) {
  if (out.numel() == 0) return;
  const bool convert = result != out.dtype();
  const int64_t bytes = out.numel() * static_cast<int64_t>(item_bytes(result));
  const uint64_t at = convert ? p.workspace(bytes) : 0;
  p.run([=, sources = std::move(sources), f = std::move(f)](Launch& launch) {
    const View& target = get(launch, out);
    const View direct =
        convert ? contiguous_view(launch.workspace(at), result, target.shape) : target;
    std::vector<View> in;
    for (const Source& source : sources) in.push_back(source.view(launch));
    f(compute, direct, in.data());
    if (convert) cast_elements(target, direct);
  });
}

aclnnStatus elementwise(const char* op,
                        Types types,
                        Result rule,
                        std::span<const Arg> args,
                        Out out,
                        const Elementwise& f,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    std::vector<Source> sources(args.size());
    Shape shape;
    std::string names;
    DType compute = ACL_DT_UNDEFINED;
    for (size_t k = 0; k < args.size(); ++k) {
      const Arg& arg = args[k];
      if (arg.kind == Arg::kScalar || arg.kind == Arg::kFactor) {
        sources[k].scalar = p.scalar(arg.scalar, arg.name);
        continue;
      }
      const Types own = arg.types != 0 ? arg.types : types;
      const Types allowed = arg.kind == Arg::kMask ? kBool | kU8 : own;
      sources[k].operand = k == 0 && out.name == nullptr ? p.inout(arg.tensor, arg.name, allowed)
                                                         : p.input(arg.tensor, arg.name, allowed);
      names += (names.empty() ? "" : " and ") + std::string(arg.name);
      shape = p.broadcast(shape, sources[k].operand.shape(), names.c_str());
      if (arg.kind == Arg::kMask) continue;
      const DType dtype = sources[k].operand.dtype();
      const DType met = compute == ACL_DT_UNDEFINED ? dtype : promote(compute, dtype);
      p.check(met != ACL_DT_UNDEFINED, names + " have dtypes that do not promote: " +
                                           dtype_name(compute) + " and " + dtype_name(dtype));
      compute = met;
    }
    const DType tensors = compute;
    for (size_t k = 0; k < args.size(); ++k) {
      if (args[k].kind == Arg::kScalar) {
        compute = promote_scalar(compute, sources[k].scalar.dtype);
      }
    }
    const Operand target = out.name == nullptr
                               ? sources[0].operand
                               : p.output(out.tensor, out.name, out_types(rule, types));
    const DType result = result_dtype(rule, compute);
    p.check_shape(target, shape);
    if (rule != Result::kBool) {
      p.check_cast(rule == Result::kQuotient && tensors != ACL_DT_UNDEFINED ? tensors : result,
                   target);
    }
    if (rule == Result::kBool) round_numbers(args, compute, sources);
    run_elementwise(p, target, compute, result, sources, f);
  });
}

}  // namespace sim
