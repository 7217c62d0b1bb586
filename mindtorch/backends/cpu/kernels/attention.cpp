#include <algorithm>
#include <cstring>
#include <limits>

#include "mindtorch/backends/cpu/gemm.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/tiles/row.h"

// Note [Attention by blocks]
// The scores of a block of queries are computed, made weights and multiplied with the values while
// they are in the caches; more of them is never held. A block is as tall as these limits let it be,
// so that its products are worth the name.
namespace mindtorch::cpu {
namespace {

constexpr int64_t kBlockScores = int64_t{1} << 17;
constexpr int64_t kMostRows = 128;
constexpr int64_t kMostCausalRows = 64;  // lower blocks leave out more of what is not seen
constexpr int64_t kLeastRows = 16;
// Multiplications that are worth a thread.
constexpr int64_t kGrain = int64_t{1} << 18;

// The elements of `self` through `convert`, which fills a contiguous tensor of `dtype`. A dim that
// repeats its elements repeats those of the result.
template <typename Convert>
Tensor converted(const Tensor& self, DType dtype, const Convert& convert) {
  Shape distinct = self.sizes();
  for (size_t i = 0; i < distinct.size(); ++i) {
    if (self.strides()[i] == 0) distinct[i] = std::min<int64_t>(distinct[i], 1);
  }
  const Tensor result = Tensor::make(distinct, dtype);
  convert(self.alias(distinct, self.strides(), self.storage_offset()), result);
  return result.alias(self.sizes(), broadcast_strides(distinct, result.strides(), self.sizes()), 0);
}

Tensor widened(const Tensor& self, DType dtype) {
  if (self.dtype() == dtype) return self;
  return converted(self, dtype, [](const Tensor& from, const Tensor& to) { copy(from, to); });
}

// What is added to the scores: 0 and -inf for a mask of truths. As large as all the scores, by
// strides; undefined stays so.
template <typename T>
Tensor as_bias(const Tensor& mask, IntList scores) {
  if (!mask.defined()) return mask;
  const DType dtype = DTypeOf<T>::value;
  const Tensor bias =
      mask.dtype() != DType::kBool
          ? widened(mask, dtype)
          : converted(mask, dtype, [](const Tensor& from, const Tensor& to) {
              copy(from, to);
              for (T& value : std::span(to.data<T>(), static_cast<size_t>(to.numel()))) {
                value = value != 0 ? T{0} : -std::numeric_limits<T>::infinity();
              }
            });
  return bias.alias(Shape(scores), broadcast_strides(bias.sizes(), bias.strides(), scores),
                    bias.storage_offset());
}

// One matrix of a batch: the last two dims.
template <typename T>
struct Slice {
  T* data;
  int64_t row_stride;
  int64_t col_stride;

  Slice(const Tensor& tensor, int64_t number) {
    const size_t n = tensor.sizes().size();
    row_stride = tensor.strides()[n - 2];
    col_stride = tensor.strides()[n - 1];
    data = tensor.data<T>();
    for (size_t i = n - 2; i-- > 0; number /= tensor.sizes()[i]) {
      data += number % tensor.sizes()[i] * tensor.strides()[i];
    }
  }
  T* row(int64_t i) const { return data + i * row_stride; }
};

template <typename T>
void read_row(const Slice<T>& from, int64_t row, int64_t n, T* to) {
  const T* const at = from.row(row);
  if (from.col_stride == 1) {
    std::memcpy(to, at, static_cast<size_t>(n) * sizeof(T));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = at[i * from.col_stride];
  }
}

// Scores become weights. Where the mask leaves nothing to see, all weights are 0.
template <typename T>
void weigh(T* scores, int64_t n, bool masked) {
  constexpr DType kDType = DTypeOf<T>::value;
  if (n == 0) return;
  if (masked) {
    T largest;
    find_row(Row::kMax, kDType)(scores, &largest, n);
    if (largest == -std::numeric_limits<T>::infinity()) {
      std::fill_n(scores, n, T{0});
      return;
    }
  }
  softmax_row(kDType, scores, scores, n);
}

template <typename T>
void attend(const Tensor& query,
            const Tensor& key,
            const Tensor& value,
            const Tensor& bias,
            bool is_causal,
            double scale,
            const Tensor& out) {
  constexpr DType kDType = DTypeOf<T>::value;
  const int64_t rows = query.size(-2);
  const int64_t keys = key.size(-2);
  const int64_t most = std::clamp(kBlockScores / std::max<int64_t>(keys, 1), kLeastRows,
                                  is_causal ? kMostCausalRows : kMostRows);
  const int64_t blocks = ceil_div(rows, most);
  const int64_t height = ceil_div(rows, blocks);
  const int64_t batch = out.numel() / (rows * value.size(-1));
  const int64_t work = height * keys * (query.size(-1) + value.size(-1)) + 1;
  parallel_for(0, batch * blocks, ceil_div(kGrain, work), [&](int64_t begin, int64_t end) {
    const Scratch<T> scratch(height * keys);
    T* const scores = scratch.get();
    for (int64_t task = begin; task < end; ++task) {
      const int64_t number = task / blocks;
      const int64_t first = task % blocks * height;
      const int64_t count = std::min(height, rows - first);
      if (count <= 0) continue;
      const Slice<T> q(query, number), k(key, number), v(value, number), to(out, number);
      const int64_t seen = is_causal ? std::min(keys, first + count) : keys;
      if (bias.defined()) {
        const Slice<T> shift(bias, number);
        for (int64_t i = 0; i < count; ++i) read_row(shift, first + i, seen, scores + i * seen);
      }
      gemm(kDType, count, seen, query.size(-1), {q.row(first), q.row_stride, q.col_stride},
           {k.data, k.col_stride, k.row_stride}, {scores, seen, 1}, {scale, 0},
           bias.defined() ? kOneFactor : kZeroFactor);
      for (int64_t i = 0; i < count; ++i) {
        T* const row = scores + i * seen;
        const int64_t n = is_causal ? std::min(seen, first + i + 1) : seen;
        weigh(row, n, bias.defined());
        std::fill(row + n, row + seen, T{0});
      }
      gemm(kDType, count, value.size(-1), seen, {scores, seen, 1},
           {v.data, v.row_stride, v.col_stride}, {to.row(first), to.row_stride, to.col_stride});
    }
  });
}

void attention(ops::Launch&,
               const Tensor& query,
               const Tensor& key,
               const Tensor& value,
               const Tensor& attn_mask,
               bool is_causal,
               double scale,
               bool,
               Tensor& out) {
  if (out.numel() == 0) return;
  const DType wide = accumulate_dtype(out.dtype());
  const Tensor result = out.dtype() == wide ? out : Tensor::make(out.sizes(), wide);
  Shape scores = query.sizes();
  scores.back() = key.size(-2);
  const auto run = [&]<typename T>(T) {
    attend<T>(widened(query, wide), widened(key, wide), widened(value, wide),
              as_bias<T>(attn_mask, scores), is_causal, scale, result);
  };
  if (wide == DType::kFloat64) {
    run(double{});
  } else {
    run(float{});
  }
  if (!result.is_same(out)) copy(result, out);
}

}  // namespace

void register_attention(ops::Registry& registry) {
  registry.kernel<attention>(DeviceType::kCpu, "_attention");
}

}  // namespace mindtorch::cpu
