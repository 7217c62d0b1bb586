// Eigenvalues, singular values, and what is made of them.
#include <cmath>
#include <limits>

#include "mindtorch/backends/cpu/copy_matrix.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/linalg_batch.h"
#include "mindtorch/backends/cpu/linalg/reflectors.h"
#include "mindtorch/backends/cpu/linalg/small_singular.h"
#include "mindtorch/backends/cpu/linalg/spectral.h"
#include "mindtorch/ops/linalg_error.h"

namespace mindtorch::cpu {
namespace {

using lapack::Triangle;

// The lower triangle from the upper one.
template <typename T>
void mirror_upper(T* a, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j + 1; i < n; ++i) a[j * n + i] = a[i * n + j];
  }
}

// The matrices of `a` become eigenvectors, or are used up.
template <typename T>
void decompose_hermitian(
    bool vectors, Triangle triangle, const Tensor& a, const Tensor& values, int32_t* info) {
  const int n = rows_of(a);
  T length{};
  Real<T> real_length{};
  int int_length = 0;
  lapack::heevd(vectors, triangle, n, static_cast<T*>(nullptr), leading(n), nullptr, &length, -1,
                &real_length, -1, &int_length, -1);
  const int work_size = work_length(length);
  const int real_size = work_length(real_length);
  for_large_matrices(count_matrices(a), 8 * cube(n), [&](int64_t begin, int64_t end) {
    const Scratch<T> work(work_size);
    const Scratch<Real<T>> real_work(kIsComplex<T> ? real_size : 1);
    const Scratch<int> int_work(int_length);
    for (int64_t i = begin; i < end; ++i) {
      if constexpr (!kIsComplex<T>) {
        if (vectors && n > 0) {
          T* const matrix = matrix_at<T>(a, i);
          if (triangle == Triangle::kUpper) mirror_upper(matrix, n);
          if (linalg::is_in_range(matrix, int64_t{n} * n)) {
            info[i] = linalg::decompose_symmetric(n, matrix, vector_at<T>(values, i));
            continue;
          }
        }
      }
      info[i] = lapack::heevd(vectors, triangle, n, matrix_at<T>(a, i), leading(n),
                              vector_at<Real<T>>(values, i), work.get(), work_size, real_work.get(),
                              real_size, int_work.get(), int_length);
    }
  });
}

void check(const char* name, const Tensor& like, const Scratch<int32_t>& info) {
  ops::check_linalg_infos({info.get(), static_cast<size_t>(count_matrices(like))}, name,
                          like.dim() > 2);
}

void eigh(ops::Launch&,
          const Tensor& A,
          std::string_view UPLO,
          bool compute_v,
          Tensor& values,
          Tensor& vectors) {
  const Scratch<int32_t> info(count_matrices(A));
  const Tensor a =
      compute_v ? vectors
                : Tensor::make_strided(A.sizes(), ops::column_major_strides(A.sizes()), A.dtype());
  copy(A, a);
  const bool upper = UPLO == "U" || UPLO == "u";
  visit_lapack(A.dtype(), [&]<typename T>() {
    decompose_hermitian<T>(compute_v, upper ? Triangle::kUpper : Triangle::kLower, a, values,
                           info.get());
  });
  check("linalg.eigh", A, info);
}

// Real matrices have eigenvalues in pairs: LAPACK gives the real and the imaginary parts of a
// pair's vector as two columns.
template <typename R>
void join_pairs(int64_t n, const R* imaginary, const R* parts, std::complex<R>* vectors) {
  for (int64_t j = 0; j < n; ++j) {
    const R* const first = parts + j * n;
    if (imaginary[j] == 0) {
      std::copy_n(first, n, vectors + j * n);
      continue;
    }
    for (int64_t i = 0; i < n; ++i) {
      const std::complex<R> x(first[i], first[n + i]);
      vectors[j * n + i] = x;
      vectors[(j + 1) * n + i] = std::conj(x);
    }
    ++j;
  }
}

template <typename T>
void decompose_general(
    bool compute_v, const Tensor& a, const Tensor& values, const Tensor& vectors, int32_t* info) {
  using Complex = std::complex<Real<T>>;
  const int n = rows_of(a);
  T answer{};
  if constexpr (kIsComplex<T>) {
    Real<T> real_answer{};
    lapack::geev(compute_v, n, static_cast<T*>(nullptr), leading(n), nullptr, nullptr, leading(n),
                 &answer, -1, &real_answer);
  } else {
    lapack::geev(compute_v, n, static_cast<T*>(nullptr), leading(n), nullptr, nullptr, nullptr,
                 leading(n), &answer, -1);
  }
  const int length = work_length(answer);
  for_matrices(count_matrices(a), 20 * cube(n), [&](int64_t begin, int64_t end) {
    const Scratch<T> work(length);
    const Scratch<Real<T>> parts(2 * int64_t{n});
    const Scratch<T> columns(compute_v ? int64_t{n} * n : 1);
    for (int64_t i = begin; i < end; ++i) {
      Complex* const found = vector_at<Complex>(values, i);
      Complex* const made = compute_v ? matrix_at<Complex>(vectors, i) : nullptr;
      if constexpr (kIsComplex<T>) {
        info[i] = lapack::geev(compute_v, n, matrix_at<T>(a, i), leading(n), found, made,
                               leading(n), work.get(), length, parts.get());
      } else {
        T* const real = parts.get();
        T* const imaginary = real + n;
        info[i] = lapack::geev(compute_v, n, matrix_at<T>(a, i), leading(n), real, imaginary,
                               columns.get(), leading(n), work.get(), length);
        for (int64_t j = 0; j < n; ++j) found[j] = {real[j], imaginary[j]};
        if (compute_v) join_pairs(n, imaginary, columns.get(), made);
      }
    }
  });
}

void eig(ops::Launch&, const Tensor& A, bool compute_v, Tensor& values, Tensor& vectors) {
  const Scratch<int32_t> info(count_matrices(A));
  const Tensor a = Tensor::make_strided(A.sizes(), ops::column_major_strides(A.sizes()), A.dtype());
  copy(A, a);
  visit_lapack(A.dtype(), [&]<typename T>() {
    const T* const elements = a.data<T>();
    MT_CHECK(
        std::all_of(elements, elements + a.numel(), [](T x) { return std::isfinite(std::abs(x)); }),
        RuntimeError, "torch.linalg.eig: input tensor should not contain infs or NaNs.");
    decompose_general<T>(compute_v, a, values, vectors, info.get());
  });
  check("torch.linalg.eig", A, info);
}

// U, S and Vh of one matrix, or false, and nothing is done: where LAPACK does it as well.
template <typename T>
bool decompose_by_vectors(
    int m, int n, T* a, T* u, int u_columns, T* s, T* vh, int vh_rows, int32_t& info) {
  if (!linalg::is_in_range(a, int64_t{m} * n)) return false;
  if (m >= n && u_columns == n && n <= linalg::kMostRotated && m <= linalg::kMostRotatedRows) {
    const linalg::SmallSingular<T>& small = linalg::small_singular<T>();
    const Scratch<T> work(small.work_size(m, n));
    info = 0;
    if (small.decompose(m, n, a, s, u, vh, work.get())) return true;
  }
  if (!linalg::has_blocks(std::min(m, n))) return false;
  if (m >= n) {
    info = linalg::decompose_singular(m, n, a, s, u, u_columns, vh);
    return true;
  }
  // The transposes of U and Vh are those of the transpose, the other way round.
  const Scratch<T> turned(int64_t{m} * n);
  const Scratch<T> left(int64_t{n} * vh_rows);
  const Scratch<T> right(int64_t{m} * m);
  copy_matrix<T>(n, m, {a, m, 1}, {turned.get(), 1, n});
  info = linalg::decompose_singular(n, m, turned.get(), s, left.get(), vh_rows, right.get());
  copy_matrix<T>(m, m, {right.get(), m, 1}, {u, 1, m});
  copy_matrix<T>(vh_rows, n, {left.get(), n, 1}, {vh, 1, vh_rows});
  return true;
}

// The matrices of `a` are used up. `job` is LAPACK's: all of U and Vh, as much as S has values,
// none.
template <typename T>
void decompose_singular(
    char job, const Tensor& a, const Tensor& u, const Tensor& s, const Tensor& vh, int32_t* info) {
  const int m = rows_of(a);
  const int n = columns_of(a);
  const int k = std::min(m, n);
  const bool vectors = job != 'N';
  const int vh_rows = vectors ? leading(rows_of(vh)) : 1;
  T answer{};
  lapack::gesdd(job, m, n, static_cast<T*>(nullptr), leading(m), nullptr, nullptr, leading(m),
                nullptr, vh_rows, &answer, -1, nullptr, nullptr);
  const int length = work_length(answer);
  const int64_t larger = std::max(m, n);
  const int64_t real_length =
      !kIsComplex<T> ? 1
                     : (vectors ? std::max<int64_t>(5 * int64_t{k} * k + 5 * k,
                                                    2 * larger * k + 2 * int64_t{k} * k + k)
                                : 7 * int64_t{k});
  for_large_matrices(count_matrices(a), 10.0 * m * n * k, [&](int64_t begin, int64_t end) {
    const Scratch<T> work(length);
    const Scratch<Real<T>> real_work(std::max<int64_t>(real_length, 1));
    const Scratch<int> int_work(8 * std::max(k, 1));
    for (int64_t i = begin; i < end; ++i) {
      if constexpr (!kIsComplex<T>) {
        if (vectors &&
            decompose_by_vectors(m, n, matrix_at<T>(a, i), matrix_at<T>(u, i), columns_of(u),
                                 vector_at<T>(s, i), matrix_at<T>(vh, i), vh_rows, info[i])) {
          continue;
        }
      }
      info[i] = lapack::gesdd(job, m, n, matrix_at<T>(a, i), leading(m), vector_at<Real<T>>(s, i),
                              vectors ? matrix_at<T>(u, i) : nullptr, leading(m),
                              vectors ? matrix_at<T>(vh, i) : nullptr, vh_rows, work.get(), length,
                              real_work.get(), int_work.get());
    }
  });
}

template <typename T>
void make_identity(const Tensor& matrices) {
  std::fill_n(matrices.data<T>(), matrices.numel(), T{});
  const int64_t n = matrices.size(-1);
  for (int64_t i = 0; i < count_matrices(matrices); ++i) {
    for (int64_t j = 0; j < n; ++j) matrix_at<T>(matrices, i)[j * n + j] = T{1};
  }
}

void svd(ops::Launch&,
         const Tensor& A,
         bool full_matrices,
         bool compute_uv,
         Tensor& u,
         Tensor& s,
         Tensor& vh) {
  const char job = !compute_uv ? 'N' : full_matrices ? 'A' : 'S';
  visit_lapack(A.dtype(), [&]<typename T>() {
    if (A.numel() == 0) {  // nothing to decompose: any orthogonal matrices will do
      if (job != 'A') return;
      make_identity<T>(u);
      make_identity<T>(vh);
      return;
    }
    const Scratch<int32_t> info(count_matrices(A));
    Tensor a = Tensor::make_strided(A.sizes(), ops::column_major_strides(A.sizes()), A.dtype());
    copy(A, a);
    decompose_singular<T>(job, a, u, s, vh, info.get());
    check("linalg.svd", A, info);
  });
}

// --- the pseudoinverse ---

// The smallest value that counts, of a matrix whose largest is `largest`.
struct Tolerance {
  Tensor atol;  // one number, or one for each matrix; undefined: 0
  Tensor rtol;

  double of(int64_t matrix, double largest) const {
    const auto value = [&](const Tensor& tensor) {
      if (!tensor.defined()) return 0.0;
      const int64_t at = tensor.numel() == 1 ? 0 : matrix;
      return tensor.dtype() == DType::kFloat64 ? tensor.data<double>()[at]
                                               : static_cast<double>(tensor.data<float>()[at]);
    };
    return std::max(value(atol), value(rtol) * largest);
  }
};

Tensor as_tolerance(const Tensor& tensor, const Shape& batch, DType dtype) {
  if (!tensor.defined()) return tensor;
  Tensor values = Tensor::make(tensor.numel() == 1 ? Shape{} : batch, dtype);
  copy(tensor, values);
  return values;
}

// left (m x k) times right (k x n), conjugated, into rows of m of the result.
template <typename T>
void multiply_into_rows(DType dtype, int m, int n, int k, const T* left, const T* right, T* out) {
  gemm(dtype, m, n, k, {left, 1, m}, {right, 1, k}, {out, 1, m}, kOneFactor, kZeroFactor);
  if (kIsComplex<T>) std::transform(out, out + int64_t{m} * n, out, conjugate<T>);
}

// Singular values that count become their inverses; the columns of U are scaled by them.
template <typename T>
void scale_columns(T* u, int64_t m, const Real<T>* s, int64_t k, double least) {
  for (int64_t j = 0; j < k; ++j) {
    const bool counts = std::abs(static_cast<double>(s[j])) > least;
    const Real<T> factor = counts ? 1 / s[j] : Real<T>(0);
    for (int64_t i = 0; i < m; ++i) u[j * m + i] *= factor;
  }
}

void pinv(ops::Launch&,
          const Tensor& A,
          const Tensor& atol,
          const Tensor& rtol,
          bool hermitian,
          Tensor& out) {
  if (out.numel() == 0) return;
  const Shape batch = ops::batch_shape(A);
  const int m = rows_of(A);
  const int n = columns_of(A);
  const int k = std::min(m, n);
  const auto columns = [&](int64_t rows, int64_t cols, DType dtype) {
    const Shape sizes = ops::with_dims(batch, {rows, cols});
    return Tensor::make_strided(sizes, ops::column_major_strides(sizes), dtype);
  };
  const DType real = real_dtype(A.dtype());
  const Tolerance tolerance = {as_tolerance(atol, batch, real), as_tolerance(rtol, batch, real)};
  const Tensor a = columns(m, n, A.dtype());
  const Tensor s = Tensor::make(ops::with_dims(batch, {k}), real);
  const Tensor u = hermitian ? Tensor() : columns(m, k, A.dtype());
  const Tensor vh = columns(k, n, A.dtype());
  const Scratch<int32_t> info(count_matrices(A));
  copy(A, a);
  visit_lapack(A.dtype(), [&]<typename T>() {
    if (hermitian) {
      decompose_hermitian<T>(true, Triangle::kLower, a, s, info.get());
      check("linalg.eigh", A, info);
    } else {
      decompose_singular<T>('S', a, u, s, vh, info.get());
      check("linalg.svd", A, info);
    }
    for_matrices(count_matrices(A), 1.0 * m * n * k, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Real<T>* const values = vector_at<Real<T>>(s, i);
        double largest = 0;
        for (int64_t j = 0; j < k; ++j) {
          largest = std::max(largest, std::abs(static_cast<double>(values[j])));
        }
        T* const left = matrix_at<T>(hermitian ? a : u, i);
        T* const right = matrix_at<T>(vh, i);
        if (hermitian) {  // the other factor is the adjoint of the first
          for (int64_t row = 0; row < n; ++row) {
            for (int64_t col = 0; col < n; ++col)
              right[row * n + col] = conjugate(left[col * n + row]);
          }
        }
        scale_columns(left, m, values, k, tolerance.of(i, largest));
        multiply_into_rows(A.dtype(), m, n, k, left, right, matrix_at<T>(out, i));
      }
    });
  });
}

}  // namespace

void register_linalg_decompose(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<eigh>(kCpu, "_linalg_eigh").takes(kAllOrComplex);
  registry.kernel<eig>(kCpu, "_linalg_eig").takes(kAllOrComplex);
  registry.kernel<svd>(kCpu, "_linalg_svd").takes(kAllOrComplex);
  registry.kernel<pinv>(kCpu, "_linalg_pinv").takes(kAllOrComplex);
}

}  // namespace mindtorch::cpu
