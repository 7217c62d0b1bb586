// Sparse tensors, given by the coordinates of their entries.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "mindtorch/backends/cpu/indexing.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/sparse_rows.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kGrainProducts = 32 * 1024;
constexpr int64_t kGrainEntries = 16 * 1024;

void check_coordinates(const Tensor& index, int64_t size) {
  const auto* const places = index.data<int64_t>();
  std::atomic<int64_t> bad = -1;
  parallel_for(0, index.numel(), kGrainEntries, [&](int64_t from, int64_t to) {
    const int64_t found = check_positive_indices(places + from, to - from, size);
    if (found >= 0) bad.store(from + found, std::memory_order_relaxed);
  });
  MT_CHECK(bad < 0, IndexError, "index ", places[bad], " is out of bounds for a dimension of size ",
           size);
}

// Where the entries of each row are: see SparseRows. Entries of one row keep their order.
class RowOrder {
 public:
  RowOrder(const int64_t* row, int64_t count, int64_t rows)
      : begins_(static_cast<size_t>(rows) + 1) {
    if (count == 0) return;
    if (!find_begins(row, count, rows)) sort(row, count);
  }
  SparseRows with(const int64_t* columns) const {
    return {begins_.data(), order_.empty() ? nullptr : order_.data(), columns};
  }

 private:
  // Of entries whose rows ascend: each thread writes the rows that begin in its part. False if they
  // do not, which several threads must know before they write.
  bool find_begins(const int64_t* row, int64_t count, int64_t rows) {
    std::atomic<bool> ascends = true;
    if (count > kGrainEntries) {
      parallel_for(0, count, kGrainEntries, [&](int64_t from, int64_t to) {
        if (!std::is_sorted(row + std::max<int64_t>(from - 1, 0), row + to)) {
          ascends.store(false, std::memory_order_relaxed);
        }
      });
      if (!ascends) return false;
    }
    parallel_for(0, count, kGrainEntries, [&](int64_t from, int64_t to) {
      if (!find_rows(row, from, to, begins_.data())) {
        ascends.store(false, std::memory_order_relaxed);
      }
    });
    if (!ascends) return false;
    std::fill(begins_.begin() + row[count - 1] + 1, begins_.begin() + rows + 1, count);
    return true;
  }

  void sort(const int64_t* row, int64_t count) {
    std::fill(begins_.begin(), begins_.end(), 0);
    for (int64_t e = 0; e < count; ++e) ++begins_[static_cast<size_t>(row[e]) + 1];
    for (size_t r = 1; r < begins_.size(); ++r) begins_[r] += begins_[r - 1];
    order_.resize(static_cast<size_t>(count));
    std::vector<int64_t> next(begins_.begin(), begins_.end() - 1);
    for (int64_t e = 0; e < count; ++e) {
      order_[static_cast<size_t>(next[static_cast<size_t>(row[e])]++)] = e;
    }
  }

  std::vector<int64_t> begins_;
  std::vector<int64_t> order_;
};

// Sums of 16-bit floats are held in float32, those of integers wrap.
template <typename T>
using Sum = std::conditional_t<
    std::is_same_v<T, double>,
    double,
    std::conditional_t<std::is_integral_v<T>,
                       std::conditional_t<std::is_same_v<T, bool>, bool, uint64_t>,
                       float>>;

template <typename T>
void add_product(Sum<T>& sum, T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    sum = sum || (a && b);
  } else {
    sum += static_cast<Sum<T>>(a) * static_cast<Sum<T>>(b);
  }
}

template <typename T>
void multiply_rows_of(const SparseRows& rows,
                      const T* values,
                      const T* dense,
                      int64_t stride,
                      int64_t n,
                      T* out,
                      int64_t from,
                      int64_t to) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    multiply_rows(rows, values, dense, stride, n, out, from, to);
  } else {
    // No vector: a specialisation of that one for bool has no elements to point to.
    const auto sums = std::make_unique<Sum<T>[]>(static_cast<size_t>(n));
    for (int64_t r = from; r < to; ++r) {
      std::fill_n(sums.get(), n, Sum<T>());
      for (int64_t i = rows.begins[r]; i < rows.begins[r + 1]; ++i) {
        const int64_t e = rows.order == nullptr ? i : rows.order[i];
        const T* const line = dense + rows.columns[e] * stride;
        for (int64_t k = 0; k < n; ++k) add_product<T>(sums[k], values[e], line[k]);
      }
      for (int64_t k = 0; k < n; ++k) out[r * n + k] = static_cast<T>(sums[k]);
    }
  }
}

template <typename T>
T dot_of(const T* a, const T* b, int64_t n) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return dot_rows(a, b, n);
  } else {
    Sum<T> sum{};
    for (int64_t k = 0; k < n; ++k) add_product<T>(sum, a[k], b[k]);
    return static_cast<T>(sum);
  }
}

// Rows whose elements lie side by side.
Tensor with_lines(const Tensor& matrix) {
  return matrix.strides()[1] == 1 || matrix.size(1) == 1 ? matrix : as_contiguous(matrix);
}

void coo_mm(ops::Launch&,
            const Tensor& row,
            const Tensor& col,
            const Tensor& values,
            const Tensor& dense,
            int64_t rows,
            Tensor& out) {
  const Tensor row_index = as_index(row);
  const Tensor col_index = as_index(col);
  check_coordinates(row_index, rows);
  check_coordinates(col_index, dense.size(0));
  if (out.numel() == 0) return;
  const Tensor factors = as_contiguous(values);
  const Tensor lines = with_lines(dense);
  const int64_t count = row.numel();
  const int64_t n = dense.size(1);
  const RowOrder order(row_index.data<int64_t>(), count, rows);
  const SparseRows entries = order.with(col_index.data<int64_t>());
  const int64_t grain = std::max<int64_t>(1, kGrainProducts * rows / ((count + rows) * n));
  visit_dtype(out.dtype(), [&]<typename T>() {
    parallel_for(0, rows, grain, [&](int64_t from, int64_t to) {
      multiply_rows_of<T>(entries, factors.data<T>(), lines.data<T>(), lines.strides()[0], n,
                          out.data<T>(), from, to);
    });
  });
}

void coo_dot(ops::Launch&,
             const Tensor& row,
             const Tensor& col,
             const Tensor& left,
             const Tensor& right,
             Tensor& out) {
  const Tensor row_index = as_index(row);
  const Tensor col_index = as_index(col);
  check_coordinates(row_index, left.size(0));
  check_coordinates(col_index, right.size(0));
  if (out.numel() == 0) return;
  const Tensor a = with_lines(left);
  const Tensor b = with_lines(right);
  const int64_t n = left.size(1);
  const auto* const rows = row_index.data<int64_t>();
  const auto* const cols = col_index.data<int64_t>();
  visit_dtype(out.dtype(), [&]<typename T>() {
    parallel_for(0, out.numel(), std::max<int64_t>(1, kGrainProducts / (n + 1)),
                 [&](int64_t from, int64_t to) {
                   for (int64_t e = from; e < to; ++e) {
                     out.data<T>()[e] = dot_of<T>(a.data<T>() + rows[e] * a.strides()[0],
                                                  b.data<T>() + cols[e] * b.strides()[0], n);
                   }
                 });
  });
}

void coo_merge(ops::Launch&, const Tensor& left, const Tensor& right, Tensor& out) {
  const Tensor first = as_contiguous(left);
  const Tensor second = as_contiguous(right);
  const std::span a(first.data<int64_t>(), static_cast<size_t>(left.numel()));
  const std::span b(second.data<int64_t>(), static_cast<size_t>(right.numel()));
  auto* const of_a = out.data<int64_t>();
  auto* const of_b = of_a + a.size();
  size_t i = 0;
  size_t j = 0;
  for (int64_t entry = 0; i < a.size() || j < b.size(); ++entry) {
    const bool takes_a = j == b.size() || (i < a.size() && a[i] <= b[j]);
    const bool takes_b = i == a.size() || (j < b.size() && b[j] <= a[i]);
    if (takes_a) of_a[i++] = entry;
    if (takes_b) of_b[j++] = entry;
  }
}

// Calls visit(i, j) for every entry of a sum, merged as _coo_merge does: the entries of either side
// that it is made of, -1 where there is none.
template <typename Visit>
void merge_entries(const Tensor& left, const Tensor& right, Visit visit) {
  const int64_t dims = left.size(0);
  const int64_t a = left.size(1);
  const int64_t b = right.size(1);
  const auto* const of_a = left.data<int64_t>();
  const auto* const of_b = right.data<int64_t>();
  const auto compare = [=](int64_t i, int64_t j) {
    for (int64_t d = 0; d < dims; ++d) {
      const int64_t difference = of_a[d * a + i] - of_b[d * b + j];
      if (difference != 0) return difference;
    }
    return int64_t{0};
  };
  int64_t i = 0;
  int64_t j = 0;
  while (i < a || j < b) {
    const int64_t order = i == a ? 1 : j == b ? -1 : compare(i, j);
    visit(order <= 0 ? i++ : -1, order >= 0 ? j++ : -1);
  }
}

template <typename T>
T sum_of(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_same_v<T, ComplexHalf>) {
    MT_THROW(NotImplementedError, "_coo_add is not implemented for 'ComplexHalf'");
  } else {
    return static_cast<T>(a + b);
  }
}

// The places of entries in a contiguous tensor.
struct Coordinates {
  const int64_t* index;  // `count` for each dim
  int64_t count;
  IntList sizes;
  bool ascend;  // whether those of the first dim do

  Coordinates(const int64_t* index, int64_t count, IntList sizes)
      : index(index), count(count), sizes(sizes) {
    for (size_t d = 0; d < sizes.size(); ++d) {
      const int64_t* const row = index + static_cast<int64_t>(d) * count;
      const int64_t bad = check_positive_indices(row, count, sizes[d]);
      MT_CHECK(bad < 0, IndexError, "index ", row[bad], " is out of bounds for dimension ", d,
               " with size ", sizes[d]);
    }
    ascend = !sizes.empty() && std::is_sorted(index, index + count);
  }

  // A range of entries that holds all at places [begin, end); `all` is the number of places.
  std::pair<int64_t, int64_t> near(int64_t begin, int64_t end, int64_t all) const {
    if (!ascend) return {0, count};
    const int64_t each = all / sizes[0];
    const auto* const first = std::lower_bound(index, index + count, begin / each);
    return {first - index, std::upper_bound(first, index + count, (end - 1) / each) - index};
  }

  void find_places(int64_t first, int64_t n, int64_t* places) const {
    if (sizes.empty()) {
      std::fill_n(places, n, 0);
    } else {
      std::copy_n(index + first, n, places);
    }
    for (size_t d = 1; d < sizes.size(); ++d) {
      const int64_t* const row = index + static_cast<int64_t>(d) * count + first;
      const int64_t size = sizes[d];
      for (int64_t i = 0; i < n; ++i) places[i] = places[i] * size + row[i];
    }
  }
};

// A part of the result, at places [begin, end).
struct Part {
  int64_t begin;
  int64_t end;
  void* out;

  bool has(int64_t place) const {
    return static_cast<uint64_t>(place - begin) < static_cast<uint64_t>(end - begin);
  }
};

// Each thread clears and fills a part of the result, and adds in the order of entries. Where they
// come in the order of rows, it does so in pieces that stay in its cache between the two.
void coo_dense(
    ops::Launch&, const Tensor& indices, const Tensor& values, IntList size, Tensor& out) {
  constexpr int64_t kPieceBytes = 256 << 10;
  constexpr int64_t kBlock = 256;  // entries
  const Tensor index = as_contiguous(indices);
  const Tensor all_values = as_contiguous(values);
  const Coordinates coordinates(index.data<int64_t>(), index.size(1), size);
  const int64_t element = out.element_size();
  const int64_t piece = kPieceBytes / element;
  const auto add = visit_dtype(out.dtype(), []<typename T>() {
    return +[](const Part& part, const int64_t* places, int64_t n, const char* from) {
      for (int64_t i = 0; i < n; ++i) {
        if (!part.has(places[i])) continue;
        T& sum = static_cast<T*>(part.out)[places[i]];
        sum = sum_of<T>(sum, reinterpret_cast<const T*>(from)[i]);
      }
    };
  });
  parallel_for(0, out.numel(), piece, [&](int64_t from, int64_t to) {
    const int64_t step = coordinates.ascend ? piece : to - from;
    int64_t places[kBlock];
    for (int64_t begin = from; begin < to; begin += step) {
      const Part part = {begin, std::min(to, begin + step), out.data_ptr()};
      std::memset(out.data<char>() + begin * element, 0,
                  static_cast<size_t>((part.end - begin) * element));
      const auto [first, last] = coordinates.near(begin, part.end, out.numel());
      for (int64_t i = first; i < last; i += kBlock) {
        const int64_t n = std::min(kBlock, last - i);
        coordinates.find_places(i, n, places);
        add(part, places, n, all_values.data<char>() + i * element);
      }
    }
  });
}

std::tuple<Tensor, Tensor> coo_add(ops::Launch&,
                                   const Tensor& left_indices,
                                   const Tensor& left,
                                   const Tensor& right_indices,
                                   const Tensor& right) {
  const Tensor a = as_index(left_indices);
  const Tensor b = as_index(right_indices);
  const Tensor of_a = as_contiguous(left);
  const Tensor of_b = as_contiguous(right);
  MT_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(0) == b.size(0) && left.dim() > 0 &&
               right.dim() > 0 && a.size(1) == left.size(0) && b.size(1) == right.size(0) &&
               left.dtype() == right.dtype(),
           RuntimeError, "_coo_add: expected the places and values of two tensors of one kind");
  int64_t count = 0;
  merge_entries(a, b, [&](int64_t, int64_t) { ++count; });
  Shape sizes = left.sizes();
  sizes[0] = count;
  const Tensor indices = Tensor::make({a.size(0), count}, DType::kInt64);
  const Tensor values = Tensor::make(sizes, left.dtype());
  const int64_t n = numel(IntList(sizes).subspan(1));
  const int64_t dims = a.size(0);
  const int64_t na = a.size(1);
  const int64_t nb = b.size(1);
  const auto* const places_a = a.data<int64_t>();
  const auto* const places_b = b.data<int64_t>();
  visit_any_dtype(values.dtype(), [&]<typename T>() {
    int64_t* place = indices.data<int64_t>();
    T* to = values.data<T>();
    const T* const from_a = of_a.data<T>();
    const T* const from_b = of_b.data<T>();
    merge_entries(a, b, [=](int64_t i, int64_t j) mutable {
      for (int64_t d = 0; d < dims; ++d) {
        place[d * count] = i >= 0 ? places_a[d * na + i] : places_b[d * nb + j];
      }
      const T* const one = i >= 0 ? from_a + i * n : from_b + j * n;
      if (i >= 0 && j >= 0) {
        for (int64_t k = 0; k < n; ++k) to[k] = sum_of<T>(one[k], from_b[j * n + k]);
      } else {
        std::copy_n(one, n, to);
      }
      ++place;
      to += n;
    });
  });
  return {indices, values};
}

}  // namespace

void register_sparse(ops::Registry& registry) {
  registry.kernel<coo_mm>(DeviceType::kCpu, "_coo_mm");
  registry.kernel<coo_dot>(DeviceType::kCpu, "_coo_dot");
  registry.kernel<coo_dense>(DeviceType::kCpu, "_coo_dense");
  registry.kernel<coo_merge>(DeviceType::kCpu, "_coo_merge");
  registry.dynamic_kernel<coo_add>(DeviceType::kCpu, "_coo_add");
}

}  // namespace mindtorch::cpu
