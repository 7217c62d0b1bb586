#pragma once

#include "simulator/ascend/ops/rows.h"

namespace sim {

inline constexpr Types kReal = kF | kI | kF64 | kBool;

// out = f(values of a line), computed in `compute`; the results of all lines gather in the
// workspace, from where they are stored as out's dtype.
template <class With, class F>
void reduce(
    Planner& p, const Operand& in, const Lines& lines, const Operand& out, DType compute, F f) {
  if (out.numel() == 0) return;
  const uint64_t at = p.workspace(lines.rows * 16);
  p.run([=](Launch& launch) {
    With::with(compute, [&](auto zero) {
      using C = decltype(zero);
      auto* const results = reinterpret_cast<C*>(launch.workspace(at));
      for_lines<C>(get(launch, in), lines, [&](int64_t row, const std::vector<C>& values) {
        results[row] = static_cast<C>(f(values));
      });
      store(get(launch, out), 0, lines.rows, results);
    });
  });
}

// An op with dims given as a list.
template <class With, class F>
aclnnStatus reduce_dims(const char* op,
                        const aclTensor* self,
                        const aclIntArray* dims,
                        const char* dims_name,
                        bool keep,
                        DType dtype,
                        const aclTensor* out,
                        Types types,
                        Types out_types,
                        F f,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor,
                        bool empty_is_all = true,
                        bool needs_elements = false) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", types);
    const std::vector<int64_t> over = p.array(dims, dims_name);
    const Operand target = p.output(out, "out", out_types);
    const Lines lines = lines_of(p, in.shape(), over, dims_name, empty_is_all);
    check_reduced(p, lines, keep, target);
    p.check(!needs_elements || lines.length > 0 || target.numel() == 0,
            "self has no elements along " + std::string(dims_name));
    // Sums and the like are made in the dtype asked for, comparisons in self's own.
    const DType compute = dtype == ACL_DT_UNDEFINED ? in.dtype() : dtype;
    reduce<With>(p, in, lines, target, compute, f);
  });
}

struct Largest {
  template <class C>
  C operator()(const std::vector<C>& values) const {
    C result = values[0];
    for (const C value : values) result = larger(result, value);
    return result;
  }
};
struct Smallest {
  template <class C>
  C operator()(const std::vector<C>& values) const {
    C result = values[0];
    for (const C value : values) result = smaller(result, value);
    return result;
  }
};

// Two results of the same lines.
template <class With, class F, class G>
aclnnStatus reduce_pair(const char* op,
                        const aclTensor* self,
                        const std::vector<int64_t>& dims,
                        const aclIntArray* list,
                        bool keep,
                        const aclTensor* first,
                        const char* first_name,
                        const aclTensor* second,
                        const char* second_name,
                        Types types,
                        F f,
                        G g,
                        bool listed,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor,
                        bool needs_elements = true) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", types);
    const std::vector<int64_t> over = listed ? p.array(list, "dim") : dims;
    const Operand one = p.output(first, first_name, types);
    const Operand two = p.output(second, second_name, types);
    const Lines lines = lines_of(p, in.shape(), over, "dim");
    check_reduced(p, lines, keep, one);
    check_reduced(p, lines, keep, two);
    if (one.numel() == 0) return;
    p.check(lines.length > 0 || !needs_elements, "self has no elements along dim");
    const uint64_t at = p.workspace(lines.rows * 8);
    p.run([=](Launch& launch) {
      const auto loop = [&](auto zero) {
        using C = decltype(zero);
        auto* const results = reinterpret_cast<C*>(launch.workspace(at));
        for_lines<C>(get(launch, in), lines, [&](int64_t row, const std::vector<C>& line) {
          results[row] = static_cast<C>(f(line));
          const C other = static_cast<C>(g(line));
          store(get(launch, two), row, 1, &other);
        });
        store(get(launch, one), 0, lines.rows, results);
      };
      With::with(in.dtype(), loop);
    });
  });
}

}  // namespace sim
