// Elements chosen by masks.
#include "simulator/ascend/ops/indexing.h"

using namespace sim;

namespace {

aclnnStatus nonzero(const char* op,
                    const aclTensor* self,
                    const aclTensor* out,
                    bool transposed,
                    uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAll & ~kC);
    const Operand target = p.output(out, "out", kI64);
    p.check_rank(target, 2, 2);
    const int64_t rank = in.rank();
    // Of a tensor without dims nothing is written, however many elements out is made for.
    if (rank == 0 && target.numel() == 0) return;
    p.check_shape(target, transposed ? Shape{rank, in.numel()} : Shape{in.numel(), rank});
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& from = get(launch, in);
      std::vector<int64_t> hits;
      with_real(from.dtype, [&](auto zero) {
        const auto values = load_all<decltype(zero)>(from);
        for (size_t i = 0; i < values.size(); ++i) {
          if (values[i] != decltype(zero){}) hits.push_back(static_cast<int64_t>(i));
        }
      });
      const auto n = static_cast<int64_t>(hits.size());
      const Shape shape = transposed ? Shape{rank, n} : Shape{n, rank};
      const View to = contiguous_view(get(launch, target).data, ACL_INT64, shape);
      for (int64_t i = 0; i < n; ++i) {
        int64_t rest = hits[static_cast<size_t>(i)];
        for (int64_t d = rank; d-- > 0;) {
          const int64_t place = rest % from.size(d);
          rest /= from.size(d);
          store(to, transposed ? d * n + i : i * rank + d, 1, &place);
        }
      }
      launch.set_shape(static_cast<size_t>(target.slot), shape);
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(MaskedSelect, const aclTensor* self, const aclTensor* mask, aclTensor* out) {
  return plan("aclnnMaskedSelect", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAll & ~kC);
    const Operand hit = p.input(mask, "mask", kBool | kU8);
    const Operand target = p.output(out, "out", kAll & ~kC);
    check_same_dtype(p, target, in);
    p.check_rank(target, 1, 1);
    const Shape shape = p.broadcast(in.shape(), hit.shape(), "self and mask");
    p.check(target.numel() >= count(shape),
            "out must have room for " + std::to_string(count(shape)) + " elements");
    if (count(shape) == 0) return;
    p.run([=](Launch& launch) {
      const View from = get(launch, in).expand(shape);
      const View hits = get(launch, hit).expand(shape);
      char* to = get(launch, target).data;
      const auto item = static_cast<size_t>(from.item());
      Cursor value(from);
      Cursor flag(hits);
      int64_t n = 0;
      for (int64_t i = 0; i < count(shape); ++i, value.next(), flag.next()) {
        if (*flag.get() == 0) continue;
        std::memcpy(to + n++ * from.item(), value.get(), item);
      }
      launch.set_shape(static_cast<size_t>(target.slot), {n});
    });
  });
}

SIM_SIGNATURE(InplaceMaskedScatter,
              aclTensor* selfRef,
              const aclTensor* mask,
              const aclTensor* source) {
  return plan("aclnnInplaceMaskedScatter", workspaceSize, executor, [&](Planner& p) {
    const Operand self = p.inout(selfRef, "selfRef", kAll & ~kC);
    const Operand hit = p.input(mask, "mask", kBool | kU8);
    const Operand from = p.input(source, "source", kAll & ~kC);
    check_same_dtype(p, from, self);
    p.check_shape(self, p.broadcast(self.shape(), hit.shape(), "selfRef and mask"));
    if (self.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& to = get(launch, self);
      const View hits = get(launch, hit).expand(to.shape);
      const View& values = get(launch, from);
      Cursor value(to);
      Cursor flag(hits);
      int64_t n = 0;
      for (int64_t i = 0; i < to.numel(); ++i, value.next(), flag.next()) {
        if (*flag.get() == 0) continue;
        if (n == values.numel()) throw DeviceFault{507015, "source has too few elements"};
        std::memcpy(value.get(), values.data + n++ * to.item(), static_cast<size_t>(to.item()));
      }
    });
  });
}

SIM_SIGNATURE(Nonzero, const aclTensor* self, aclTensor* out) {
  return nonzero("aclnnNonzero", self, out, false, workspaceSize, executor);
}

SIM_SIGNATURE(NonzeroV2, const aclTensor* self, aclTensor* out) {
  return nonzero("aclnnNonzeroV2", self, out, true, workspaceSize, executor);
}
}
