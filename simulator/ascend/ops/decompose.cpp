// Decompositions of small matrices: singular values by Jacobi's rotations, Cholesky.
#include <numeric>

#include "simulator/ascend/ops/values.h"

using namespace sim;

namespace {

double conjugate(double x) { return x; }
Complex128 conjugate(Complex128 x) { return std::conj(x); }

// A matrix as its columns.
template <class C>
using Columns = std::vector<std::vector<C>>;

template <class C>
C dot(const std::vector<C>& a, const std::vector<C>& b) {
  C total{};
  for (size_t i = 0; i < a.size(); ++i) total += conjugate(a[i]) * b[i];
  return total;
}

template <class C>
double length(const std::vector<C>& a) {
  return std::sqrt(std::abs(dot(a, a)));
}

// Both columns after a rotation, the second one first given the phase at which their product is
// real.
template <class C>
void rotate(std::vector<C>& a, std::vector<C>& b, C phase, double c, double s) {
  for (size_t i = 0; i < a.size(); ++i) {
    const C turned = conjugate(phase) * b[i];
    b[i] = s * a[i] + c * turned;
    a[i] = c * a[i] - s * turned;
  }
}

// Rotates pairs of columns until all are orthogonal; `v` is what they were multiplied by.
template <class C>
void make_orthogonal(Columns<C>& a, Columns<C>& v) {
  constexpr int kMostSweeps = 60;
  bool moved = true;
  for (int sweep = 0; sweep < kMostSweeps && moved; ++sweep) {
    moved = false;
    for (size_t i = 0; i < a.size(); ++i) {
      for (size_t j = i + 1; j < a.size(); ++j) {
        const C product = dot(a[i], a[j]);
        const double size = std::abs(product);
        const double first = std::abs(dot(a[i], a[i]));
        const double second = std::abs(dot(a[j], a[j]));
        if (!(size > 1e-15 * std::sqrt(first * second))) continue;
        moved = true;
        const double zeta = (second - first) / (2 * size);
        const double t = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double c = 1 / std::sqrt(1 + t * t);
        rotate(a[i], a[j], product / size, c, c * t);
        rotate(v[i], v[j], product / size, c, c * t);
      }
    }
  }
}

// More unit columns, orthogonal to those that are there, until there are `n`.
template <class C>
void complete(Columns<C>& columns, size_t n) {
  for (size_t axis = 0; columns.size() < n; ++axis) {
    std::vector<C> next(n);
    next[axis % n] = C(1);
    for (int pass = 0; pass < 2; ++pass) {
      for (const std::vector<C>& known : columns) {
        const C part = dot(known, next);
        for (size_t i = 0; i < n; ++i) next[i] -= part * known[i];
      }
    }
    const double size = length(next);
    if (size < 1e-6) continue;
    for (C& value : next) value /= size;
    columns.push_back(std::move(next));
  }
}

template <class C>
struct Singular {
  Columns<C> u, v;
  std::vector<double> values;
};

// Of a matrix with at least as many rows as columns.
template <class C>
Singular<C> decompose_tall(Columns<C> a, size_t rows, bool full) {
  const size_t n = a.size();
  Columns<C> v(n, std::vector<C>(n));
  for (size_t i = 0; i < n; ++i) v[i][i] = C(1);
  make_orthogonal(a, v);
  std::vector<double> sizes;
  for (const auto& column : a) sizes.push_back(length(column));
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return sizes[x] > sizes[y]; });
  Singular<C> result;
  const double least = n == 0 ? 0 : 1e-14 * sizes[order[0]];
  for (const size_t i : order) {
    result.values.push_back(sizes[i]);
    result.v.push_back(v[i]);
    if (!(sizes[i] > least)) continue;
    for (C& value : a[i]) value /= sizes[i];
    result.u.push_back(a[i]);
  }
  complete(result.u, rows);
  if (!full) result.u.resize(n);
  return result;
}

template <class C>
Singular<C> decompose(const std::vector<C>& a, size_t rows, size_t columns, bool full) {
  const bool tall = rows >= columns;
  Columns<C> lines(tall ? columns : rows, std::vector<C>(tall ? rows : columns));
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      const C value = a[i * columns + j];
      (tall ? lines[j][i] : lines[i][j]) = tall ? value : conjugate(value);
    }
  }
  Singular<C> result = decompose_tall(std::move(lines), std::max(rows, columns), full);
  if (!tall) std::swap(result.u, result.v);
  return result;
}

template <class C>
std::vector<C> row_major(const Columns<C>& columns, size_t rows) {
  std::vector<C> values(rows * columns.size());
  for (size_t j = 0; j < columns.size(); ++j) {
    for (size_t i = 0; i < rows; ++i) values[i * columns.size() + j] = columns[j][i];
  }
  return values;
}

template <class C>
void store_part(const View& view, int64_t part, const std::vector<C>& values) {
  const auto n = static_cast<int64_t>(values.size());
  store(view, part * n, n, values.data());
}

// The lower factor; a matrix that is not positive gives not-a-number.
std::vector<double> cholesky(const std::vector<double>& a, size_t n) {
  std::vector<double> l(n * n);
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = j; i < n; ++i) {
      double rest = a[i * n + j];
      for (size_t k = 0; k < j; ++k) rest -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? std::sqrt(rest) : rest / l[j * n + j];
    }
  }
  return l;
}

}  // namespace

extern "C" {

SIM_SIGNATURE(Svd,
              const aclTensor* input,
              bool fullMatrices,
              bool computeUV,
              aclTensor* sigma,
              aclTensor* u,
              aclTensor* v) {
  return plan("aclnnSvd", workspaceSize, executor, [&](Planner& p) {
    const Types types = kF32 | kF64 | kC;
    const Operand in = p.input(input, "input", types);
    const Operand values = p.output(sigma, "sigma", types);
    p.check_rank(in, 2, 8);
    const int64_t m = in.shape()[z(in.rank() - 2)];
    const int64_t n = in.shape().back();
    const int64_t k = std::min(m, n);
    const Shape batch(in.shape().begin(), in.shape().end() - 2);
    const auto shaped = [&](std::initializer_list<int64_t> dims) {
      Shape shape = batch;
      shape.insert(shape.end(), dims);
      return shape;
    };
    p.check_shape(values, shaped({k}));
    const Operand left = wanted_output(p, computeUV, u, "u", types);
    const Operand right = wanted_output(p, computeUV, v, "v", types);
    if (computeUV) {
      p.check_shape(left, shaped({m, fullMatrices ? m : k}));
      p.check_shape(right, shaped({n, fullMatrices ? n : k}));
    }
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto run = [&](auto zero) {
        using C = decltype(zero);
        std::vector<C> matrix(z(m * n));
        for (int64_t i = 0; i < in.numel() / (m * n); ++i) {
          load(get(launch, in), i * m * n, m * n, matrix.data());
          const Singular<C> parts = decompose(matrix, z(m), z(n), fullMatrices);
          store_part(get(launch, values), i, parts.values);
          if (!computeUV) continue;
          store_part(get(launch, left), i, row_major(parts.u, z(m)));
          store_part(get(launch, right), i, row_major(parts.v, z(n)));
        }
      };
      contains(kC, in.dtype()) ? run(Complex128{}) : run(double{});
    });
  });
}

SIM_SIGNATURE(LinalgCholesky, const aclTensor* self, bool upper, aclTensor* out) {
  return plan("aclnnLinalgCholesky", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF32 | kF64);
    const Operand target = p.output(out, "out", kF32 | kF64);
    p.check_rank(in, 2, 8);
    const int64_t n = in.shape().back();
    p.check(in.shape()[z(in.rank() - 2)] == n, "self must consist of square matrices");
    p.check_shape(target, in.shape());
    p.check(target.dtype() == in.dtype(), "out must have the dtype of self");
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const int64_t last = in.rank() - 1;
      std::vector<int64_t> turned(z(in.rank()));
      std::iota(turned.begin(), turned.end(), int64_t{0});
      if (upper) std::swap(turned[z(last)], turned[z(last - 1)]);
      const View from = get(launch, in).permute(turned);
      const View to = get(launch, target).permute(turned);
      std::vector<double> matrix(z(n * n));
      for (int64_t i = 0; i < in.numel() / (n * n); ++i) {
        load(from, i * n * n, n * n, matrix.data());
        store_part(to, i, cholesky(matrix, z(n)));
      }
    });
  });
}
}
