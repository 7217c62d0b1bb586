#include "mindtorch/backends/cpu/kernels/indexed.h"

#include <cstdlib>
#include <cstring>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/indexing.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/scratch.h"
#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/backends/cpu/tiles/half_arithmetic.h"

namespace mindtorch::cpu {
namespace {

using Dim = Indexed::Dim;

constexpr int64_t kElementGrain = 16 * 1024;  // elements a thread should get at least
// Lines shorter than this, where the indexed dim is longer, cost more than going across.
constexpr int64_t kShortLine = 8;

int64_t step(const Tensor& tensor, size_t dim) {
  return tensor.dim() == 0 ? 0 : tensor.strides()[dim];
}

// `next` continues the steps of `dim` in all tensors, so that both are one.
bool joins(const Dim& dim, const Dim& next) {
  return dim.self == next.self * next.size && dim.index == next.index * next.size &&
         dim.other == next.other * next.size;
}

struct Offsets {
  int64_t self = 0;
  int64_t index = 0;
  int64_t other = 0;
};

// Calls body(offsets) for the places [begin, end) of a nest of dims, the last one fastest.
template <typename Body>
void for_places(const SmallVector<Dim, 6>& dims, int64_t begin, int64_t end, const Body& body) {
  SmallVector<int64_t, 6> at(dims.size(), 0);
  Offsets offsets;
  const auto move = [&](size_t i, int64_t count) {
    offsets.self += count * dims[i].self;
    offsets.index += count * dims[i].index;
    offsets.other += count * dims[i].other;
  };
  int64_t rest = begin;
  for (size_t i = dims.size(); i-- > 0;) {
    at[i] = rest % dims[i].size;
    rest /= dims[i].size;
    move(i, at[i]);
  }
  const Dim last = dims.empty() ? Dim() : dims.back();
  for (int64_t place = begin; place < end;) {
    // The last dim on its own: lines may be short.
    const int64_t run = dims.empty() ? 1 : std::min(end - place, last.size - at.back());
    Offsets here = offsets;
    for (int64_t i = 0; i < run; ++i) {
      body(here);
      here = {here.self + last.self, here.index + last.index, here.other + last.other};
    }
    place += run;
    if (dims.empty()) continue;
    move(dims.size() - 1, run - 1);
    at.back() += run - 1;
    for (size_t i = dims.size(); i-- > 0;) {
      move(i, 1);
      if (++at[i] < dims[i].size) break;
      move(i, -at[i]);
      at[i] = 0;
    }
  }
}

int64_t count(const SmallVector<Dim, 6>& dims) {
  int64_t result = 1;
  for (const Dim& dim : dims) result *= dim.size;
  return result;
}

template <typename T>
T* shifted(T* data, int64_t offset, int64_t element_size) {
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  return static_cast<Byte*>(data) + offset * element_size;
}

// Lines run along one dim, and either that is the indexed one or `along` is a loop around them.
struct Nest {
  IndexedLine line;
  Dim along;                  // of size 1 where the lines run along it
  SmallVector<Dim, 6> outer;  // the rest

  explicit Nest(const Indexed& indexed) : along(indexed.along), outer(indexed.dims) {
    join_dims();
    line.place_step = along.self;
    line.size = indexed.places;
    size_t best = outer.size();  // the indexed dim
    const auto is_value = [&](const Dim& dim) { return dim.other == 0; };
    const bool single = is_value(along) && std::all_of(outer.begin(), outer.end(), is_value);
    const auto cost = [&](const Dim& dim) { return std::abs(single ? dim.self : dim.other); };
    for (size_t i = 0; i < outer.size(); ++i) {
      const Dim& rival = best == outer.size() ? along : outer[best];
      const bool is_short = outer[i].size < kShortLine && outer[i].size < along.size;
      if (!is_short && (rival.size == 1 || cost(outer[i]) <= cost(rival))) best = i;
    }
    if (best == outer.size()) {
      set_line(along);
      line.self_step = 0;
      along = Dim();
    } else {
      set_line(outer[best]);
      outer.erase(outer.begin() + best);
      along.self = 0;
    }
  }

  // One index for the whole line, and elements side by side.
  bool has_rows() const { return line.index_step == 0 && line.self_step == 1; }

 private:
  void join_dims() {
    SmallVector<Dim, 6> joined;
    for (const Dim& dim : outer) {
      if (dim.size == 1) continue;
      if (!joined.empty() && joins(joined.back(), dim)) {
        joined.back() = {joined.back().size * dim.size, dim.self, dim.index, dim.other};
      } else {
        joined.push_back(dim);
      }
    }
    outer = std::move(joined);
  }
  void set_line(const Dim& dim) {
    line.count = dim.size;
    line.self_step = dim.self;
    line.index_step = dim.index;
    line.other_step = dim.other;
  }
};

// self[i] = self[i] combined with other[i], n elements side by side.
class RowStep {
 public:
  RowStep(Combine how, DType dtype, int64_t other_step) : element_size_(size_bytes(dtype)) {
    if (how == Combine::kSet) {
      copies_ = other_step == 1;
      fills_ = other_step == 0;
    } else if (other_step == 1) {
      const ops::Pointwise function = how == Combine::kAdd        ? ops::Pointwise::kAdd
                                      : how == Combine::kMultiply ? ops::Pointwise::kMul
                                      : how == Combine::kMax      ? ops::Pointwise::kMaximum
                                                                  : ops::Pointwise::kMinimum;
      const bool is_half = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
      tile_ = is_half ? find_half_tile(function, dtype) : find_tile(function, dtype);
    }
  }
  explicit operator bool() const { return copies_ || fills_ || tile_ != nullptr; }

  void operator()(void* self, const void* other, int64_t n) const {
    if (copies_) {
      std::memcpy(self, other, static_cast<size_t>(n * element_size_));
    } else if (fills_) {
      find_gather(element_size_)(other, 0, self, n);
    } else {
      const void* const inputs[2] = {self, other};
      tile_(inputs, self, n, {});
    }
  }

 private:
  int64_t element_size_;
  bool copies_ = false;
  bool fills_ = false;
  TileFn tile_ = nullptr;
};

}  // namespace

Indexed::Indexed(const Tensor& self_in, int64_t dim, const Tensor& index_in, const Tensor& values)
    : self(self_in.data_ptr()),
      index(index_in.data<int64_t>()),
      other(values.data_ptr()),
      dtype(self_in.dtype()),
      other_dtype(values.dtype()) {
  const size_t d = line_dim(self_in, dim);
  places = line_length(self_in, dim);
  // A vector of indices names whole slices.
  const bool is_vector = index_in.dim() <= 1 && self_in.dim() > 1;
  const Shape& shape = !is_vector          ? index_in.sizes()
                       : values.dim() == 0 ? self_in.sizes()
                                           : values.sizes();
  const size_t rank = shape.size();
  for (size_t i = 0; i < rank; ++i) {
    if (i == d) continue;
    dims.push_back(
        {shape[i], step(self_in, i), is_vector ? 0 : step(index_in, i), step(values, i)});
  }
  along.self = step(self_in, d);
  along.size = is_vector || rank == 0 ? index_in.numel() : shape[d];
  along.index = step(index_in, is_vector ? 0 : d);
  along.other = step(values, d);
}

int64_t Indexed::numel() const { return along.size * count(dims); }

Tensor checked_places(const Tensor& self, int64_t dim, const Tensor& index) {
  Tensor places = index.dtype() == DType::kInt64 ? index : as_index(index);
  // An expanded index holds each number once.
  Shape sizes = places.sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (places.strides()[i] == 0 && sizes[i] > 1) sizes[i] = 1;
  }
  const Tensor once =
      as_index(places.alias(std::move(sizes), places.strides(), places.storage_offset()));
  const auto* at = once.data<int64_t>();
  const int64_t size = line_length(self, dim);
  const int64_t bad = check_positive_indices(at, once.numel(), size);
  MT_CHECK(bad < 0, RuntimeError, "index ", at[bad], " is out of bounds for dimension ",
           line_dim(self, dim), " with size ", size);
  return places;
}

void gather_indexed(const Indexed& indexed) {
  if (indexed.numel() == 0) return;
  Nest nest(indexed);
  const int64_t element = size_bytes(indexed.dtype);
  const bool rows = nest.has_rows() && nest.line.other_step == 1;
  const GatherLineFn gather = find_gather_line(element);
  const auto run = [&](const IndexedLine& line, const Offsets& at) {
    const void* const from = shifted<const void>(indexed.self, at.self, element);
    void* const to = shifted(indexed.other, at.other, element);
    const int64_t* const index = indexed.index + at.index;
    if (rows) {
      std::memcpy(to, shifted(from, *index * line.place_step, element),
                  static_cast<size_t>(line.count * element));
    } else {
      gather(line, from, index, to);
    }
  };
  if (nest.along.size > 1) nest.outer.push_back(nest.along);
  const IndexedLine& line = nest.line;
  const int64_t lines = count(nest.outer);
  if (lines == 1) {
    parallel_for(0, line.count, kElementGrain, [&](int64_t begin, int64_t end) {
      IndexedLine part = line;
      part.count = end - begin;
      run(part, {begin * line.self_step, begin * line.index_step, begin * line.other_step});
    });
    return;
  }
  parallel_for(0, lines, std::max<int64_t>(1, kElementGrain / line.count),
               [&](int64_t begin, int64_t end) {
                 for_places(nest.outer, begin, end, [&](const Offsets& at) { run(line, at); });
               });
}

namespace {
void scatter_nest(Combine how, const Indexed& indexed, const Nest& nest, bool rounds_once) {
  const IndexedLine& line = nest.line;
  const int64_t element = size_bytes(indexed.dtype);
  const int64_t other_element = size_bytes(indexed.other_dtype);
  const ScatterLineFn scatter =
      find_scatter_line(how, indexed.dtype, indexed.other_dtype, rounds_once);
  const RowStep row(how, indexed.dtype, line.other_step);
  const bool rows = nest.has_rows() && row && indexed.dtype == indexed.other_dtype;
  const auto run = [&](const IndexedLine& part, const Offsets& at) {
    void* const to = shifted(indexed.self, at.self, element);
    const void* const from = shifted<const void>(indexed.other, at.other, other_element);
    const int64_t* const index = indexed.index + at.index;
    if (rows) {
      row(shifted(to, *index * part.place_step, element), from, part.count);
    } else {
      scatter(part, to, index, from);
    }
  };

  // Threads write to different places: each has lines of its own or, where there are too few, a
  // part of every line across the indexed dim.
  const int64_t lines = count(nest.outer);
  const int64_t threads = std::min<int64_t>(num_threads(), indexed.numel() / kElementGrain);
  const int64_t parts = line.self_step == 0 ? 1 : std::max<int64_t>(1, ceil_div(threads, lines));
  const int64_t part_size = ceil_div(ceil_div(line.count, parts), 64) * 64;
  const int64_t unit = nest.along.size * std::min(part_size, line.count);
  parallel_for(0, lines * parts, std::max<int64_t>(1, kElementGrain / unit),
               [&](int64_t begin, int64_t end) {
                 for (int64_t number = begin; number < end;) {
                   // The parts of one line, or many whole lines.
                   const int64_t first = number % parts * part_size;
                   IndexedLine part = line;
                   part.count = std::min(part_size, line.count - first);
                   const int64_t next = parts == 1 ? end : number + 1;
                   for_places(nest.outer, number / parts, ceil_div(next, parts), [&](Offsets at) {
                     at.self += first * line.self_step;
                     at.index += first * line.index_step;
                     at.other += first * line.other_step;
                     for (int64_t i = 0; i < nest.along.size && part.count > 0; ++i) {
                       run(part, at);
                       at.index += nest.along.index;
                       at.other += nest.along.other;
                     }
                   });
                   number = next;
                 }
               });
}

// Note [Stripes]
// Rows are often as far apart as a power of two: all of a column then falls on a few sets of the
// caches, and a load waits for earlier stores that only look like stores to its own place. Where
// every place is met often enough, some columns at a time are copied side by side, scattered into
// there, and copied back.
class Stripes {
 public:
  // With elements of `dtype` while they are side by side.
  Stripes(const Nest& nest, DType dtype)
      : nest_(nest), dtype_(dtype), per_line_(ceil_div(nest.line.count, kColumns)) {}

  bool are_worthwhile() const {
    const IndexedLine& line = nest_.line;
    const int64_t element = size_bytes(dtype_);
    return element <= kMostElementBytes && line.size * kColumns * element <= kMostBlockBytes &&
           line.self_step == 1 && line.place_step >= line.count && line.index_step != 0 &&
           nest_.along.size >= kFewestSteps && nest_.along.size * 4 >= line.size;
  }

  void scatter(Combine how, const Indexed& indexed) const {
    const ScatterLineFn scatter_row = find_scatter_line(how, dtype_, indexed.other_dtype);
    const int64_t unit = nest_.along.size * kColumns;
    const int64_t grain = std::max<int64_t>(1, kElementGrain / unit);
    parallel_for(0, count(nest_.outer) * per_line_, grain, [&](int64_t begin, int64_t end) {
      const ScratchArray<char> block(nest_.line.size * kColumns * size_bytes(dtype_));
      for (int64_t number = begin; number < end; ++number) {
        const int64_t line = number / per_line_;
        for_places(nest_.outer, line, line + 1, [&](const Offsets& at) {
          scatter_stripe(scatter_row, indexed, at, number % per_line_ * kColumns, block.get());
        });
      }
    });
  }

 private:
  static constexpr int64_t kColumns = 64;
  static constexpr int64_t kMostElementBytes = 4;  // copies of larger ones take too long
  static constexpr int64_t kMostBlockBytes = 512 * 1024;
  static constexpr int64_t kFewestSteps = 16;

  void scatter_stripe(ScatterLineFn scatter_row,
                      const Indexed& indexed,
                      Offsets at,
                      int64_t first,
                      char* block) const {
    IndexedLine row = nest_.line;
    row.count = std::min(kColumns, row.count - first);
    row.place_step = row.count;
    at.self += first;
    at.index += first * row.index_step;
    at.other += first * row.other_step;
    const int64_t element = size_bytes(indexed.dtype);
    const int64_t place_bytes = nest_.line.place_step * element;
    const int64_t row_bytes = row.count * size_bytes(dtype_);
    char* const columns = static_cast<char*>(shifted(indexed.self, at.self, element));
    for (int64_t place = 0; place < row.size; ++place) {
      copy_row(indexed.dtype, columns + place * place_bytes, dtype_, block + place * row_bytes,
               row.count);
    }
    for (int64_t i = 0; i < nest_.along.size; ++i) {
      scatter_row(row, block, indexed.index + at.index,
                  shifted<const void>(indexed.other, at.other, size_bytes(indexed.other_dtype)));
      at.index += nest_.along.index;
      at.other += nest_.along.other;
    }
    for (int64_t place = 0; place < row.size; ++place) {
      copy_row(dtype_, block + place * row_bytes, indexed.dtype, columns + place * place_bytes,
               row.count);
    }
  }

  static void copy_row(DType from_dtype, const void* from, DType to_dtype, void* to, int64_t n) {
    if (from_dtype == to_dtype) {
      std::memcpy(to, from, static_cast<size_t>(n * size_bytes(to_dtype)));
    } else {
      find_cast(from_dtype, to_dtype)(from, to, n);
    }
  }

  const Nest& nest_;
  DType dtype_;
  int64_t per_line_;  // stripes of a line
};
}  // namespace

void scatter_indexed(Combine how, const Indexed& indexed) {
  if (indexed.numel() == 0) return;
  const Nest nest(indexed);
  const Stripes stripes(nest, indexed.dtype);
  if (stripes.are_worthwhile()) return stripes.scatter(how, indexed);
  scatter_nest(how, indexed, nest, false);
}

bool scatter_rounding_once(Combine how, const Indexed& indexed) {
  if (indexed.numel() == 0) return true;
  const Nest nest(indexed);
  if (nest.line.is_dense()) {
    scatter_nest(how, indexed, nest, true);
    return true;
  }
  const Stripes stripes(nest, DType::kFloat32);
  if (!stripes.are_worthwhile()) return false;
  stripes.scatter(how, indexed);
  return true;
}

}  // namespace mindtorch::cpu
