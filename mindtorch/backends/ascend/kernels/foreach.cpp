// Ops over lists of tensors: CANN's Foreach ops, or a launch for each tensor where it has none.
#include "mindtorch/backends/ascend/kernels/foreach.h"

#include <algorithm>

#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"
#include "mindtorch/backends/ascend/kernels/pointwise.h"
#include "mindtorch/ops/list_operands.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::ascend {
namespace {

using ops::Pointwise;

// How many tensors CANN takes in one list.
constexpr size_t kMaxList = 256;

std::span<Tensor> list_of(Tensor& first, size_t count) { return {&first, count}; }

bool is_plain(const Tensor& tensor, const Tensor& out) {
  return tensor.is_contiguous() && tensor.dtype() == out.dtype() && tensor.sizes() == out.sizes() &&
         tensor.device() == out.device();
}

// A pointwise function on lists, as far as CANN has it.
class ListCall {
 public:
  ListCall(TensorList outs, const ops::ListOperands& operands, const ops::PointwiseCall& call)
      : outs_(outs), operands_(operands), call_(call) {
    const bool takes_dtype = outs[0].dtype() == call.compute && (bit(call.compute) & kFloats) != 0;
    is_plain_ = takes_dtype && std::ranges::all_of(outs, [&](const Tensor& out) {
                  return out.is_contiguous() && out.dtype() == outs[0].dtype() && out.numel() > 0;
                });
    for (size_t k = 0; is_plain_ && k < operands.arity(); ++k) {
      // A number that all tensors share.
      const Tensor& first = operands.at(k, 0);
      const bool is_number = operands.list(k).size() == 1 && first.dim() == 0 &&
                             (outs.size() > 1 || outs[0].dim() > 0);
      if (is_number) {
        numbers_[k] = &first;
        is_plain_ = first.device().is_cpu() || first.dtype() == call.compute;
      }
      for (size_t i = 0; !is_number && is_plain_ && i < outs.size(); ++i) {
        is_plain_ = operands.list(k).size() == outs.size() &&
                    mindtorch::ascend::is_plain(operands.at(k, i), outs[i]);
      }
    }
  }

  bool run(ops::Launch& on) const;

 private:
  bool is_list(size_t operand) const { return numbers_[operand] == nullptr; }
  TypedScalar number(const Scalar& value) const {
    // Numbers of 16-bit floats are float32.
    return typed(value, ops::is_half(call_.compute) ? DType::kFloat32 : call_.compute);
  }
  TypedScalar operand_number(size_t k) const {
    return number(read_element(numbers_[k]->data_ptr(), numbers_[k]->dtype()));
  }
  TypedScalar param() const { return number(Scalar(call_.params.f[0])); }
  // Parts of the lists that CANN takes, with the function of a part.
  template <typename Part>
  bool in_parts(const Part& part) const {
    for (size_t at = 0; at < outs_.size(); at += kMaxList) {
      const size_t count = std::min(kMaxList, outs_.size() - at);
      const auto list = [&](size_t k) { return TensorList(operands_.list(k).subspan(at, count)); };
      part(list, TensorList(outs_.subspan(at, count)));
    }
    return true;
  }
  template <class Op>
  bool unary(ops::Launch& on, const Op& op) const {
    return in_parts([&](const auto& list, TensorList out) { call(on, op, list(0), out); });
  }
  bool is_host_number(size_t operand) const {
    return !is_list(operand) && numbers_[operand]->device().is_cpu();
  }
  template <class Lists, class Number>
  bool binary(ops::Launch& on, const Lists& lists, const Number& number) const {
    if (!is_list(0) || !(is_list(1) || is_host_number(1))) return false;
    return in_parts([&](const auto& list, TensorList out) {
      if (is_list(1)) {
        call(on, lists, list(0), list(1), out);
      } else {
        call(on, number, list(0), operand_number(1), out);
      }
    });
  }
  // With a number that the device has.
  template <class Op>
  bool with_tensor(ops::Launch& on, const Op& op) const {
    return in_parts([&](const auto& list, TensorList out) {
      call(on, op, list(0), numbers_[1]->alias({1}, {1}, numbers_[1]->storage_offset()), out);
    });
  }
  bool has_device_number() const { return is_list(0) && !is_list(1) && !is_host_number(1); }
  // a + p0 * b, of lists or with a number
  template <class Lists, class Number>
  bool scaled(ops::Launch& on, const Lists& lists, const Number& number, TypedScalar alpha) const {
    if (!is_list(0) || !(is_list(1) || is_host_number(1))) return false;
    return in_parts([&](const auto& list, TensorList out) {
      if (is_list(1)) {
        call(on, lists, list(0), list(1), alpha, out);
      } else {
        call(on, number, list(0), operand_number(1), out);
      }
    });
  }
  template <class Op>
  bool with_param(ops::Launch& on, const Op& op) const {
    return in_parts([&](const auto& list, TensorList out) { call(on, op, list(0), param(), out); });
  }
  template <class Op>
  bool ternary(ops::Launch& on, const Op& op) const {
    if (!is_list(0) || !is_list(1) || !is_list(2)) return false;
    return in_parts([&](const auto& list, TensorList out) {
      call(on, op, list(0), list(1), list(2), param(), out);
    });
  }

  const TensorList outs_;
  const ops::ListOperands& operands_;
  const ops::PointwiseCall& call_;
  bool is_plain_ = false;
  const Tensor* numbers_[ops::kMaxOperands] = {};
};

// False: not as a list.
bool ListCall::run(ops::Launch& on) const {
  if (!is_plain_) return false;
  const TypedScalar one = number(Scalar(1.0));
  switch (call_.function) {
#define MT_FOREACH(function, op) \
  case Pointwise::function:      \
    return unary(on, MT_ACLNN(op));
    MT_FOREACH(kAbs, aclnnForeachAbs)
    MT_FOREACH(kAcos, aclnnForeachAcos)
    MT_FOREACH(kAsin, aclnnForeachAsin)
    MT_FOREACH(kAtan, aclnnForeachAtan)
    MT_FOREACH(kCos, aclnnForeachCos)
    MT_FOREACH(kCosh, aclnnForeachCosh)
    MT_FOREACH(kErf, aclnnForeachErf)
    MT_FOREACH(kErfc, aclnnForeachErfc)
    MT_FOREACH(kExp, aclnnForeachExp)
    MT_FOREACH(kExpm1, aclnnForeachExpm1)
    MT_FOREACH(kLog, aclnnForeachLog)
    MT_FOREACH(kLog10, aclnnForeachLog10)
    MT_FOREACH(kLog1p, aclnnForeachLog1p)
    MT_FOREACH(kLog2, aclnnForeachLog2)
    MT_FOREACH(kNeg, aclnnForeachNeg)
    MT_FOREACH(kReciprocal, aclnnForeachReciprocal)
    MT_FOREACH(kSigmoid, aclnnForeachSigmoid)
    MT_FOREACH(kSign, aclnnForeachSign)
    MT_FOREACH(kSin, aclnnForeachSin)
    MT_FOREACH(kSinh, aclnnForeachSinh)
    MT_FOREACH(kSqrt, aclnnForeachSqrt)
    MT_FOREACH(kTan, aclnnForeachTan)
    MT_FOREACH(kTanh, aclnnForeachTanh)
#undef MT_FOREACH
    case Pointwise::kMul:
      if (has_device_number()) return with_tensor(on, MT_ACLNN(aclnnForeachMulScalar));
      return binary(on, MT_ACLNN(aclnnForeachMulList), MT_ACLNN(aclnnForeachMulScalarV2));
    case Pointwise::kDiv:
      if (has_device_number()) return with_tensor(on, MT_ACLNN(aclnnForeachDivScalar));
      return binary(on, MT_ACLNN(aclnnForeachDivList), MT_ACLNN(aclnnForeachDivScalarV2));
    case Pointwise::kMaximum:
      return binary(on, MT_ACLNN(aclnnForeachMaximumList), MT_ACLNN(aclnnForeachMaximumScalarV2));
    case Pointwise::kMinimum:
      return binary(on, MT_ACLNN(aclnnForeachMinimumList), MT_ACLNN(aclnnForeachMinimumScalarV2));
    case Pointwise::kPow:
      return binary(on, MT_ACLNN(aclnnForeachPowList), MT_ACLNN(aclnnForeachPowScalarV2));
    case Pointwise::kAdd:
      return scaled(on, MT_ACLNN(aclnnForeachAddListV2), MT_ACLNN(aclnnForeachAddScalarV2), one);
    case Pointwise::kSub:
      return scaled(on, MT_ACLNN(aclnnForeachSubListV2), MT_ACLNN(aclnnForeachSubScalarV2), one);
    case Pointwise::kAddScaled:
      return is_list(1) && scaled(on, MT_ACLNN(aclnnForeachAddListV2),
                                  MT_ACLNN(aclnnForeachAddScalarV2), param());
    case Pointwise::kPowScalar:
      return with_param(on, MT_ACLNN(aclnnForeachPowScalarV2));
    case Pointwise::kClampMinScalar:
      return with_param(on, MT_ACLNN(aclnnForeachMaximumScalarV2));
    case Pointwise::kClampMaxScalar:
      return with_param(on, MT_ACLNN(aclnnForeachMinimumScalarV2));
    case Pointwise::kAddcmul:
      return ternary(on, MT_ACLNN(aclnnForeachAddcmulScalarV2));
    case Pointwise::kAddcdiv:
      return ternary(on, MT_ACLNN(aclnnForeachAddcdivScalarV2));
    case Pointwise::kLerpScalar:
      if (!is_list(0) || !is_list(1)) return false;
      return in_parts([&](const auto& list, TensorList out) {
        call(on, MT_ACLNN(aclnnForeachLerpScalar), list(0), list(1), param(), out);
      });
    case Pointwise::kLerp:
      if (!is_list(0) || !is_list(1) || !is_list(2)) return false;
      return in_parts([&](const auto& list, TensorList out) {
        call(on, MT_ACLNN(aclnnForeachLerpList), list(0), list(1), list(2), out);
      });
    default:
      return false;
  }
}

void run_list(ops::Launch& on,
              TensorList outs,
              const ops::ListOperands& operands,
              ops::PointwiseCall call,
              int64_t unrounded,
              std::initializer_list<Scalar> params) {
  call.unrounded = static_cast<int8_t>(unrounded);
  int index = 0;
  for (const Scalar& param : params) call.param(index++, param);
  if (ListCall(outs, operands, call).run(on)) return;
  for (size_t i = 0; i < outs.size(); ++i) {
    ops::PointwiseCall one = call;
    operands.add_to(one, i);
    if (outs[i].numel() > 0) run_pointwise(on, one, outs[i]);
  }
}

void pointwise_list(ops::Launch& on,
                    TensorList a,
                    TensorList b,
                    TensorList c,
                    int64_t function,
                    int64_t compute,
                    int64_t result,
                    int64_t unrounded,
                    const Scalar& p0,
                    const Scalar& p1,
                    const Scalar& p2,
                    Tensor& first) {
  const auto pointwise = static_cast<Pointwise>(function);
  const ops::ListOperands operands(pointwise, a, b, c);
  run_list(on, list_of(first, operands.size()), operands,
           {pointwise, static_cast<DType>(compute), static_cast<DType>(result)}, unrounded,
           {p0, p1, p2});
}

void pointwise_list_(ops::Launch& on,
                     TensorList self,
                     TensorList a,
                     TensorList b,
                     TensorList c,
                     int64_t function,
                     int64_t compute,
                     int64_t unrounded,
                     const Scalar& p0,
                     const Scalar& p1,
                     const Scalar& p2) {
  const auto pointwise = static_cast<Pointwise>(function);
  run_list(on, self, {pointwise, a, b, c},
           {pointwise, static_cast<DType>(compute), self[0].dtype()}, unrounded, {p0, p1, p2});
}

void copy_list_(ops::Launch& on, TensorList self, TensorList src) {
  bool plain = (bit(self[0].dtype()) & kAny) != 0;
  for (size_t i = 0; i < self.size(); ++i) {
    plain = plain && self[i].numel() > 0 && self[i].dtype() == self[0].dtype() &&
            self[i].is_contiguous() && is_plain(src[i], self[i]);
  }
  for (size_t at = 0; plain && at < self.size(); at += kMaxList) {
    const size_t count = std::min(kMaxList, self.size() - at);
    call(on, MT_ACLNN(aclnnForeachCopy), TensorList(src.subspan(at, count)),
         TensorList(self.subspan(at, count)));
  }
  for (size_t i = 0; !plain && i < self.size(); ++i) {
    if (self[i].numel() > 0) call(on, MT_ACLNN(aclnnInplaceCopy), self[i], src[i]);
  }
}

void zero_list_(ops::Launch& on, TensorList self) {
  const bool plain = std::ranges::all_of(self, [&](const Tensor& tensor) {
    return tensor.is_contiguous() && tensor.numel() > 0 && tensor.dtype() == self[0].dtype() &&
           (bit(tensor.dtype()) & (kFloats | kI32)) != 0;
  });
  for (size_t at = 0; plain && at < self.size(); at += kMaxList) {
    const size_t count = std::min(kMaxList, self.size() - at);
    call(on, MT_ACLNN(aclnnForeachZeroInplace), TensorList(self.subspan(at, count)));
  }
  for (size_t i = 0; !plain && i < self.size(); ++i) {
    if (self[i].numel() > 0) call(on, MT_ACLNN(aclnnInplaceZero), self[i]);
  }
}

void norm_list(ops::Launch& on, TensorList self, const Scalar& ord, Tensor& first) {
  const std::span<Tensor> outs = list_of(first, self.size());
  for (size_t at = 0; at < self.size(); at += kMaxList) {
    const size_t count = std::min(kMaxList, self.size() - at);
    call(on, MT_ACLNN(aclnnForeachNorm), TensorList(self.subspan(at, count)),
         typed(ord, DType::kFloat32), TensorList(outs.subspan(at, count)));
  }
}

}  // namespace

void run_on_lists(ops::Launch& on,
                  Pointwise function,
                  TensorList outs,
                  std::initializer_list<TensorList> operands,
                  double param) {
  const DType dtype = outs[0].dtype();
  TensorList lists[3];
  std::ranges::copy(operands, lists);
  run_list(on, outs, {function, lists[0], lists[1], lists[2]}, {function, dtype, dtype}, -1,
           {Scalar(param)});
}

void copy_lists(ops::Launch& on, TensorList from, TensorList to) { copy_list_(on, to, from); }

void register_foreach(ops::Registry& registry) {
  registry.kernel<pointwise_list>(DeviceType::kNpu, "_pointwise_list");
  registry.kernel<pointwise_list_>(DeviceType::kNpu, "_pointwise_list_");
  registry.kernel<copy_list_>(DeviceType::kNpu, "_copy_list_").takes(kAnyOrComplex);
  registry.kernel<zero_list_>(DeviceType::kNpu, "_zero_list_").takes(kAnyOrComplex);
  registry.kernel<norm_list>(DeviceType::kNpu, "_norm_list").takes(kFloats);
}

}  // namespace mindtorch::ascend
