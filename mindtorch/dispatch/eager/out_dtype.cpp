#include "mindtorch/dispatch/eager/out_dtype.h"

#include <algorithm>
#include <string_view>

#include "mindtorch/dispatch/eager/write_checks.h"
#include "mindtorch/ops/dtype_limits.h"

namespace mindtorch::dispatch {

using ops::Args;
using ops::Op;

namespace {

bool lists(std::string_view names, std::string_view name) {
  for (size_t at = 0; at < names.size();) {
    const size_t end = std::min(names.find(' ', at), names.size());
    if (names.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

// In each text, $R stands for the result's dtype and $O for that of out=, as torch names them
// (Float); $r and $o as C++ does (float); $n for the op.
struct Refusal {
  std::string_view names;
  std::string_view text;
};

constexpr Refusal kPointwise[] = {
    {"abs bitwise_not ceil clamp clamp_max clamp_min floor frac gelu hardshrink "
     "lerp.Tensor neg round round.decimals sgn sign softplus softshrink trunc",
     "Found dtype $O but expected $R"},
    {"isneginf isposinf signbit", "$n does not support non-boolean outputs."},
    {"heaviside", "heaviside is not yet implemented for tensors with different dtypes."},
    {"nan_to_num", "nan_to_num: dtype of out: $O should be same as input: $R"},
    {"where.self", "Expected out type to be $R but got $O"},
    {"log_sigmoid", "expected scalar type $R but found $O"},
    {"float_power.Tensor_Tensor",
     "the output given to float_power has dtype $O but the operation's result requires dtype $R"},
};

constexpr Refusal kOthers[] = {
    {"amax amin",
     "Expected the dtype for input and out to match, but got $R for input's dtype and $O for out's "
     "dtype."},
    {"any.dims all.dims", "$n only supports bool tensor for result, got: $O"},
    {"cummax cummin logcumsumexp", "expected scalar_type $R but found $O"},
    {"dot vdot", "result dtype $O does not match input dtype $R"},
    {"mode", "expected scalar type '$R' but got '$O' for values output"},
    {"masked_select", "masked_select(): self and result must have the same scalar type"},
    {"take",
     "take(): self and out expected to have the same dtype, but got self.dtype = $R and out.dtype "
     "= $O"},
    {"narrow_copy",
     "Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error "
     "message be improved?  If so, please report an enhancement request to PyTorch.)"},
    {"nonzero", "nonzero: Expected out tensor to have scalar type $R but got scalar type$O"},
    {"multinomial", "multinomial expects Long tensor out, got: $O"},
    {"inner",
     "tensordot: Expected the output tensor to have dtype $R, but got an output tensor with dtype "
     "$O"},
    {"addbmm", "self and mat2 must have the same dtype, but got $O and $R"},
};

// Ops that cast into out=, besides those made of other ops.
constexpr std::string_view kCasting = "sum nansum mean prod var std cumsum cumprod logsumexp cat";
// Ops made of other ops that do not.
constexpr std::string_view kExact =
    "cross diag isin linear matmul msort slice_scatter take_along_dim";
// Ops that join tensors.
constexpr std::string_view kJoining =
    "cat concat concatenate stack hstack vstack dstack row_stack column_stack";

std::string written_out(std::string_view text, const Op& base, DType result, DType out) {
  std::string written;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      written += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'R':
        written += legacy_name(result);
        break;
      case 'O':
        written += legacy_name(out);
        break;
      case 'r':
        written += ops::limits(result).type_name;
        break;
      case 'o':
        written += ops::limits(out).type_name;
        break;
      default:
        written += base.schema.name;
    }
  }
  return written;
}

template <size_t kCount>
void refuse_by(const Refusal (&refusals)[kCount],
               const Op& base,
               std::string_view name,
               DType result,
               DType out) {
  for (const Refusal& refusal : refusals) {
    if (!lists(refusal.names, name)) continue;
    MT_THROW(RuntimeError, written_out(refusal.text, base, result, out));
  }
}

bool names_dtype(const Op& base, Args args) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (base.schema.params[i].type == ops::ArgType::kDType && !args[i].is_none()) return true;
  }
  return false;
}

}  // namespace

bool is_factory(const Op& op) {
  return std::ranges::any_of(op.schema.params, [](const ops::Param& param) {
    return param.keyword_only && param.type == ops::ArgType::kDevice;
  });
}

void check_pointwise_dtype(const Op& base, DType result, const Tensor& target, bool is_out) {
  const std::string name = base.schema.full_name();
  if (is_out) refuse_by(kPointwise, base, name, result, target.dtype());
  MT_CHECK(is_out || base.schema.name != "float_power", RuntimeError,
           "the base given to float_power_ has dtype ", legacy_name(target.dtype()),
           " but the operation's result requires dtype Double");
  if (!is_out && lists("clamp clamp_max clamp_min", name)) {
    MT_CHECK(can_cast(result, target.dtype()), RuntimeError, "result type ", legacy_name(result),
             " can't be cast to the desired output type ", ops::limits(target.dtype()).type_name);
  }
  check_result_cast(result, target.dtype());
}

void check_inplace_dtype(const Op& base, DType result, const Tensor& self) {
  const bool is_cumulative = base.schema.name == "cumsum" || base.schema.name == "cumprod";
  MT_CHECK(!is_cumulative || result == self.dtype(), RuntimeError,
           "Bad in-place call: input tensor dtype ", ops::limits(self.dtype()).type_name,
           " and output tensor dtype ", ops::limits(result).type_name, " should match");
  check_result_cast(result, self.dtype());
}

void check_out_dtype(const Op& base, Args args, DType result, const Tensor& target) {
  const std::string& name = base.schema.name;
  const DType out = target.dtype();
  const bool is_truth = name == "any" || name == "all";
  if (is_truth && (out == DType::kUInt8 || out == DType::kBool)) return;
  refuse_by(kOthers, base, is_truth || name == "mode" ? base.schema.full_name() : name, result,
            out);
  MT_CHECK(name != "searchsorted" && name != "bucketize", RuntimeError,
           "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
           "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's "
           "dtype ",
           legacy_name(out), " and out_int32 flag is ", result == DType::kInt32 ? "True" : "False");
  if (lists(kJoining, name)) {
    MT_CHECK(can_cast(result, out), TypeError,
             "torch.cat(): input types can't be cast to the desired output type ",
             legacy_name(out));
    return;
  }
  if (name == "mean" && !names_dtype(base, args)) {
    MT_CHECK(can_cast(result, out), RuntimeError,
             "mean.dtype_out(): input types can't be cast to the desired output type ",
             legacy_name(out));
    return;
  }
  if (name == "logsumexp") {
    MT_CHECK(
        is_floating_point(out), RuntimeError,
        "logsumexp(): Expected floating point type for result tensor, but got: ", legacy_name(out));
    return;
  }
  const bool casts = !is_factory(base) && base.kind != ops::OpKind::kComposite
                         ? lists(kCasting, name) && !names_dtype(base, args)
                         : !lists(kExact, name);
  MT_CHECK(casts, RuntimeError, "Expected out tensor to have dtype ", ops::limits(result).type_name,
           ", but got ", ops::limits(out).type_name, " instead");
  check_result_cast(result, out);
}

}  // namespace mindtorch::dispatch
