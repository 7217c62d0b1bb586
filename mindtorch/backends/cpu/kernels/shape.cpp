#include <cstring>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/transpose.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kGrainBytes = int64_t{1} << 18;
// Pieces shorter than this are not worth a call of memcpy each.
constexpr int64_t kShortBytes = 64;

// One input of cat whose rows are copied as they are.
struct Piece {
  const char* data;
  int64_t row_bytes;
  int64_t offset_bytes;  // within a row of the output
};

void copy_rows(std::span<const Piece> pieces, int64_t rows, int64_t out_row_bytes, char* out) {
  if (rows == 1) {
    for (const Piece& piece : pieces) {
      parallel_for(0, piece.row_bytes, kGrainBytes, [&](int64_t begin, int64_t end) {
        std::memcpy(out + piece.offset_bytes + begin, piece.data + begin,
                    static_cast<size_t>(end - begin));
      });
    }
    return;
  }
  const int64_t grain = std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(out_row_bytes, 1));
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (const Piece& piece : pieces) {
        std::memcpy(out + row * out_row_bytes + piece.offset_bytes,
                    piece.data + row * piece.row_bytes, static_cast<size_t>(piece.row_bytes));
      }
    }
  });
}

void cat(ops::Launch&, TensorList tensors, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  const auto d = static_cast<size_t>(wrap_dim(dim, out.dim()));
  const int64_t element = out.element_size();
  int64_t rows = 1;
  int64_t slice_bytes = element;
  for (size_t i = 0; i < out.sizes().size(); ++i) {
    if (i < d) rows *= out.sizes()[i];
    if (i > d) slice_bytes *= out.sizes()[i];
  }
  SmallVector<Piece, 8> pieces;
  int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    const int64_t length = tensor.sizes()[d];
    const bool plain = out.is_contiguous() && tensor.is_contiguous() &&
                       tensor.dtype() == out.dtype() &&
                       (rows == 1 || length * slice_bytes >= kShortBytes);
    if (plain) {
      pieces.push_back({tensor.data<char>(), length * slice_bytes, start * slice_bytes});
    } else {
      copy(tensor, out.alias(tensor.sizes(), out.strides(),
                             out.storage_offset() + start * out.strides()[d]));
    }
    start += length;
  }
  copy_rows({pieces.data(), pieces.size()}, rows, start * slice_bytes, out.data<char>());
}

void flip(ops::Launch&, const Tensor& self, IntList dims, Tensor& out) {
  if (self.numel() == 0) return;
  const int64_t element = self.element_size();
  Shape from = self.strides();
  Shape to = out.strides();
  for (int64_t& stride : from) stride *= element;
  for (int64_t& stride : to) stride *= element;
  const char* first = self.data<char>();
  for (const int64_t dim : dims) {
    if (self.dim() == 0) break;
    const auto d = static_cast<size_t>(wrap_dim(dim, self.dim()));
    first += (self.sizes()[d] - 1) * from[d];
    from[d] = -from[d];
  }
  copy_strided(element, self.sizes().data(), static_cast<int>(self.dim()), first, from.data(),
               out.data_ptr(), to.data());
}

// Copies self, with zeros in the columns [begin(row), end(row)) of each matrix.
template <typename Begin, typename End>
void copy_with_zeros(const Tensor& self, const Begin& begin, const End& end, Tensor& out) {
  if (out.numel() == 0) return;
  const bool plain = self.is_contiguous();
  if (!plain) copy(self, out);
  const int64_t element = out.element_size();
  const int64_t rows = out.size(-2);
  const int64_t columns = out.size(-1);
  const int64_t row_bytes = columns * element;
  const char* from = self.data<char>();
  char* to = out.data<char>();
  parallel_for(0, out.numel() / columns, std::max<int64_t>(1, kGrainBytes / row_bytes),
               [&](int64_t first, int64_t last) {
                 for (int64_t i = first; i < last; ++i) {
                   const int64_t start = std::clamp<int64_t>(begin(i % rows), 0, columns) * element;
                   const int64_t stop = std::clamp<int64_t>(end(i % rows), 0, columns) * element;
                   const int64_t at = i * row_bytes;
                   if (plain) {
                     std::memcpy(to + at, from + at, static_cast<size_t>(start));
                     std::memcpy(to + at + stop, from + at + stop,
                                 static_cast<size_t>(row_bytes - stop));
                   }
                   std::memset(to + at + start, 0, static_cast<size_t>(stop - start));
                 }
               });
}

// Any diagonal beyond the matrix is as good as the first beyond it.
int64_t clamp_diagonal(const Tensor& matrix, int64_t diagonal) {
  return std::clamp(diagonal, -matrix.size(-2), matrix.size(-1));
}

void tril(ops::Launch&, const Tensor& self, int64_t diagonal, Tensor& out) {
  diagonal = clamp_diagonal(self, diagonal);
  copy_with_zeros(
      self, [=](int64_t row) { return row + diagonal + 1; }, [](int64_t) { return INT64_MAX; },
      out);
}

void triu(ops::Launch&, const Tensor& self, int64_t diagonal, Tensor& out) {
  diagonal = clamp_diagonal(self, diagonal);
  copy_with_zeros(
      self, [](int64_t) { return int64_t{0}; }, [=](int64_t row) { return row + diagonal; }, out);
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
    total += count;
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
  registry.kernel<cat>(DeviceType::kCpu, "cat");
  registry.kernel<flip>(DeviceType::kCpu, "flip");
  registry.kernel<tril>(DeviceType::kCpu, "tril");
  registry.kernel<triu>(DeviceType::kCpu, "triu");
  registry.kernel<combinations>(DeviceType::kCpu, "combinations");
  registry.dynamic_kernel<repeat_interleave>(DeviceType::kCpu, "repeat_interleave.Tensor");
}

}  // namespace mindtorch::cpu
