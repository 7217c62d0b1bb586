// Matrix products. Every dtype multiplies in float32.
#include "simulator/ascend/ops/fractal.h"
#include "simulator/ascend/ops/gemm.h"
#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

void check_math(Planner& p, int8_t mode, const Operand& self) {
  p.check(mode >= 0 && mode <= 4, "cubeMathType is " + std::to_string(mode));
  p.check(mode != 0 || self.dtype() != ACL_FLOAT || has_bfloat16(),
          "cubeMathType 0 does not take FLOAT on this SoC");
}

// out = beta * self + alpha * a @ b, for all matrices; `self` may be left out.
void run_product(Planner& p,
                 const Operand& a,
                 const FractalMatrix& b,
                 const Shape& a_shape,
                 const Shape& b_shape,
                 const Shape& full,
                 const Operand& out,
                 const Operand& self = {},
                 float beta = 0,
                 float alpha = 1) {
  if (out.numel() == 0) return;
  const uint64_t at = p.workspace(count(full) * 4);
  p.run([=](Launch& launch) {
    std::vector<char> plain;
    const View x = get(launch, a).reshape(a_shape);
    const View right = b.view(launch, &plain);
    const View y = b.blocked ? right : right.reshape(b_shape);
    const Shape batch(full.begin(), full.end() - 2);
    const int64_t m = full[full.size() - 2];
    const int64_t n = full.back();
    const int64_t k = a_shape.back();
    auto* const results = reinterpret_cast<float*>(launch.workspace(at));
    const bool added = self && beta != 0;
    if (added) {
      cast_elements(contiguous_view(results, ACL_FLOAT, full), get(launch, self).expand(full));
    }
    for (int64_t i = 0; i < count(batch); ++i) {
      const auto left_matrix = load_all<float>(matrix(x, batch, i));
      const auto right_matrix = load_all<float>(matrix(y, batch, i));
      float* const c = results + i * m * n;
      if (!added) std::fill(c, c + m * n, 0.0F);
      gemm(m, n, k, alpha, left_matrix.data(), right_matrix.data(), added ? beta : 0, c);
    }
    store(get(launch, out), 0, out.numel(), results);
  });
}

aclnnStatus product(const char* op,
                    const aclTensor* self,
                    const char* self_name,
                    const aclTensor* other,
                    const char* other_name,
                    const aclTensor* out,
                    int8_t mode,
                    int64_t rank,
                    uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand a = p.input(self, self_name, kF);
    const FractalMatrix matrix = fractal_input(p, other, other_name, kF);
    const Operand& b = matrix.operand;
    const Operand target = p.output(out, "out", kF);
    check_math(p, mode, a);
    Shape x = a.shape();
    Shape y = b.shape();
    if (rank > 0) {
      p.check_rank(a, rank, rank);
      p.check_rank(b, rank, rank);
    } else {
      p.check_rank(a, 1, 6);
      p.check_rank(b, 1, 6);
    }
    const bool row = x.size() == 1;
    const bool column = y.size() == 1;
    if (row) x.insert(x.begin(), 1);
    if (column) y.push_back(1);
    const std::string names = std::string(self_name) + " and " + other_name;
    const Shape full = product_shape(p, x, y, names.c_str());
    Shape expected = full;
    if (column) expected.pop_back();
    if (row) expected.erase(expected.end() - (column ? 1 : 2));
    p.check_shape(target, expected);
    run_product(p, a, matrix, x, y, full, target);
  });
}

aclnnStatus added_product(const char* op,
                          const aclTensor* self,
                          const aclTensor* first,
                          const char* first_name,
                          const aclTensor* second,
                          const char* second_name,
                          const aclScalar* beta,
                          const aclScalar* alpha,
                          const aclTensor* out,
                          bool in_place,
                          int8_t mode,
                          int64_t rank,
                          uint64_t* workspace_size,
                          aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand start = in_place ? p.inout(self, "selfRef", kF) : p.input(self, "self", kF);
    const Operand a = p.input(first, first_name, kF);
    const FractalMatrix matrix = fractal_input(p, second, second_name, kF);
    const Operand& b = matrix.operand;
    const auto by = static_cast<float>(p.scalar(beta, "beta").real());
    const auto times = static_cast<float>(p.scalar(alpha, "alpha").real());
    const Operand target = in_place ? start : p.output(out, "out", kF);
    check_math(p, mode, a);
    p.check_rank(a, rank, rank);
    p.check_rank(b, rank, rank);
    const std::string names = std::string(first_name) + " and " + second_name;
    const Shape full = product_shape(p, a.shape(), b.shape(), names.c_str());
    p.check_shape(target, p.broadcast(start.shape(), full, "self and the product"));
    p.check_shape(target, full);
    run_product(p, a, matrix, a.shape(), b.shape(), full, target, start, by, times);
  });
}

// The sum of all products of a batch, on top of self.
aclnnStatus addbmm(const char* op,
                   const aclTensor* self,
                   const aclTensor* first,
                   const aclTensor* second,
                   const aclScalar* beta,
                   const aclScalar* alpha,
                   const aclTensor* out,
                   bool in_place,
                   int8_t mode,
                   uint64_t* workspace_size,
                   aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand start = in_place ? p.inout(self, "selfRef", kF) : p.input(self, "self", kF);
    const Operand a = p.input(first, "batch1", kF);
    const Operand b = p.input(second, "batch2", kF);
    const auto by = static_cast<float>(p.scalar(beta, "beta").real());
    const auto times = static_cast<float>(p.scalar(alpha, "alpha").real());
    const Operand target = in_place ? start : p.output(out, "out", kF);
    check_math(p, mode, a);
    p.check_rank(a, 3, 3);
    p.check_rank(b, 3, 3);
    const Shape full = product_shape(p, a.shape(), b.shape(), "batch1 and batch2");
    const Shape shape{full[1], full[2]};
    p.check_shape(target, p.broadcast(start.shape(), shape, "self and the product"));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      std::vector<float> sum(static_cast<size_t>(count(shape)));
      if (by != 0) load(get(launch, start).expand(shape), 0, count(shape), sum.data());
      for (float& value : sum) value *= by;
      for (int64_t i = 0; i < full[0]; ++i) {
        const auto part = multiply(get(launch, a).select(0, i), get(launch, b).select(0, i));
        for (size_t k = 0; k < sum.size(); ++k) sum[k] += times * part[k];
      }
      store_all(get(launch, target), sum);
    });
  });
}

// BLAS knows no integers.
template <class C>
std::vector<C> times_vector(const View& matrix, const View& vector) {
  if constexpr (std::is_floating_point_v<C>) {
    return multiply<C>(matrix, vector.reshape({vector.numel(), 1}));
  } else {
    const auto b = load_all<C>(vector);
    std::vector<C> result(static_cast<size_t>(matrix.size(0)));
    for_rows<C>(matrix, 1, [&](int64_t row, const std::vector<C>& line) {
      C& sum = result[static_cast<size_t>(row)];
      for (size_t i = 0; i < b.size(); ++i) sum = add(sum, mul(line[i], b[i]));
    });
    return result;
  }
}

}  // namespace

extern "C" {

SIM_SIGNATURE(
    Matmul, const aclTensor* self, const aclTensor* mat2, aclTensor* out, int8_t cubeMathType) {
  return product("aclnnMatmul", self, "self", mat2, "mat2", out, cubeMathType, 0, workspaceSize,
                 executor);
}
SIM_SIGNATURE(
    Mm, const aclTensor* self, const aclTensor* mat2, aclTensor* out, int8_t cubeMathType) {
  return product("aclnnMm", self, "self", mat2, "mat2", out, cubeMathType, 2, workspaceSize,
                 executor);
}
SIM_SIGNATURE(BatchMatMul,
              const aclTensor* self,
              const aclTensor* mat2,
              aclTensor* out,
              int8_t cubeMathType) {
  return product("aclnnBatchMatMul", self, "self", mat2, "mat2", out, cubeMathType, 3,
                 workspaceSize, executor);
}
SIM_SIGNATURE(
    Mv, const aclTensor* self, const aclTensor* vec, aclTensor* out, int8_t cubeMathType) {
  return plan("aclnnMv", workspaceSize, executor, [&](Planner& p) {
    const Operand a = p.input(self, "self", kF);
    const Operand b = p.input(vec, "vec", kF);
    const Operand target = p.output(out, "out", kF);
    check_math(p, cubeMathType, a);
    p.check_rank(a, 2, 2);
    p.check_rank(b, 1, 1);
    const Shape y{b.numel(), 1};
    const Shape full = product_shape(p, a.shape(), y, "self and vec");
    p.check_shape(target, {full[0]});
    run_product(p, a, {b}, a.shape(), y, full, target);
  });
}
SIM_SIGNATURE(Addmv,
              const aclTensor* self,
              const aclTensor* mat,
              const aclTensor* vec,
              const aclScalar* alpha,
              const aclScalar* beta,
              aclTensor* out,
              int8_t cubeMathType) {
  return plan("aclnnAddmv", workspaceSize, executor, [&](Planner& p) {
    const Types types = kF | kI | kF64 | kBool;
    const Operand start = p.input(self, "self", types);
    const Operand a = p.input(mat, "mat", types);
    const Operand b = p.input(vec, "vec", types);
    const double times = p.scalar(alpha, "alpha").real();
    const double by = p.scalar(beta, "beta").real();
    const Operand target = p.output(out, "out", types);
    if (contains(kF, a.dtype())) check_math(p, cubeMathType, a);
    p.check_rank(a, 2, 2);
    p.check_rank(b, 1, 1);
    const Shape full = product_shape(p, a.shape(), {b.numel(), 1}, "mat and vec");
    p.check_shape(target, p.broadcast(start.shape(), {full[0]}, "self and the product"));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      with_real(a.dtype(), [&](auto zero) {
        using C = decltype(zero);
        std::vector<C> sum = times_vector<C>(get(launch, a), get(launch, b));
        std::vector<C> first(sum.size());
        load(get(launch, start).expand({full[0]}), 0, full[0], first.data());
        for (size_t i = 0; i < sum.size(); ++i) {
          sum[i] = mul(static_cast<C>(times), sum[i]);
          if (by != 0) sum[i] = add(sum[i], mul(static_cast<C>(by), first[i]));
        }
        store_all(get(launch, target), sum);
      });
    });
  });
}
SIM_SIGNATURE(Dot, const aclTensor* self, const aclTensor* tensor, aclTensor* out) {
  return plan("aclnnDot", workspaceSize, executor, [&](Planner& p) {
    const Types types = kF | kI8 | kU8 | kI32;
    const Operand a = p.input(self, "self", types);
    const Operand b = p.input(tensor, "tensor", types);
    const Operand target = p.output(out, "out", types);
    p.check_rank(a, 1, 1);
    p.check_shape(b, a.shape());
    p.check(target.numel() == 1, "out must have one element");
    p.check(a.dtype() == b.dtype(), "self and tensor must have one dtype");
    p.run([=](Launch& launch) {
      with_real(a.dtype(), [&](auto zero) {
        using C = decltype(zero);
        const auto x = load_all<C>(get(launch, a));
        const auto y = load_all<C>(get(launch, b));
        C sum{};
        for (size_t i = 0; i < x.size(); ++i) sum = add(sum, mul(x[i], y[i]));
        store(get(launch, target), 0, 1, &sum);
      });
    });
  });
}
SIM_SIGNATURE(Ger, const aclTensor* self, const aclTensor* vec2, aclTensor* out) {
  return plan("aclnnGer", workspaceSize, executor, [&](Planner& p) {
    const Types types = kF | kI | kC | kF64 | kBool;
    const Operand a = p.input(self, "self", types);
    const Operand b = p.input(vec2, "vec2", types);
    const Operand target = p.output(out, "out", types);
    p.check_rank(a, 1, 1);
    p.check_rank(b, 1, 1);
    const DType compute = p.promoted(a, b);
    p.check_cast(compute, target);
    p.check_shape(target, {a.numel(), b.numel()});
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      with_compute(compute, [&](auto zero) {
        using C = decltype(zero);
        map_elements<C>(
            get(launch, target), [](C x, C y) { return mul(x, y); }, get(launch, a).unsqueeze(1),
            get(launch, b));
      });
    });
  });
}

SIM_SIGNATURE(Addmm,
              const aclTensor* self,
              const aclTensor* mat1,
              const aclTensor* mat2,
              const aclScalar* beta,
              const aclScalar* alpha,
              aclTensor* out,
              int8_t cubeMathType) {
  return added_product("aclnnAddmm", self, mat1, "mat1", mat2, "mat2", beta, alpha, out, false,
                       cubeMathType, 2, workspaceSize, executor);
}
SIM_SIGNATURE(InplaceAddmm,
              const aclTensor* selfRef,
              const aclTensor* mat1,
              const aclTensor* mat2,
              const aclScalar* beta,
              const aclScalar* alpha,
              int8_t cubeMathType) {
  return added_product("aclnnInplaceAddmm", selfRef, mat1, "mat1", mat2, "mat2", beta, alpha,
                       nullptr, true, cubeMathType, 2, workspaceSize, executor);
}
SIM_SIGNATURE(Baddbmm,
              const aclTensor* self,
              const aclTensor* batch1,
              const aclTensor* batch2,
              const aclScalar* beta,
              const aclScalar* alpha,
              aclTensor* out,
              int8_t cubeMathType) {
  return added_product("aclnnBaddbmm", self, batch1, "batch1", batch2, "batch2", beta, alpha, out,
                       false, cubeMathType, 3, workspaceSize, executor);
}
SIM_SIGNATURE(InplaceBaddbmm,
              const aclTensor* selfRef,
              const aclTensor* batch1,
              const aclTensor* batch2,
              const aclScalar* beta,
              const aclScalar* alpha,
              int8_t cubeMathType) {
  return added_product("aclnnInplaceBaddbmm", selfRef, batch1, "batch1", batch2, "batch2", beta,
                       alpha, nullptr, true, cubeMathType, 3, workspaceSize, executor);
}
SIM_SIGNATURE(Addbmm,
              const aclTensor* self,
              const aclTensor* batch1,
              const aclTensor* batch2,
              const aclScalar* beta,
              const aclScalar* alpha,
              aclTensor* out,
              int8_t cubeMathType) {
  return addbmm("aclnnAddbmm", self, batch1, batch2, beta, alpha, out, false, cubeMathType,
                workspaceSize, executor);
}
SIM_SIGNATURE(InplaceAddbmm,
              aclTensor* selfRef,
              const aclTensor* batch1,
              const aclTensor* batch2,
              const aclScalar* beta,
              const aclScalar* alpha,
              int8_t cubeMathType) {
  return addbmm("aclnnInplaceAddbmm", selfRef, batch1, batch2, beta, alpha, nullptr, true,
                cubeMathType, workspaceSize, executor);
}
SIM_SIGNATURE(Gemm,
              const aclTensor* A,
              const aclTensor* B,
              const aclTensor* C,
              float alpha,
              float beta,
              int64_t transA,
              int64_t transB,
              aclTensor* out,
              int8_t cubeMathType) {
  return plan("aclnnGemm", workspaceSize, executor, [&](Planner& p) {
    const Operand a = p.input(A, "A", kF);
    const Operand b = p.input(B, "B", kF);
    const Operand c = p.input(C, "C", kF);
    const Operand target = p.output(out, "out", kF);
    check_math(p, cubeMathType, a);
    p.check_rank(a, 2, 2);
    p.check_rank(b, 2, 2);
    const Shape shape =
        product_shape(p, turned(a.shape(), transA != 0), turned(b.shape(), transB != 0), "A and B");
    p.check_shape(target, p.broadcast(c.shape(), shape, "C and the product"));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      std::vector<float> sum =
          multiply(turned(get(launch, a), transA != 0), turned(get(launch, b), transB != 0));
      std::vector<float> start(sum.size());
      load(get(launch, c).expand(shape), 0, count(shape), start.data());
      for (size_t i = 0; i < sum.size(); ++i) sum[i] = alpha * sum[i] + beta * start[i];
      store_all(get(launch, target), sum);
    });
  });
}
}
