// Linear algebra of small matrices: inverses, determinants, triangular systems, QR; plain loops.
#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

constexpr Types kTypes = kF | kF64 | kC;

// A matrix of its own memory, row-major.
template <class C>
struct Matrix {
  int64_t rows;
  int64_t columns;
  std::vector<C> values;

  Matrix(int64_t m, int64_t n) : rows(m), columns(n), values(static_cast<size_t>(m * n)) {}
  static Matrix identity(int64_t m, int64_t n) {
    Matrix result(m, n);
    for (int64_t i = 0; i < std::min(m, n); ++i) result(i, i) = C(1);
    return result;
  }
  C& operator()(int64_t i, int64_t j) { return values[static_cast<size_t>(i * columns + j)]; }
  C operator()(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * columns + j)]; }

  void swap_rows(int64_t a, int64_t b) {
    for (int64_t j = 0; j < columns && a != b; ++j) std::swap((*this)(a, j), (*this)(b, j));
  }
  void add_row(int64_t to, int64_t from, C factor) {
    for (int64_t j = 0; j < columns; ++j) (*this)(to, j) += factor * (*this)(from, j);
  }
  Matrix transposed() const {
    Matrix result(columns, rows);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) result(j, i) = (*this)(i, j);
    }
    return result;
  }
};

template <class C>
C conjugate(C value) {
  if constexpr (std::is_floating_point_v<C>) {
    return value;
  } else {
    return std::conj(value);
  }
}
template <class C>
auto real_part(C value) {
  if constexpr (std::is_floating_point_v<C>) {
    return value;
  } else {
    return value.real();
  }
}

// Matrix number `index` of a view [..., m, n].
template <class C>
Matrix<C> load_matrix(const View& view, int64_t index) {
  Matrix<C> result(view.size(view.rank() - 2), view.size(view.rank() - 1));
  const auto n = static_cast<int64_t>(result.values.size());
  load(view, index * n, n, result.values.data());
  return result;
}
template <class C>
void store_matrix(const View& view, int64_t index, const Matrix<C>& matrix) {
  const auto n = static_cast<int64_t>(matrix.values.size());
  store(view, index * n, n, matrix.values.data());
}

// Elimination with the largest pivot of each column. Returns the pivots, whose product is the
// determinant. `right` follows, and then `a` becomes diagonal; a singular `a` stops the device.
template <class C>
std::vector<C> eliminate(Matrix<C>& a, Matrix<C>* right) {
  std::vector<C> pivots;
  for (int64_t k = 0; k < a.rows; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < a.rows; ++i) {
      if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
    }
    const C pivot = a(best, k);
    pivots.push_back(best == k ? pivot : -pivot);
    if (pivot == C{}) {
      if (right != nullptr) throw DeviceFault{507018, "self is singular"};
      continue;
    }
    a.swap_rows(k, best);
    if (right != nullptr) right->swap_rows(k, best);
    for (int64_t i = 0; i < a.rows; ++i) {
      if (i == k || (right == nullptr && i < k)) continue;
      const C factor = a(i, k) / pivot;
      a.add_row(i, k, -factor);
      if (right != nullptr) right->add_row(i, k, -factor);
    }
  }
  return pivots;
}

template <class C>
Matrix<C> inverse(Matrix<C> a) {
  Matrix<C> result = Matrix<C>::identity(a.rows, a.rows);
  eliminate(a, &result);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.rows; ++j) result(i, j) /= a(i, i);
  }
  return result;
}

// Sign of a determinant, and the logarithm of its size.
template <class C>
std::pair<C, C> sign_and_log(Matrix<C> a) {
  C sign(1);
  C log{};
  for (const C pivot : eliminate<C>(a, nullptr)) {
    if (pivot == C{}) return {C{}, C(std::log(std::abs(pivot)))};
    sign *= pivot / C(std::abs(pivot));
    log += C(std::log(std::abs(pivot)));
  }
  return {sign, log};
}

// x with op(a) x = b.
template <class C>
Matrix<C> solve(const Matrix<C>& a, Matrix<C> b, bool upper, bool unit) {
  for (int64_t step = 0; step < a.rows; ++step) {
    const int64_t i = upper ? a.rows - 1 - step : step;
    for (int64_t k = upper ? i + 1 : 0; k < (upper ? a.rows : i); ++k) b.add_row(i, k, -a(i, k));
    for (int64_t j = 0; !unit && j < b.columns; ++j) b(i, j) /= a(i, i);
  }
  return b;
}

// One reflection I - tau v v^H, the unit vector's first element at `start`.
template <class C>
struct Reflection {
  int64_t start;
  C tau{};
  std::vector<C> v;

  void apply(Matrix<C>& to, C by) const {
    for (int64_t j = 0; j < to.columns; ++j) {
      C dot{};
      for (size_t i = 0; i < v.size(); ++i) {
        dot += conjugate(v[i]) * to(start + static_cast<int64_t>(i), j);
      }
      for (size_t i = 0; i < v.size(); ++i) {
        to(start + static_cast<int64_t>(i), j) -= by * v[i] * dot;
      }
    }
  }
};

// Signs as in LAPACK: an element of R's diagonal is real, with the sign that avoids cancellation.
template <class C>
std::pair<Matrix<C>, Matrix<C>> qr(Matrix<C> a, int64_t columns) {
  std::vector<Reflection<C>> steps;
  for (int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    Reflection<C> step{k, {}, {C(1)}};
    const C head = a(k, k);
    decltype(std::abs(head)) below = 0;
    for (int64_t i = k + 1; i < a.rows; ++i) below = std::hypot(below, std::abs(a(i, k)));
    const bool done = below == 0 && head == C(real_part(head));
    const auto size = std::hypot(std::abs(head), below);
    const C beta(real_part(head) > 0 ? -size : size);
    for (int64_t i = k + 1; i < a.rows; ++i) step.v.push_back(done ? C{} : a(i, k) / (head - beta));
    if (!done) step.tau = (beta - head) / beta;
    step.apply(a, conjugate(step.tau));
    steps.push_back(std::move(step));
  }
  Matrix<C> q = Matrix<C>::identity(a.rows, columns);
  for (size_t k = steps.size(); k-- > 0;) steps[k].apply(q, steps[k].tau);
  Matrix<C> r(columns, a.columns);
  for (int64_t i = 0; i < columns; ++i) {
    for (int64_t j = i; j < a.columns; ++j) r(i, j) = a(i, j);
  }
  return {q, r};
}

void check_square(Planner& p, const Operand& self) {
  p.check_rank(self, 2, 8);
  const Shape& shape = self.shape();
  p.check(shape.back() == shape[shape.size() - 2],
          p.name(self) + " has shape " + shape_text(shape) + ", which is not square");
}

aclnnStatus qr_op(const char* op,
                  const aclTensor* self,
                  bool complete,
                  bool only_r,
                  const aclTensor* q_out,
                  const aclTensor* r_out,
                  uint64_t* workspace_size,
                  aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kTypes);
    const Operand q = only_r ? p.optional_output(q_out, "Q", kTypes) : p.output(q_out, "Q", kTypes);
    const Operand r = p.output(r_out, "R", kTypes);
    p.check_rank(in, 2, 8);
    Shape shape = in.shape();
    const int64_t n = shape.back();
    shape.pop_back();
    const int64_t m = shape.back();
    shape.pop_back();
    const int64_t k = complete ? m : std::min(m, n);
    const auto with = [&](int64_t rows, int64_t columns) {
      Shape result = shape;
      result.insert(result.end(), {rows, columns});
      return result;
    };
    if (!only_r) p.check_shape(q, with(m, k));
    p.check_shape(r, with(k, n));
    if (r.numel() == 0 && (!q || q.numel() == 0)) return;
    p.run([=](Launch& launch) {
      Fields::with(in.dtype(), [&](auto zero) {
        using C = decltype(zero);
        for (int64_t i = 0; i < count(shape); ++i) {
          const auto [one, other] = qr(load_matrix<C>(get(launch, in), i), k);
          if (!only_r) store_matrix(get(launch, q), i, one);
          store_matrix(get(launch, r), i, other);
        }
      });
    });
  });
}

// Signs and logarithms of determinants; only the logarithms where its output is not "logOut".
aclnnStatus determinants(const char* op,
                         const aclTensor* self,
                         const aclTensor* sign_out,
                         const aclTensor* log_out,
                         const char* log_name,
                         uint64_t* workspace_size,
                         aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const bool both = std::string(log_name) == "logOut";
    const Operand in = p.input(self, "self", kTypes);
    const Operand sign = both ? p.output(sign_out, "signOut", kTypes) : Operand{};
    const Operand log = p.output(log_out, log_name, kTypes);
    check_square(p, in);
    const Shape batch(in.shape().begin(), in.shape().end() - 2);
    if (both) p.check_shape(sign, batch);
    p.check_shape(log, batch);
    if (log.numel() == 0) return;
    p.run([=](Launch& launch) {
      Fields::with(in.dtype(), [&](auto zero) {
        using C = decltype(zero);
        for (int64_t i = 0; i < count(batch); ++i) {
          auto [one, size] = sign_and_log(load_matrix<C>(get(launch, in), i));
          if (both) store(get(launch, sign), i, 1, &one);
          // The logarithm of a negative number is none.
          if (!both) size = one == C{} ? size : size + std::log(one);
          store(get(launch, log), i, 1, &size);
        }
      });
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(Inverse, const aclTensor* self, aclTensor* out) {
  return plan("aclnnInverse", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kTypes);
    const Operand target = p.output(out, "out", kTypes);
    check_square(p, in);
    p.check_shape(target, in.shape());
    if (target.numel() == 0) return;
    const int64_t n = in.shape().back();
    p.run([=](Launch& launch) {
      Fields::with(in.dtype(), [&](auto zero) {
        using C = decltype(zero);
        for (int64_t i = 0; i < in.numel() / (n * n); ++i) {
          store_matrix(get(launch, target), i, inverse(load_matrix<C>(get(launch, in), i)));
        }
      });
    });
  });
}
SIM_SIGNATURE(Slogdet, const aclTensor* self, aclTensor* signOut, aclTensor* logOut) {
  return determinants("aclnnSlogdet", self, signOut, logOut, "logOut", workspaceSize, executor);
}
SIM_SIGNATURE(Logdet, const aclTensor* self, aclTensor* out) {
  return determinants("aclnnLogdet", self, nullptr, out, "out", workspaceSize, executor);
}

SIM_SIGNATURE(TriangularSolve,
              const aclTensor* self,
              const aclTensor* A,
              bool upper,
              bool transpose,
              bool unitriangular,
              aclTensor* xOut,
              aclTensor* mOut) {
  return plan("aclnnTriangularSolve", workspaceSize, executor, [&](Planner& p) {
    const Operand b = p.input(self, "self", kTypes);
    const Operand a = p.input(A, "A", kTypes);
    const Operand x = p.output(xOut, "xOut", kTypes);
    const Operand m = p.output(mOut, "mOut", kTypes);
    p.check(a.dtype() == b.dtype(), "A must have the dtype of self");
    check_square(p, a);
    p.check_rank(b, 2, 8);
    p.check(b.shape()[b.shape().size() - 2] == a.shape().back(),
            "self and A have shapes " + shape_text(b.shape()) + " and " + shape_text(a.shape()) +
                ", which do not fit");
    Shape full = p.broadcast(Shape(a.shape().begin(), a.shape().end() - 2),
                             Shape(b.shape().begin(), b.shape().end() - 2), "self and A");
    Shape matrices = full;
    full.insert(full.end(), b.shape().end() - 2, b.shape().end());
    matrices.insert(matrices.end(), a.shape().end() - 2, a.shape().end());
    p.check_shape(x, full);
    p.check_shape(m, matrices);
    if (x.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View left = get(launch, a).expand(matrices);
      const View right = get(launch, b).expand(full);
      cast_elements(get(launch, m), left);
      Fields::with(b.dtype(), [&](auto zero) {
        using C = decltype(zero);
        for (int64_t i = 0; i < x.numel() / (full.back() * matrices.back()); ++i) {
          Matrix<C> factors = load_matrix<C>(left, i);
          if (transpose) factors = factors.transposed();
          store_matrix(get(launch, x), i,
                       solve(factors, load_matrix<C>(right, i), upper != transpose, unitriangular));
        }
      });
    });
  });
}

SIM_SIGNATURE(Qr, const aclTensor* self, bool some, aclTensor* Q, aclTensor* R) {
  return qr_op("aclnnQr", self, !some, false, Q, R, workspaceSize, executor);
}
// mode: 0 reduced, 1 complete, 2 only R.
SIM_SIGNATURE(LinalgQr, const aclTensor* self, int64_t mode, aclTensor* Q, aclTensor* R) {
  if (mode < 0 || mode > 2) {
    return plan("aclnnLinalgQr", workspaceSize, executor, [&](Planner& p) {
      p.check(false, "mode is " + std::to_string(mode) + ", expected is 0, 1 or 2");
    });
  }
  return qr_op("aclnnLinalgQr", self, mode == 1, mode == 2, Q, R, workspaceSize, executor);
}
}
