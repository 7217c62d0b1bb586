// Tensors filled with values that no other tensor gives.
#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

void fill(const View& out, const aclScalar& value) {
  cast_elements(out, contiguous_view(const_cast<char*>(value.bytes.data()), value.dtype, {}));
}

aclnnStatus fill_with(const char* op,
                      const aclTensor* self,
                      Types types,
                      int64_t value,
                      uint64_t* workspace_size,
                      aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand out = p.output(self, "selfRef", types);
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      int64_t source = value;
      cast_elements(get(launch, out), contiguous_view(&source, ACL_INT64, {}));
    });
  });
}

// out[i] = start + i * step, computed in out's own arithmetic: whole numbers count in whole steps
// from a whole start.
void fill_steps(const View& out, const aclScalar& start, const aclScalar& step) {
  const bool integers = category(out.dtype) <= Category::kInteger;
  const int64_t n = out.numel();
  for (int64_t i = 0; i < n; ++i) {
    if (integers) {
      const int64_t value = add(start.integer(), mul(i, step.integer()));
      store(out, i, 1, &value);
    } else {
      const double value = start.real() + static_cast<double>(i) * step.real();
      store(out, i, 1, &value);
    }
  }
}

struct Range {
  double first;
  double last;
  double step;

  // How many numbers it has.
  int64_t count(bool inclusive) const {
    const double span = (last - first) / step;
    return static_cast<int64_t>(inclusive ? std::floor(span) + 1 : std::ceil(span));
  }
};

aclnnStatus steps(const char* op,
                  const aclScalar* start,
                  const aclScalar* end,
                  const aclScalar* step,
                  const aclTensor* out,
                  bool inclusive,
                  uint64_t* workspace_size,
                  aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const aclScalar first = p.scalar(start, "start");
    const aclScalar last = p.scalar(end, "end");
    const aclScalar by = p.scalar(step, "step");
    const Operand target = p.output(out, "out", kF | kF64 | kI32 | kI64);
    const bool integers = category(target.dtype()) <= Category::kInteger;
    const Range given{first.real(), last.real(), by.real()};
    const Range range =
        integers ? Range{std::trunc(given.first), std::trunc(given.last), std::trunc(given.step)}
                 : given;
    p.check(range.step != 0, integers ? "step is 0 as an integer" : "step is 0");
    p.check((range.last - range.first) / range.step >= 0,
            "start, end and step do not agree in direction");
    // Callers count integers by the numbers as they are, or by those that they become.
    const int64_t size = range.count(inclusive);
    p.check(target.numel() == size || target.numel() == given.count(inclusive),
            "out has " + std::to_string(target.numel()) + " elements, expected are " +
                std::to_string(size));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) { fill_steps(get(launch, target), first, by); });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(InplaceOne, const aclTensor* selfRef) {
  return fill_with("aclnnInplaceOne", selfRef, kF | kI | kF64 | kBool | only(ACL_UINT16), 1,
                   workspaceSize, executor);
}
SIM_SIGNATURE(InplaceZero, aclTensor* selfRef) {
  return fill_with("aclnnInplaceZero", selfRef, kAll, 0, workspaceSize, executor);
}
SIM_SIGNATURE(InplaceFillScalar, aclTensor* selfRef, const aclScalar* value) {
  return plan("aclnnInplaceFillScalar", workspaceSize, executor, [&](Planner& p) {
    const Operand out = p.output(selfRef, "selfRef", kAll);
    const aclScalar source = p.scalar(value, "value");
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) { fill(get(launch, out), source); });
  });
}
SIM_SIGNATURE(InplaceFillTensor, aclTensor* selfRef, const aclTensor* value) {
  return plan("aclnnInplaceFillTensor", workspaceSize, executor, [&](Planner& p) {
    const Operand out = p.output(selfRef, "selfRef", kAll);
    const Operand source = p.input(value, "value", kAll);
    p.check(source.numel() == 1 && source.rank() <= 1, "value must have one element");
    if (out.numel() == 0) return;
    p.run(
        [=](Launch& launch) { cast_elements(get(launch, out), get(launch, source).reshape({})); });
  });
}
SIM_SIGNATURE(InplaceFillDiagonal, aclTensor* selfRef, const aclScalar* fillValue, bool wrap) {
  return plan("aclnnInplaceFillDiagonal", workspaceSize, executor, [&](Planner& p) {
    const Operand out = p.inout(selfRef, "selfRef", kAll & ~kC);
    const aclScalar source = p.scalar(fillValue, "fillValue");
    p.check_rank(out, 2, 8);
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      View view = get(launch, out);
      const int64_t size = *std::min_element(view.shape.begin(), view.shape.end());
      int64_t step = 0;
      for (const int64_t stride : view.strides) step += stride;
      for (int64_t i = 0;; ++i) {
        const bool inside = i < size || (wrap && view.rank() == 2);
        if (!inside) break;
        // A tall matrix starts again one row below the square.
        const int64_t row = view.rank() == 2 ? i + i / view.size(1) : i;
        if (view.rank() == 2 && row >= view.size(0)) break;
        View one = view;
        const int64_t at =
            view.rank() == 2 ? row * view.stride(0) + i % view.size(1) * view.stride(1) : i * step;
        one.data += at * view.item();
        one.shape = one.strides = {};
        fill(one, source);
      }
    });
  });
}
SIM_SIGNATURE(
    Arange, const aclScalar* start, const aclScalar* end, const aclScalar* step, aclTensor* out) {
  return steps("aclnnArange", start, end, step, out, false, workspaceSize, executor);
}
SIM_SIGNATURE(
    Range, const aclScalar* start, const aclScalar* end, const aclScalar* step, aclTensor* out) {
  return steps("aclnnRange", start, end, step, out, true, workspaceSize, executor);
}
SIM_SIGNATURE(
    Linspace, const aclScalar* start, const aclScalar* end, int64_t steps, aclTensor* out) {
  return plan("aclnnLinspace", workspaceSize, executor, [&](Planner& p) {
    const double first = p.scalar(start, "start").real();
    const double last = p.scalar(end, "end").real();
    const Operand target = p.output(out, "out", kF | kI | kF64 | kBool);
    p.check(steps >= 0, "steps is negative");
    p.check(target.numel() == steps, "out must have `steps` elements");
    if (steps == 0) return;
    p.run([=](Launch& launch) {
      const View& view = get(launch, target);
      const double by = steps > 1 ? (last - first) / static_cast<double>(steps - 1) : 0;
      for (int64_t i = 0; i < steps; ++i) {
        const double value = i < steps / 2 || steps == 1
                                 ? first + by * static_cast<double>(i)
                                 : last - by * static_cast<double>(steps - 1 - i);
        store(view, i, 1, &value);
      }
    });
  });
}
SIM_SIGNATURE(Eye, int64_t n, int64_t m, aclTensor* out) {
  return plan("aclnnEye", workspaceSize, executor, [&](Planner& p) {
    const Operand target = p.output(out, "out", kF | kI | kBool);
    p.check(n >= 0 && m >= 0, "n or m is negative");
    p.check_shape(target, {n, m});
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& view = get(launch, target);
      for (int64_t i = 0; i < n * m; ++i) {
        const int64_t value = i / m == i % m ? 1 : 0;
        store(view, i, 1, &value);
      }
    });
  });
}
}
