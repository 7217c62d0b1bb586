#include "mindtorch/backends/cpu/transpose.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/element_runs.h"
#include "mindtorch/backends/cpu/memory_unit.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/runs.h"
#include "mindtorch/backends/cpu/transpose_plane.h"
#include "mindtorch/base/small_vector.h"

// Note [Transposing large arrays]
// A transposed copy reads along one dimension and writes along another, so one of the two touches a
// new cache line, often a new page, with every element. Squares are therefore transposed in
// registers, and a block of them in a staging buffer that stays in the first-level cache, from
// which its rows leave as runs. Arrays larger than the caches are staged in the second-level cache,
// and their runs of a kilobyte leave by non-temporal stores, which do not read the destination
// first: that halved the time of a 4096 x 4096 float32 copy.
namespace mindtorch::cpu {
namespace {

constexpr int64_t kGrainBytes = 64 << 10;  // below this a second thread costs more than it saves
constexpr int64_t kLongRunBytes = 1024;    // worth leaving by non-temporal stores
constexpr int64_t kLineBytes = 64;
constexpr int64_t kUnstagedBytes = 16 << 10;  // arrays this small fit into the first-level cache

// The buffer of Note [Transposing large arrays]: `runs` rows of the destination's block.
struct Stage {
  int64_t run_bytes;
  int64_t runs;
};
constexpr Stage kSmallStage = {256, 64};    // stays in the first-level cache
constexpr Stage kLargeStage = {1024, 256};  // stays in the second-level cache

struct Dimension {
  int64_t size;
  int64_t from;  // strides in bytes
  int64_t to;
};
using Dimensions = SmallVector<Dimension, 8>;

// ---- One row of elements ------------------------------------------------------------------------

template <size_t kSize>
void copy_row(const uint8_t* from, int64_t from_stride, uint8_t* to, int64_t to_stride, int64_t n) {
  constexpr auto kUnit = static_cast<int64_t>(kSize);
  if (to_stride == kUnit && from_stride == 2 * kUnit && kSize <= 8) {
    take_every_other(kUnit, from, to, n);
  } else if (to_stride == kUnit) {
    for (int64_t i = 0; i < n; ++i) copy_unit<kSize>(from + i * from_stride, to + i * kUnit);
  } else if (from_stride == kUnit) {
    for (int64_t i = 0; i < n; ++i) copy_unit<kSize>(from + i * kUnit, to + i * to_stride);
  } else {
    for (int64_t i = 0; i < n; ++i) copy_unit<kSize>(from + i * from_stride, to + i * to_stride);
  }
}

// ---- Staged transposing -------------------------------------------------------------------------

struct FreeMemory {
  void operator()(uint8_t* memory) const { std::free(memory); }
};

uint8_t* stage_memory() {
  thread_local std::unique_ptr<uint8_t, FreeMemory> memory;
  if (memory == nullptr) {
    memory.reset(static_cast<uint8_t*>(
        std::aligned_alloc(4096, static_cast<size_t>(kLargeStage.run_bytes * kLargeStage.runs))));
    if (memory == nullptr) throw std::bad_alloc();
  }
  return memory.get();
}

// Transposes a block of at most the stage's size; its rows leave the stage as runs.
void transpose_staged(int64_t size,
                      const Plane& plane,
                      int64_t rows,
                      int64_t cols,
                      const Stage& stage,
                      bool streams) {
  uint8_t* staged = stage_memory();
  transpose_plane(size, {plane.from, plane.from_stride, staged, stage.run_bytes}, rows, cols);
  const Runs runs = {staged, stage.run_bytes, plane.to, plane.to_stride, cols};
  streams ? stream_runs(runs, rows * size) : copy_runs(runs, rows * size);
}

// ---- Walking the outer dimensions ---------------------------------------------------------------

// Steps through the elements of the outer dimensions, the last one fastest.
class Odometer {
 public:
  Odometer(const Dimensions& dims, const uint8_t* from, uint8_t* to, int64_t start)
      : dims_(dims), index_(dims.size()), from_(from), to_(to) {
    for (size_t i = dims.size(); i-- > 0;) {
      index_[i] = start % dims[i].size;
      start /= dims[i].size;
      from_ += index_[i] * dims[i].from;
      to_ += index_[i] * dims[i].to;
    }
  }
  void next() {
    for (size_t i = dims_.size(); i-- > 0;) {
      from_ += dims_[i].from;
      to_ += dims_[i].to;
      if (++index_[i] < dims_[i].size) return;
      from_ -= dims_[i].size * dims_[i].from;
      to_ -= dims_[i].size * dims_[i].to;
      index_[i] = 0;
    }
  }
  const uint8_t* from() const { return from_; }
  uint8_t* to() const { return to_; }

 private:
  const Dimensions& dims_;
  SmallVector<int64_t, 8> index_;
  const uint8_t* from_;
  uint8_t* to_;
};

int64_t count(const Dimensions& dims) {
  int64_t product = 1;
  for (const Dimension& dim : dims) product *= dim.size;
  return product;
}

// Of the source: what is expanded is read again and again.
int64_t distinct_count(const Dimensions& dims) {
  int64_t product = 1;
  for (const Dimension& dim : dims) product *= dim.from == 0 ? 1 : dim.size;
  return product;
}

// Calls body(runs, elements in each of them) so that together they cover every element of `dims`
// and `last`, which runs along the elements of each. On several threads where that pays.
template <typename Body>
void for_each_run(Dimensions dims,
                  const Dimension& last,
                  int64_t element_size,
                  const uint8_t* from,
                  uint8_t* to,
                  const Body& body) {
  const int64_t bytes_each = last.size * element_size;
  if (bytes_each >= 2 * kGrainBytes && count(dims) < num_threads()) {  // few, and long
    Odometer at(dims, from, to, 0);
    for (int64_t i = count(dims); i > 0; --i, at.next()) {
      parallel_for(0, last.size, kGrainBytes / element_size, [&](int64_t begin, int64_t end) {
        body(Runs{at.from() + begin * last.from, 0, at.to() + begin * last.to, 0, 1}, end - begin);
      });
    }
    return;
  }
  Dimension inner = {1, 0, 0};
  if (!dims.empty()) {
    inner = dims.back();
    dims.pop_back();
  }
  const int64_t total = count(dims) * inner.size;
  parallel_for(0, total, ceil_div(kGrainBytes, bytes_each), [&](int64_t begin, int64_t end) {
    Odometer at(dims, from, to, begin / inner.size);
    int64_t skipped = begin % inner.size;
    while (begin < end) {
      const int64_t runs = std::min(inner.size - skipped, end - begin);
      body(Runs{at.from() + skipped * inner.from, inner.from, at.to() + skipped * inner.to,
                inner.to, runs},
           last.size);
      begin += runs;
      skipped = 0;
      at.next();
    }
  });
}

// `rows` is contiguous in the destination and `cols` in the source.
void copy_planes(int64_t size,
                 const Dimensions& outer,
                 Dimension rows,
                 Dimension cols,
                 const uint8_t* from,
                 uint8_t* to) {
  const int64_t planes = count(outer);
  const int64_t plane_bytes = rows.size * cols.size * size;
  const bool streams =
      exceeds_caches(2 * planes * plane_bytes) && rows.size * size >= kSmallStage.run_bytes;
  const bool staged = streams || (plane_bytes > kUnstagedBytes && rows.size * size >= kLineBytes);
  const Stage& stage = streams ? kLargeStage : kSmallStage;
  const int64_t block_rows = stage.run_bytes / size;
  const int64_t block_cols = stage.runs;
  const int64_t col_blocks = ceil_div(cols.size, block_cols);
  const int64_t blocks = ceil_div(rows.size, block_rows) * col_blocks;
  const int64_t block_bytes =
      std::min(rows.size, block_rows) * std::min(cols.size, block_cols) * size;
  const int64_t grain = ceil_div(kGrainBytes, block_bytes);

  parallel_for(0, planes * blocks, grain, [&](int64_t begin, int64_t end) {
    Odometer at(outer, from, to, begin / blocks);
    int64_t block = begin % blocks;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = block / col_blocks * block_rows;
      const int64_t col = block % col_blocks * block_cols;
      const Plane plane = {at.from() + row * rows.from + col * size, rows.from,
                           at.to() + col * cols.to + row * size, cols.to};
      const int64_t height = std::min(block_rows, rows.size - row);
      const int64_t width = std::min(block_cols, cols.size - col);
      if (staged) {
        transpose_staged(size, plane, height, width, stage, streams);
      } else {
        transpose_plane(size, plane, height, width);
      }
      if (++block == blocks) {
        block = 0;
        at.next();
      }
    }
  });
}

// Drops dimensions of one element, puts the rest in the destination's memory order and merges
// neighbours that are one run in both arrays.
Dimensions simplify(const int64_t* shape,
                    int ndim,
                    const int64_t* from_strides,
                    const int64_t* to_strides) {
  Dimensions dims;
  dims.reserve(static_cast<size_t>(ndim));
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] != 1) dims.push_back({shape[i], from_strides[i], to_strides[i]});
  }
  std::stable_sort(dims.begin(), dims.end(), [](const Dimension& a, const Dimension& b) {
    return std::abs(a.to) > std::abs(b.to);
  });
  size_t kept = 0;
  for (size_t i = 1; i < dims.size(); ++i) {
    Dimension& outer = dims[kept];
    const Dimension& inner = dims[i];
    if (outer.from == inner.size * inner.from && outer.to == inner.size * inner.to) {
      outer = {outer.size * inner.size, inner.from, inner.to};
    } else {
      dims[++kept] = inner;
    }
  }
  if (!dims.empty()) dims.resize(kept + 1);
  return dims;
}

// Treats a short run of elements as one larger element: fewer, and tiles can move them.
void widen_element(Dimensions& dims, int64_t& element_size) {
  if (dims.empty()) return;
  const Dimension last = dims.back();
  const int64_t bytes = last.size * element_size;
  const bool is_unit = bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
  if (last.from == element_size && last.to == element_size && is_unit) {
    dims.pop_back();
    element_size = bytes;
  }
}

template <size_t kSize>
void copy_elements(Dimensions& dims, const uint8_t* from, uint8_t* to) {
  constexpr auto kUnit = static_cast<int64_t>(kSize);
  const Dimension last = dims.back();
  dims.pop_back();
  if (last.to == kUnit) {
    const auto along_source =
        std::find_if(dims.begin(), dims.end(), [](const Dimension& d) { return d.from == kUnit; });
    if (along_source != dims.end()) {
      const Dimension cols = *along_source;
      dims.erase(along_source);
      copy_planes(kUnit, dims, last, cols, from, to);
      return;
    }
  }
  for_each_run(dims, last, kUnit, from, to, [&](const Runs& runs, int64_t n) {
    for (int64_t i = 0; i < runs.count; ++i) {
      copy_row<kSize>(runs.from + i * runs.from_step, last.from, runs.to + i * runs.to_step,
                      last.to, n);
    }
  });
}

}  // namespace

void copy_strided(int64_t element_size,
                  const int64_t* shape,
                  int ndim,
                  const void* from_memory,
                  const int64_t* from_strides_bytes,
                  void* to_memory,
                  const int64_t* to_strides_bytes) {
  const auto* from = static_cast<const uint8_t*>(from_memory);
  auto* to = static_cast<uint8_t*>(to_memory);
  if (std::find(shape, shape + ndim, 0) != shape + ndim || element_size == 0) return;

  Dimensions dims = simplify(shape, ndim, from_strides_bytes, to_strides_bytes);
  widen_element(dims, element_size);
  if (dims.empty()) {
    std::memcpy(to, from, static_cast<size_t>(element_size));
    return;
  }

  const Dimension last = dims.back();
  const int64_t run_bytes = last.size * element_size;
  if (last.to == element_size && last.from == element_size) {
    dims.pop_back();
    if (dims.empty()) return copy_bytes(from, to, run_bytes);
    const bool streams = run_bytes >= kLongRunBytes &&
                         exceeds_caches(run_bytes * (count(dims) + distinct_count(dims)));
    for_each_run(dims, last, element_size, from, to, [&](const Runs& runs, int64_t n) {
      streams ? stream_runs(runs, n * element_size) : copy_runs(runs, n * element_size);
    });
    return;
  }
  if (last.to == element_size && last.from == 0) {
    dims.pop_back();
    for_each_run(dims, last, element_size, from, to, [&](const Runs& runs, int64_t n) {
      fill_runs(runs, element_size, n * element_size);
    });
    return;
  }
  switch (element_size) {
    case 1:
      return copy_elements<1>(dims, from, to);
    case 2:
      return copy_elements<2>(dims, from, to);
    case 4:
      return copy_elements<4>(dims, from, to);
    case 8:
      return copy_elements<8>(dims, from, to);
    case 16:
      return copy_elements<16>(dims, from, to);
    default:
      break;
  }
  // Elements of an unusual size are runs of their own.
  for_each_run(dims, {1, 0, 0}, element_size, from, to,
               [&](const Runs& runs, int64_t) { copy_runs(runs, element_size); });
}

}  // namespace mindtorch::cpu
