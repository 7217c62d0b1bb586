#include <algorithm>
#include <cstring>
#include <span>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/element_runs.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/runs.h"
#include "mindtorch/backends/cpu/strided_loop.h"
#include "mindtorch/backends/cpu/transpose.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kCopyGrainBytes = int64_t{1} << 16;
constexpr int64_t kStreamedBytes = 1024;  // of a row: shorter ones are not worth it

// One input of cat whose rows are copied as they are.
struct Piece {
  const uint8_t* data;
  int64_t row_stride_bytes;
  int64_t row_bytes;
  int64_t offset_bytes;  // within a row of the output

  bool is_contiguous() const { return row_stride_bytes == row_bytes; }
};
using Pieces = std::span<const Piece>;

// Bytes [begin, end) of a row of the output.
void copy_part(Pieces pieces, int64_t row, uint8_t* out, int64_t begin, int64_t end, bool streams) {
  for (const Piece& piece : pieces) {
    const int64_t first = std::max(begin, piece.offset_bytes);
    const int64_t last = std::min(end, piece.offset_bytes + piece.row_bytes);
    if (first >= last) continue;
    const uint8_t* from = piece.data + row * piece.row_stride_bytes + first - piece.offset_bytes;
    const Runs part = {from, 0, out + first, 0, 1};
    streams ? stream_runs(part, last - first) : copy_runs(part, last - first);
  }
}

// The elements of two to four inputs of a row each, side by side.
bool can_interleave(Pieces pieces, int64_t out_row_bytes) {
  const int64_t size = pieces[0].row_bytes;
  const bool is_element = size == 1 || size == 2 || size == 4 || size == 8;
  return is_element && pieces.size() >= 2 && pieces.size() <= 4 &&
         out_row_bytes == size * static_cast<int64_t>(pieces.size()) &&
         std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
           return piece.row_bytes == size && piece.is_contiguous();
         });
}

void interleave_rows(Pieces pieces, int64_t begin, int64_t end, uint8_t* out) {
  const int64_t size = pieces[0].row_bytes;
  const void* from[4];
  for (size_t i = 0; i < pieces.size(); ++i) from[i] = pieces[i].data + begin * size;
  const auto count = static_cast<int64_t>(pieces.size());
  interleave_elements(size, from, count, out + begin * size * count, end - begin);
}

void copy_rows(Pieces pieces, int64_t rows, int64_t out_row_bytes, uint8_t* out) {
  if (pieces.empty()) return;
  const bool streams = exceeds_caches(2 * rows * out_row_bytes);
  if (rows < num_threads() && out_row_bytes >= 2 * kCopyGrainBytes) {  // few, and long
    for (int64_t row = 0; row < rows; ++row) {
      parallel_for(0, out_row_bytes, kCopyGrainBytes, [&](int64_t begin, int64_t end) {
        copy_part(pieces, row, out + row * out_row_bytes, begin, end, streams);
      });
    }
    return;
  }
  const bool interleaves = can_interleave(pieces, out_row_bytes);
  // As many rows as the first-level cache holds: short pieces share its lines. Streamed ones do not
  // stay in it, and each call waits until they have left.
  const bool are_streamed =
      streams && std::all_of(pieces.begin(), pieces.end(),
                             [](const Piece& piece) { return piece.row_bytes >= kStreamedBytes; });
  const int64_t block = std::max<int64_t>(1, (are_streamed ? 64 << 10 : 8 << 10) / out_row_bytes);
  const int64_t grain = std::max<int64_t>(1, kCopyGrainBytes / out_row_bytes);
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    if (interleaves) return interleave_rows(pieces, begin, end, out);
    for (int64_t row = begin; row < end; row += block) {
      for (const Piece& piece : pieces) {
        const Runs runs = {piece.data + row * piece.row_stride_bytes, piece.row_stride_bytes,
                           out + row * out_row_bytes + piece.offset_bytes, out_row_bytes,
                           std::min(block, end - row)};
        streams&& piece.row_bytes >= kStreamedBytes ? stream_runs(runs, piece.row_bytes)
                                                    : copy_runs(runs, piece.row_bytes);
      }
    }
  });
}

// Whether dims [first, ...) are contiguous and those before them one line of rows, `stride`
// elements apart: so are whole tensors and slices of them along that dim.
bool has_rows(const Tensor& tensor, size_t first, int64_t& stride) {
  const IntList sizes = tensor.sizes();
  const IntList strides = tensor.strides();
  if (!is_contiguous(sizes.subspan(first), strides.subspan(first))) return false;
  int64_t rows = 1;
  for (size_t i = first; i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (rows == 1) {
      stride = strides[i];
    } else if (strides[i] != stride * rows) {
      return false;
    }
    rows *= sizes[i];
  }
  return true;
}

void cat(ops::Launch&, TensorList tensors, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  const auto d = static_cast<size_t>(wrap_dim(dim, out.dim()));
  int64_t rows = 1;
  int64_t slice_bytes = out.element_size();
  for (size_t i = 0; i < out.sizes().size(); ++i) {
    if (i < d) rows *= out.sizes()[i];
    if (i > d) slice_bytes *= out.sizes()[i];
  }
  SmallVector<Piece, 8> pieces;
  int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    const int64_t length = tensor.sizes()[d];
    int64_t stride = 0;
    if (out.is_contiguous() && tensor.dtype() == out.dtype() && has_rows(tensor, d, stride)) {
      pieces.push_back({tensor.data<uint8_t>(), stride * out.element_size(), length * slice_bytes,
                        start * slice_bytes});
    } else {
      copy(tensor, out.alias(tensor.sizes(), out.strides(),
                             out.storage_offset() + start * out.strides()[d]));
    }
    start += length;
  }
  copy_rows({pieces.data(), pieces.size()}, rows, start * slice_bytes, out.data<uint8_t>());
}

// Reverses the lines of a loop whose innermost dims are contiguous in both tensors.
void reverse_lines(const StridedLoop<2>& loop, int64_t element) {
  constexpr int64_t kBlock = 32 * 1024;
  const int64_t length = loop.inner_size();
  const int64_t blocks = ceil_div(length, kBlock);
  const int64_t grain = std::max<int64_t>(1, kBlock / length);
  parallel_for(0, loop.outer_size() * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end;) {
      const int64_t line = unit / blocks;
      const int64_t last = blocks == 1 ? end : line + 1;
      const int64_t start = unit % blocks * kBlock;
      const int64_t stop = blocks == 1 ? length : std::min(length, (end - line * blocks) * kBlock);
      loop.for_lines(line, last, [&](char* const* at) {
        reverse_elements(element, at[1] - (stop - 1) * element, at[0] + start * element,
                         stop - start);
      });
      unit = blocks == 1 ? end : std::min(end, (line + 1) * blocks);
    }
  });
}

void flip(ops::Launch&, const Tensor& self, IntList dims, Tensor& out) {
  if (self.numel() == 0) return;
  const int64_t element = self.element_size();
  StridedLoop<2> loop;
  loop.add(out, out.sizes());
  loop.add(self, out.sizes());
  Shape& from = loop.strides_bytes[1];
  for (const int64_t dim : dims) {
    if (self.dim() == 0) break;
    const auto d = static_cast<size_t>(wrap_dim(dim, self.dim()));
    loop.data[1] += (self.sizes()[d] - 1) * from[d];
    from[d] = -from[d];
  }
  const Shape flipped = from;
  const Shape to = loop.strides_bytes[0];
  loop.prepare(out.sizes());
  if (loop.strides_bytes[0][0] == element && loop.strides_bytes[1][0] == -element) {
    reverse_lines(loop, element);
  } else {
    copy_strided(element, self.sizes().data(), static_cast<int>(self.dim()), loop.data[1],
                 flipped.data(), out.data_ptr(), to.data());
  }
}

// The columns of a row that a triangle leaves out: those after a diagonal, or those before it.
struct Triangle {
  bool lower;
  int64_t diagonal;

  Triangle(bool lower, const Tensor& matrix, int64_t diagonal)
      // Any diagonal beyond the matrix is as good as the first beyond it.
      : lower(lower), diagonal(std::clamp(diagonal, -matrix.size(-2), matrix.size(-1))) {}
  int64_t begin(int64_t row, int64_t columns) const {
    return lower ? std::clamp<int64_t>(row + diagonal + 1, 0, columns) : 0;
  }
  int64_t end(int64_t row, int64_t columns) const {
    return lower ? columns : std::clamp<int64_t>(row + diagonal, 0, columns);
  }
};

// Copies contiguous matrices with zeros in place of what the triangle leaves out; where `from` is
// `to`, writes the zeros only.
void write_triangle(const Triangle& triangle, const char* from, const Tensor& to) {
  const int64_t element = to.element_size();
  const int64_t rows = to.size(-2);
  const int64_t columns = to.size(-1);
  const int64_t row_bytes = columns * element;
  char* out = to.data<char>();
  const bool copies = from != out;
  const int64_t grain = std::max<int64_t>(1, kCopyGrainBytes / row_bytes);
  parallel_for(0, to.numel() / columns, grain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t begin = triangle.begin(i % rows, columns) * element;
      const int64_t end = triangle.end(i % rows, columns) * element;
      char* row = out + i * row_bytes;
      if (copies) {
        std::memcpy(row, from + i * row_bytes, static_cast<size_t>(begin));
        std::memcpy(row + end, from + i * row_bytes + end, static_cast<size_t>(row_bytes - end));
      }
      std::memset(row + begin, 0, static_cast<size_t>(end - begin));
    }
  });
}

template <bool kLower>
void triangle(ops::Launch&, const Tensor& self, int64_t diagonal, Tensor& out) {
  if (out.numel() == 0) return;
  const char* from = self.data<char>();
  if (!self.is_contiguous()) {
    copy(self, out);
    from = out.data<char>();
  }
  write_triangle(Triangle(kLower, self, diagonal), from, out);
}

template <bool kLower>
void triangle_inplace(ops::Launch& launch, const Tensor& self, int64_t diagonal) {
  if (self.numel() == 0) return;
  if (self.is_contiguous()) {
    write_triangle(Triangle(kLower, self, diagonal), self.data<char>(), self);
    return;
  }
  Tensor result = Tensor::make(self.sizes(), self.dtype());
  triangle<kLower>(launch, self, diagonal, result);
  copy(result, self);
}

void repeat_interleave_all(ops::Launch&,
                           const Tensor& self,
                           int64_t repeats,
                           std::optional<int64_t> dim,
                           std::optional<int64_t>,
                           Tensor& out) {
  if (out.numel() == 0) return;
  Tensor whole = self;
  if (!self.is_contiguous()) {
    whole = Tensor::make(self.sizes(), self.dtype());
    copy(self, whole);
  }
  // What is repeated: one element, or all that lies below the dimension.
  int64_t piece = self.element_size();
  if (dim) {
    for (int64_t d = wrap_dim(*dim, self.dim()) + 1; d < self.dim(); ++d) piece *= self.size(d);
  }
  const int64_t pieces = self.numel() * self.element_size() / piece;
  const char* from = whole.data<char>();
  char* to = out.data<char>();
  const int64_t grain = std::max<int64_t>(1, kCopyGrainBytes / (piece * repeats));
  parallel_for(0, pieces, grain, [&](int64_t begin, int64_t end) {
    if (piece == self.element_size()) {
      repeat_elements(piece, from + begin * piece, to + begin * piece * repeats, end - begin,
                      repeats);
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < repeats; ++j) {
        std::memcpy(to + (i * repeats + j) * piece, from + i * piece, static_cast<size_t>(piece));
      }
    }
  });
}

// Indices of `repeats`, each as often as its element says.
Tensor repeat_interleave(ops::Launch&, const Tensor& repeats, std::optional<int64_t> output_size) {
  MT_CHECK(repeats.dim() == 1, RuntimeError, "repeat_interleave only accept 1D vector as repeat");
  MT_CHECK(repeats.dtype() == DType::kInt32 || repeats.dtype() == DType::kInt64,
           NotImplementedError, "\"repeat_interleave_cpu\" not implemented for '",
           legacy_name(repeats.dtype()), "'");
  const Tensor counts = Tensor::make(repeats.sizes(), DType::kInt64);
  copy(repeats, counts);
  const std::span<const int64_t> all(counts.data<int64_t>(), static_cast<size_t>(counts.numel()));
  int64_t total = 0;
  for (const int64_t count : all) {
    MT_CHECK(count >= 0, RuntimeError, "repeats can not be negative");
    MT_CHECK(!__builtin_add_overflow(total, count, &total), RuntimeError,
             "repeat_interleave: the result is too large");
  }
  MT_CHECK(!output_size || *output_size == total, RuntimeError,
           "allocated size does not match required size");
  const Tensor result = Tensor::make({total}, repeats.dtype());
  const auto write = [&]<typename T>(T) {
    T* to = result.data<T>();
    for (size_t i = 0; i < all.size(); ++i) to = std::fill_n(to, all[i], static_cast<T>(i));
  };
  if (repeats.dtype() == DType::kInt32) {
    write(int32_t{});
  } else {
    write(int64_t{});
  }
  return result;
}

void combinations(ops::Launch&, const Tensor& self, int64_t r, bool with_replacement, Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t element = self.element_size();
  const int64_t stride = self.strides()[0] * element;
  const int64_t n = self.numel();
  const char* from = self.data<char>();
  char* to = out.data<char>();
  std::vector<int64_t> chosen(static_cast<size_t>(r));
  for (size_t i = 0; i < chosen.size(); ++i) {
    chosen[i] = with_replacement ? 0 : static_cast<int64_t>(i);
  }
  for (int64_t row = 0; row < out.size(0); ++row) {
    for (const int64_t index : chosen) {
      std::memcpy(to, from + index * stride, static_cast<size_t>(element));
      to += element;
    }
    // The last place that can go on does, and those after it start over.
    for (size_t i = chosen.size(); i-- > 0;) {
      const int64_t after = static_cast<int64_t>(chosen.size() - 1 - i);
      if (chosen[i] + 1 >= (with_replacement ? n : n - after)) continue;
      ++chosen[i];
      for (size_t j = i + 1; j < chosen.size(); ++j) {
        chosen[j] = chosen[j - 1] + (with_replacement ? 0 : 1);
      }
      break;
    }
  }
}

}  // namespace

void register_shape(ops::Registry& registry) {
  registry.kernel<cat>(DeviceType::kCpu, "cat").takes(kAnyType);
  registry.kernel<flip>(DeviceType::kCpu, "flip").takes(kAnyType);
  registry.kernel<triangle<true>>(DeviceType::kCpu, "tril").takes(kAnyType);
  registry.kernel<triangle<false>>(DeviceType::kCpu, "triu").takes(kAnyType);
  registry.kernel<triangle_inplace<true>>(DeviceType::kCpu, "tril_").takes(kAnyType);
  registry.kernel<triangle_inplace<false>>(DeviceType::kCpu, "triu_").takes(kAnyType);
  registry.kernel<repeat_interleave_all>(DeviceType::kCpu, "repeat_interleave.self_int")
      .takes(kAnyType);
  registry.kernel<combinations>(DeviceType::kCpu, "combinations");
  registry.dynamic_kernel<repeat_interleave>(DeviceType::kCpu, "repeat_interleave.Tensor")
      .takes(kAnyType);
}

}  // namespace mindtorch::cpu
