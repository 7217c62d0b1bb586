#include "mindtorch/backends/cpu/product/few_rows.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "mindtorch/backends/cpu/copy_matrix.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/product/sums.h"
#include "mindtorch/backends/cpu/product/vectors.h"
#include "mindtorch/backends/cpu/product/workspace.h"

namespace mindtorch::cpu::product {
namespace {

// Bytes to read that are worth a thread, and from how many on more than one is.
constexpr int64_t kThreadBytes = int64_t{128} << 10;
constexpr int64_t kParallelBytes = 4 * kThreadBytes;
// Terms of a part.
constexpr int64_t kDotTerms = 16384;
constexpr int64_t kColumnTerms = 256;
// Columns of b that a thread takes are multiples of these.
constexpr int64_t kDotUnit = 8;
constexpr int64_t kColumnUnit = 64;
// Rows at such distances compete for the same lines of the first cache.
constexpr int64_t kCompetingElements = 256;
constexpr int64_t kRowPadding = 16;
// Shorter dot products are slower than tiles.
constexpr int64_t kLeastDotTerms = 64;

bool has_columns(const Problem& p) { return p.b.row_stride == 1 || p.k == 1; }

template <typename S>
class FewRows {
 public:
  using T = typename SumOf<S>::type;

  explicit FewRows(const Problem& problem)
      : p_(problem),
        by_dots_(has_columns(p_)),
        part_terms_(by_dots_ ? kDotTerms : kColumnTerms),
        parts_(ceil_div(p_.k, part_terms_)) {
    const int64_t unit = by_dots_ ? kDotUnit : kColumnUnit;
    const int64_t bytes = p_.batch * p_.k * p_.n * static_cast<int64_t>(sizeof(S));
    if (bytes >= kParallelBytes && !in_parallel_region()) {
      threads_ = std::min<int64_t>(num_threads(), bytes / kThreadBytes);
    }
    pieces_ = std::min(ceil_div(threads_, p_.batch * parts_), ceil_div(p_.n, unit));
    length_ = ceil_div(ceil_div(p_.n, pieces_), unit) * unit;
    pieces_ = ceil_div(p_.n, length_);
  }

  void run() {
    const bool competes = p_.m > 1 && p_.a.row_stride % kCompetingElements == 0;
    const bool copies_a = !std::is_same_v<S, T> || p_.a.col_stride != 1 || competes;
    const int64_t x_size = copies_a ? p_.batch * p_.m * copied_row() : 0;
    const int64_t sums_size = is_direct() ? 0 : p_.batch * parts_ * p_.m * p_.n;
    const int64_t counts_bytes =
        parts_ == 1 ? 0 : p_.batch * pieces_ * static_cast<int64_t>(sizeof(int32_t));
    constexpr auto kSize = static_cast<int64_t>(sizeof(T));
    const Workspace workspace((x_size + sums_size) * kSize + counts_bytes);
    sums_ = reinterpret_cast<T*>(workspace.data());
    T* const copied = sums_ + sums_size;
    counts_ = reinterpret_cast<std::atomic<int32_t>*>(copied + x_size);
    if (parts_ > 1) std::memset(static_cast<void*>(counts_), 0, static_cast<size_t>(counts_bytes));
    read_rows(copies_a ? copied : nullptr);

    const int64_t units = p_.batch * pieces_ * parts_;
    parallel_for(0, units, ceil_div(units, threads_), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_unit(i);
    });
  }

 private:
  int64_t copied_row() const {
    return p_.k + (p_.m > 1 && p_.k % kCompetingElements == 0 ? kRowPadding : 0);
  }

  // Rows of a as sums are: copied, if there is a place for the copies.
  void read_rows(T* copied) {
    if constexpr (std::is_same_v<S, T>) {
      if (copied == nullptr) {
        x_ = static_cast<const T*>(p_.a.data);
        x_row_ = p_.a.row_stride;
        x_item_ = p_.a_batch;
        return;
      }
    }
    for (int64_t i = 0; i < p_.batch * p_.m; ++i) {
      const S* from =
          static_cast<const S*>(p_.a.data) + i / p_.m * p_.a_batch + i % p_.m * p_.a.row_stride;
      T* const to = copied + i * copied_row();
      if (p_.a.col_stride == 1) {
        packing<S>().pack_rows({from, 0, 1}, 1, p_.k, to, 0);
      } else {
        for (int64_t t = 0; t < p_.k; ++t) to[t] = static_cast<T>(from[t * p_.a.col_stride]);
      }
    }
    x_ = copied;
    x_row_ = copied_row();
    x_item_ = p_.m * copied_row();
  }

  void run_unit(int64_t unit) {
    const int64_t part = unit % parts_;
    const int64_t piece = unit / parts_ % pieces_;
    const int64_t item = unit / parts_ / pieces_;
    const int64_t column = piece * length_;
    const int64_t columns = std::min(length_, p_.n - column);
    const int64_t term = part * part_terms_;
    const int64_t terms = std::min(part_terms_, p_.k - term);
    const S* const b =
        static_cast<const S*>(offset<S>(p_.b, term, column).data) + item * p_.b_batch;
    const T* const x = x_ + item * x_item_ + term;
    const Sums<T> sums = is_direct() ? result_of(item, column) : sums_of(item, part, column);
    if (by_dots_) {
      add_dots(b, columns, x, terms, sums);
    } else {
      vectors<S>().columns(columns, terms, b, p_.b.row_stride, x, sums.data);
    }
    if (is_direct()) return;
    if (parts_ > 1) {
      const int32_t before =
          counts_[item * pieces_ + piece].fetch_add(1, std::memory_order_acq_rel);
      if (before + 1 < parts_) return;
    }
    const Sums<T> all = sums_of(item, 0, column);
    for (int64_t i = 1; i < parts_; ++i) {
      add_sums(p_.m, columns, sums_of(item, i, column), all);
    }
    store(item, column, columns, all);
  }

  // Sums of one row that are what c becomes need no place of their own.
  bool is_direct() const {
    return std::is_same_v<S, T> && parts_ == 1 && p_.m == 1 && p_.c.col_stride == 1 &&
           p_.alpha == 1 && p_.addend.data == nullptr;
  }
  Sums<T> result_of(int64_t item, int64_t column) const {
    return {static_cast<T*>(p_.c.data) + item * p_.c_batch + column, p_.n};
  }
  Sums<T> sums_of(int64_t item, int64_t part, int64_t column) const {
    return {sums_ + (item * parts_ + part) * p_.m * p_.n + column, p_.n};
  }

  void add_dots(const S* b, int64_t columns, const T* x, int64_t terms, Sums<T> sums) const {
    constexpr int64_t kAtOnce = 64;
    const int64_t stride = p_.b.col_stride;
    if (p_.m == 1) {
      return vectors<S>().dots(columns, b, stride, 1, x, x_row_, terms, sums.data);
    }
    T out[kAtOnce * kMostDotRows];
    for (int64_t j = 0; j < columns; j += kAtOnce) {
      const int64_t count = std::min(kAtOnce, columns - j);
      vectors<S>().dots(count, b + j * stride, stride, p_.m, x, x_row_, terms, out);
      for (int64_t i = 0; i < p_.m; ++i) {
        for (int64_t l = 0; l < count; ++l) sums.data[i * sums.stride + j + l] = out[l * p_.m + i];
      }
    }
  }

  void store(int64_t item, int64_t column, int64_t columns, Sums<T> sums) const {
    Matrix c = offset<S>(p_.c, 0, column);
    c.data = static_cast<S*>(c.data) + item * p_.c_batch;
    ConstMatrix addend = p_.addend;
    if (addend.data != nullptr) {
      addend = offset<S>(addend, 0, column);
      addend.data = static_cast<const S*>(addend.data) + item * p_.addend_batch;
    }
    store_sums<S>(p_.m, columns, sums, c, addend, static_cast<T>(p_.alpha),
                  static_cast<T>(p_.beta));
  }

  const Problem& p_;
  const bool by_dots_;
  const int64_t part_terms_;
  const int64_t parts_;  // of the terms
  int64_t threads_ = 1;
  int64_t pieces_ = 1;  // of the columns
  int64_t length_ = 0;  // of a piece
  const T* x_ = nullptr;
  int64_t x_row_ = 0;
  int64_t x_item_ = 0;
  T* sums_ = nullptr;                       // item by item, part by part
  std::atomic<int32_t>* counts_ = nullptr;  // of the parts that are done, for each piece
};

// A column times a row: bound by writing c, row by row.
template <typename S>
void multiply_outer(const Problem& p) {
  constexpr int64_t kGrain = int64_t{1} << 16;  // elements that are worth a thread
  parallel_for(0, p.batch * p.m, ceil_div(kGrain, p.n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t item = i / p.m;
      const int64_t row = i % p.m;
      const S* const a = static_cast<const S*>(p.a.data) + item * p.a_batch;
      const S* const b = static_cast<const S*>(p.b.data) + item * p.b_batch;
      S* const c = static_cast<S*>(p.c.data) + item * p.c_batch + row * p.c.row_stride;
      const S factor = static_cast<S>(p.alpha) * a[row * p.a.row_stride];
      vectors<S>().columns(p.n, 1, b, 0, &factor, c);
    }
  });
}

// b with contiguous columns, for products of one row with a matrix that has neither.
template <typename S>
void multiply_copied(const Problem& problem) {
  const Scratch<S> copy(problem.k * problem.n);
  Problem part = problem;
  part.batch = 1;
  for (int64_t i = 0; i < problem.batch; ++i) {
    const auto* b = static_cast<const S*>(problem.b.data) + i * problem.b_batch;
    copy_matrix<S>(problem.n, problem.k, {b, problem.b.col_stride, problem.b.row_stride},
                   {copy.get(), problem.k, 1});
    part.a.data = static_cast<const S*>(problem.a.data) + i * problem.a_batch;
    part.b = {copy.get(), 1, problem.k};
    part.c.data = static_cast<S*>(problem.c.data) + i * problem.c_batch;
    if (problem.addend.data != nullptr) {
      part.addend.data = static_cast<const S*>(problem.addend.data) + i * problem.addend_batch;
    }
    FewRows<S>(part).run();
  }
}

}  // namespace

bool has_few_rows(const Problem& problem) {
  if (problem.m == 1) return true;
  return problem.m <= kMostDotRows && problem.k >= kLeastDotTerms && problem.b.row_stride == 1;
}

template <typename S>
void multiply_few_rows(const Problem& problem) {
  if (has_columns(problem) || problem.b.col_stride == 1) {
    FewRows<S>(problem).run();
  } else {
    multiply_copied<S>(problem);
  }
}

template <typename S>
bool multiply_if_outer(const Problem& p) {
  if constexpr (std::is_same_v<S, typename SumOf<S>::type>) {
    if (p.k == 1 && p.c.col_stride == 1 && p.b.col_stride == 1 && p.addend.data == nullptr) {
      multiply_outer<S>(p);
      return true;
    }
  }
  return false;
}

template <typename S>
typename SumOf<S>::type sum_of_products(
    int64_t n, const S* x, int64_t x_stride, const S* y, int64_t y_stride) {
  using T = typename SumOf<S>::type;
  // The same pieces on any number of threads, so that the sum does not depend on it.
  constexpr int64_t kPiece = int64_t{1} << 18;
  constexpr int64_t kGathered = 2048;
  const auto piece = [&](int64_t begin, int64_t end) {
    if (x_stride == 1 && y_stride == 1) return dot<S>(end - begin, x + begin, y + begin);
    S gathered_x[kGathered];
    S gathered_y[kGathered];
    T sum = 0;
    for (int64_t i = begin; i < end; i += kGathered) {
      const int64_t count = std::min(kGathered, end - i);
      for (int64_t j = 0; j < count; ++j) {
        gathered_x[j] = x[(i + j) * x_stride];
        gathered_y[j] = y[(i + j) * y_stride];
      }
      sum += dot<S>(count, gathered_x, gathered_y);
    }
    return sum;
  };
  if (n <= kPiece) return n == 0 ? T{0} : piece(0, n);
  const int64_t pieces = ceil_div(n, kPiece);
  Scratch<T> sums(pieces);
  parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      sums.get()[i] = piece(i * kPiece, std::min(n, (i + 1) * kPiece));
    }
  });
  T sum = 0;
  for (int64_t i = 0; i < pieces; ++i) sum += sums.get()[i];
  return sum;
}

template void multiply_few_rows<float>(const Problem&);
template void multiply_few_rows<double>(const Problem&);
template void multiply_few_rows<Half>(const Problem&);
template void multiply_few_rows<BFloat16>(const Problem&);
template bool multiply_if_outer<float>(const Problem&);
template bool multiply_if_outer<double>(const Problem&);
template bool multiply_if_outer<Half>(const Problem&);
template bool multiply_if_outer<BFloat16>(const Problem&);
template float sum_of_products(int64_t, const float*, int64_t, const float*, int64_t);
template double sum_of_products(int64_t, const double*, int64_t, const double*, int64_t);
template float sum_of_products(int64_t, const Half*, int64_t, const Half*, int64_t);
template float sum_of_products(int64_t, const BFloat16*, int64_t, const BFloat16*, int64_t);

}  // namespace mindtorch::cpu::product
