#include "mindtorch/dispatch/eager/out_dtype.h"

#include <algorithm>
#include <string_view>

#include "mindtorch/ops/dtype_limits.h"

namespace mindtorch::dispatch {

using ops::Args;
using ops::Op;
using ops::TargetDType;
using ops::TargetTrait;

namespace {

bool gives_dtype(const Op& base, Args args) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (base.schema.params[i].type == ops::ArgType::kDType && !args[i].is_none()) return true;
  }
  return false;
}

bool accepts(TargetDType accepted, DType result, DType target) {
  switch (accepted) {
    case TargetDType::kSame:
      return result == target;
    case TargetDType::kCast:
    case TargetDType::kCastUnlessGiven:
      return can_cast(result, target);
    case TargetDType::kBoolOrByte:
      return target == DType::kBool || target == DType::kUInt8;
    case TargetDType::kFloating:
      return is_differentiable(target);
  }
  return false;
}

std::string_view usual_refusal(TargetDType accepted) {
  return accepted == TargetDType::kSame
             ? "Expected out tensor to have dtype $r, but got $o instead"
             : "result type $R can't be cast to the desired output type $O";
}

std::string_view flag_text(const Op& base, Args args, std::string_view name) {
  const auto param = std::ranges::find(base.schema.params, name, &ops::Param::name);
  return args[static_cast<size_t>(param - base.schema.params.begin())].to_bool() ? "True" : "False";
}

// TargetTrait says what stands for what.
std::string fill_in(std::string_view text, const Op& base, Args args, DType result, DType target) {
  std::string filled;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      filled += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'R':
        filled += legacy_name(result);
        break;
      case 'O':
        filled += legacy_name(target);
        break;
      case 'r':
        filled += ops::limits(result).type_name;
        break;
      case 'o':
        filled += ops::limits(target).type_name;
        break;
      case '{': {
        const size_t end = text.find('}', i);
        filled += flag_text(base, args, text.substr(i + 1, end - i - 1));
        i = end;
        break;
      }
      default:
        MT_ASSERT(false);
    }
  }
  return filled;
}

void check(const Op& base, const TargetTrait& trait, Args args, DType result, DType target) {
  TargetDType accepted = trait.accepts;
  std::string_view text = trait.refusal;
  if (accepted == TargetDType::kCastUnlessGiven && gives_dtype(base, args)) {
    accepted = TargetDType::kSame;
    text = {};
  }
  if (accepts(accepted, result, target)) return;
  const std::string refusal =
      fill_in(text.empty() ? usual_refusal(accepted) : text, base, args, result, target);
  MT_CHECK(!base.joins, TypeError, refusal);
  MT_THROW(RuntimeError, refusal);
}

}  // namespace

void check_out_dtype(const Op& base, Args args, DType result, const Tensor& out) {
  check(base, base.out, args, result, out.dtype());
}

void check_inplace_dtype(const Op& base, Args args, DType result, const Tensor& self) {
  check(base, base.inplace, args, result, self.dtype());
}

}  // namespace mindtorch::dispatch
