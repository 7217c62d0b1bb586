#include "mindtorch/backends/cpu/transpose.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/runs.h"
#include "mindtorch/base/small_vector.h"

// Note [Transposing large arrays]
// A transposed copy reads along one dimension and writes along another, so one of the two touches a
// new cache line, often a new page, with every element. Squares of 16 bytes a side are therefore
// transposed in registers. Arrays larger than the caches get two more steps: a block is transposed
// into a staging buffer that stays in the second-level cache, and its rows then leave as runs of a
// kilobyte by non-temporal stores, which do not read the destination first. That halved the time
// of a 4096 x 4096 float32 copy. Wider registers did not help: memory is what the copy waits for.
// So 128 bits it is, which every machine has, and which needs no choice at run time.
namespace mindtorch::cpu {
namespace {

constexpr int64_t kGrainBytes = 128 << 10;  // below this a second thread costs more than it saves
constexpr int64_t kStreamBytes = 16 << 20;  // outputs this large do not stay in a cache anyway
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

using Bytes16 [[gnu::vector_size(16)]] = uint64_t;
template <size_t kSize>
struct UnitOf;
template <>
struct UnitOf<1> {
  using type = uint8_t;
};
template <>
struct UnitOf<2> {
  using type = uint16_t;
};
template <>
struct UnitOf<4> {
  using type = uint32_t;
};
template <>
struct UnitOf<8> {
  using type = uint64_t;
};
template <>
struct UnitOf<16> {
  using type = Bytes16;
};

template <size_t kSize>
inline void copy_unit(const uint8_t* from, uint8_t* to) {
  typename UnitOf<kSize>::type value;
  std::memcpy(&value, from, kSize);
  std::memcpy(to, &value, kSize);
}

// ---- One row of elements ------------------------------------------------------------------------

template <size_t kSize>
void copy_row(const uint8_t* from, int64_t from_stride, uint8_t* to, int64_t to_stride, int64_t n) {
  constexpr auto kUnit = static_cast<int64_t>(kSize);
  if (to_stride == kUnit) {
    for (int64_t i = 0; i < n; ++i) copy_unit<kSize>(from + i * from_stride, to + i * kUnit);
  } else if (from_stride == kUnit) {
    for (int64_t i = 0; i < n; ++i) copy_unit<kSize>(from + i * kUnit, to + i * to_stride);
  } else {
    for (int64_t i = 0; i < n; ++i) copy_unit<kSize>(from + i * from_stride, to + i * to_stride);
  }
}

// ---- Transposing --------------------------------------------------------------------------------

// A plane to transpose: element (r, c) lies at from[r * from_stride + c * kSize] and goes to
// to[c * to_stride + r * kSize]. Strides in bytes.
struct Plane {
  const uint8_t* from;
  int64_t from_stride;
  uint8_t* to;
  int64_t to_stride;
};

template <size_t kSize>
using Vector [[gnu::vector_size(16)]] = typename UnitOf<kSize>::type;

// Element by element from the lower (kFirst = 0) or upper halves of two vectors.
template <size_t kSize, size_t kFirst, size_t... kIndex>
inline Vector<kSize> interleave(Vector<kSize> a, Vector<kSize> b, std::index_sequence<kIndex...>) {
  constexpr size_t kLanes = 16 / kSize;
  return __builtin_shufflevector(a, b,
                                 static_cast<int>(kFirst + kIndex / 2 + (kIndex % 2) * kLanes)...);
}

// One square of 16 bytes a side. Each round interleaves row i with row i + half, which rotates the
// bits of an element's index (row, column) by one; after as many rounds as a row number has bits,
// row and column have changed places.
template <size_t kSize>
inline void transpose_square(const Plane& plane) {
  constexpr size_t kSide = 16 / kSize;
  if constexpr (kSide == 1) {
    copy_unit<16>(plane.from, plane.to);
  } else {
    constexpr auto kLanes = std::make_index_sequence<kSide>();
    Vector<kSize> rows[kSide];
    for (size_t i = 0; i < kSide; ++i) {
      std::memcpy(&rows[i], plane.from + static_cast<int64_t>(i) * plane.from_stride, 16);
    }
    for (size_t round = 1; round < kSide; round *= 2) {
      Vector<kSize> next[kSide];
      for (size_t i = 0; i < kSide / 2; ++i) {
        next[2 * i] = interleave<kSize, 0>(rows[i], rows[i + kSide / 2], kLanes);
        next[2 * i + 1] = interleave<kSize, kSide / 2>(rows[i], rows[i + kSide / 2], kLanes);
      }
      for (size_t i = 0; i < kSide; ++i) rows[i] = next[i];
    }
    for (size_t i = 0; i < kSide; ++i) {
      std::memcpy(plane.to + static_cast<int64_t>(i) * plane.to_stride, &rows[i], 16);
    }
  }
}

template <size_t kSize>
inline Plane corner(const Plane& plane, int64_t row, int64_t col) {
  constexpr auto kUnit = static_cast<int64_t>(kSize);
  return {plane.from + row * plane.from_stride + col * kUnit, plane.from_stride,
          plane.to + col * plane.to_stride + row * kUnit, plane.to_stride};
}

// Squares at the far edges reach back over elements already copied, so no edge is left over. Whole
// cache lines of both sides are finished before the next ones are begun.
template <size_t kSize>
void transpose_rectangle(const Plane& plane, int64_t rows, int64_t cols) {
  constexpr auto kUnit = static_cast<int64_t>(kSize);
  constexpr int64_t kSide = 16 / kUnit;
  constexpr int64_t kLine = kLineBytes / kUnit;
  if (cols < kSide) {
    for (int64_t c = 0; c < cols; ++c) {
      copy_row<kSize>(plane.from + c * kUnit, plane.from_stride, plane.to + c * plane.to_stride,
                      kUnit, rows);
    }
  } else if (rows < kSide) {
    for (int64_t c = 0; c < cols; ++c) {
      for (int64_t r = 0; r < rows; ++r) {
        copy_unit<kSize>(plane.from + r * plane.from_stride + c * kUnit,
                         plane.to + c * plane.to_stride + r * kUnit);
      }
    }
  } else {
    for (int64_t row = 0; row < rows; row += kLine) {
      for (int64_t col = 0; col < cols; col += kLine) {
        const int64_t row_end = std::min(row + kLine, rows);
        const int64_t col_end = std::min(col + kLine, cols);
        for (int64_t r = row; r < row_end; r += kSide) {
          for (int64_t c = col; c < col_end; c += kSide) {
            transpose_square<kSize>(
                corner<kSize>(plane, std::min(r, rows - kSide), std::min(c, cols - kSide)));
          }
        }
      }
    }
  }
}

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
template <size_t kSize>
void transpose_staged(
    const Plane& plane, int64_t rows, int64_t cols, const Stage& stage, bool streams) {
  uint8_t* staged = stage_memory();
  transpose_rectangle<kSize>({plane.from, plane.from_stride, staged, stage.run_bytes}, rows, cols);
  const Runs runs = {staged, stage.run_bytes, plane.to, plane.to_stride, cols};
  const int64_t bytes = rows * static_cast<int64_t>(kSize);
  streams ? stream_runs(runs, bytes) : copy_runs(runs, bytes);
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

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Calls body(runs) so that together they cover every element of `dims`, each of them one piece of
// memory of `bytes_each` bytes in the destination. On several threads where that pays.
template <typename Body>
void for_each_run(
    Dimensions dims, const uint8_t* from, uint8_t* to, int64_t bytes_each, const Body& body) {
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
                inner.to, runs});
      begin += runs;
      skipped = 0;
      at.next();
    }
  });
}

// `rows` is contiguous in the destination and `cols` in the source.
template <size_t kSize>
void copy_planes(
    const Dimensions& outer, Dimension rows, Dimension cols, const uint8_t* from, uint8_t* to) {
  constexpr auto kUnit = static_cast<int64_t>(kSize);
  const int64_t planes = count(outer);
  const int64_t plane_bytes = rows.size * cols.size * kUnit;
  const bool streams =
      planes * plane_bytes >= kStreamBytes && rows.size * kUnit >= kSmallStage.run_bytes;
  const bool staged = streams || (plane_bytes > kUnstagedBytes && rows.size * kUnit >= kLineBytes);
  const Stage& stage = streams ? kLargeStage : kSmallStage;
  const int64_t block_rows = stage.run_bytes / kUnit;
  const int64_t block_cols = stage.runs;
  const int64_t row_blocks = ceil_div(rows.size, block_rows);
  const int64_t col_blocks = ceil_div(cols.size, block_cols);
  const int64_t blocks = row_blocks * col_blocks;
  const int64_t block_bytes =
      std::min(rows.size, block_rows) * std::min(cols.size, block_cols) * kUnit;

  parallel_for(
      0, planes * blocks, ceil_div(kGrainBytes, block_bytes), [&](int64_t begin, int64_t end) {
        Odometer at(outer, from, to, begin / blocks);
        int64_t block = begin % blocks;
        for (int64_t i = begin; i < end; ++i) {
          const int64_t row = block / col_blocks * block_rows;
          const int64_t col = block % col_blocks * block_cols;
          const Plane plane = corner<kSize>({at.from(), rows.from, at.to(), cols.to}, row, col);
          const int64_t height = std::min(block_rows, rows.size - row);
          const int64_t width = std::min(block_cols, cols.size - col);
          if (staged) {
            transpose_staged<kSize>(plane, height, width, stage, streams);
          } else {
            transpose_rectangle<kSize>(plane, height, width);
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
      copy_planes<kSize>(dims, last, cols, from, to);
      return;
    }
  }
  for_each_run(dims, from, to, last.size * kUnit, [&](const Runs& runs) {
    for (int64_t i = 0; i < runs.count; ++i) {
      copy_row<kSize>(runs.from + i * runs.from_step, last.from, runs.to + i * runs.to_step,
                      last.to, last.size);
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
    if (dims.empty()) {
      parallel_for(0, run_bytes, kGrainBytes, [&](int64_t begin, int64_t end) {
        std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
      });
    } else {
      for_each_run(dims, from, to, run_bytes,
                   [&](const Runs& runs) { copy_runs(runs, run_bytes); });
    }
    return;
  }
  if (last.to == element_size && last.from == 0) {
    dims.pop_back();
    for_each_run(dims, from, to, run_bytes,
                 [&](const Runs& runs) { fill_runs(runs, element_size, run_bytes); });
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
  for_each_run(dims, from, to, element_size,
               [&](const Runs& runs) { copy_runs(runs, element_size); });
}

}  // namespace mindtorch::cpu
