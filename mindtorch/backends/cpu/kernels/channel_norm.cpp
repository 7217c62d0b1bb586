// Normalisation of channels over a batch.
#include <cmath>

#include "mindtorch/backends/cpu/kernels/channel_norm.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/kernels/row_sections.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/scratch.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kChannelNormGrain = 16 * 1024;

// [batch, channels, inner]: planes of one channel each, or rows of all channels, where those come
// last or have one element each.
struct Layout {
  int64_t batch;
  int64_t channels;
  int64_t inner;
  bool channels_last;

  explicit Layout(const Tensor& self) : batch(self.size(0)), channels(self.size(1)) {
    inner = numel(IntList(self.sizes()).subspan(2));
    channels_last = inner == 1 || !self.is_contiguous();
  }
  int64_t per_channel() const { return batch * inner; }
};

bool has_channels_last(const Tensor& self) {
  const IntList sizes = self.sizes();
  const IntList strides = self.strides();
  int64_t expected = sizes[1];
  for (size_t i = sizes.size(); i-- > 2;) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return (sizes[1] == 1 || strides[1] == 1) && (sizes[0] == 1 || strides[0] == expected);
}

// `self` with the strides of `like`, which is contiguous or has its channels last.
Tensor laid_out_like(const Tensor& self, const Tensor& like) {
  if (self.is_contiguous() && like.is_contiguous()) return self;
  if (has_channels_last(self) && has_channels_last(like)) return self;
  const Tensor result = Tensor::make_strided(like.sizes(), like.strides(), self.dtype());
  copy(self, result);
  return result;
}

// Sums over the rows of all channels: add(row, first, second) adds a row to two lines of numbers.
// Blocks of rows are added in W and then in double, always in the same order.
template <typename W>
struct ColumnSums {
  std::vector<double> first;
  std::vector<double> second;

  template <typename Add>
  ColumnSums(int64_t rows, int64_t channels, const Add& add) {
    constexpr int64_t kBlock = 256;
    const auto n = static_cast<size_t>(channels);
    const ScratchArray<double> both(2 * channels);
    const auto add_rows = [&](int64_t i, int64_t end, double* line) {
      const ScratchArray<W> block(2 * channels);
      while (i < end) {
        std::fill_n(block.get(), 2 * n, W{0});
        for (const int64_t last = std::min(end, i + kBlock); i < last; ++i) {
          add(i, block.get(), block.get() + n);
        }
        for (size_t k = 0; k < 2 * n; ++k) line[k] += static_cast<double>(block.get()[k]);
      }
    };
    RowSections(rows, channels).sum(2 * channels, both.get(), add_rows);
    first.assign(both.get(), both.get() + n);
    second.assign(both.get() + n, both.get() + 2 * n);
  }
};

// A part of a plane.
struct Part {
  int64_t channel;
  int64_t first;  // element of the tensor
  int64_t count;
};

// The parts of all planes, in the order of memory.
class Parts {
 public:
  explicit Parts(const Layout& at) : at_(at), per_plane_(parts_of(at.inner)) {}

  int64_t count() const { return at_.batch * at_.channels * per_plane_; }
  int64_t per_plane() const { return per_plane_; }
  int64_t grain() const {
    return std::max<int64_t>(
        1, kChannelNormGrain / std::max<int64_t>(1, std::min(at_.inner, kPlanePart)));
  }
  Part get(int64_t i) const {
    const int64_t plane = i / per_plane_;
    const int64_t from = i % per_plane_ * kPlanePart;
    return {plane % at_.channels, plane * at_.inner + from, std::min(kPlanePart, at_.inner - from)};
  }

  // body(part) for each, on all threads.
  template <typename Body>
  void each(const Body& body) const {
    parallel_for(0, count(), grain(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(get(i));
    });
  }

  // The sum of compute(part) over the parts of each channel, in their order.
  template <typename Sum, typename Compute>
  std::vector<Sum> sums(const Compute& compute) const {
    std::vector<Sum> result(static_cast<size_t>(at_.channels));
    const auto add_channel = [&](int64_t c, const auto& value) {
      for (int64_t n = 0; n < at_.batch; ++n) {
        for (int64_t k = 0; k < per_plane_; ++k) {
          result[static_cast<size_t>(c)] += value((n * at_.channels + c) * per_plane_ + k);
        }
      }
    };
    if (at_.channels >= num_threads() || count() * kPlanePart < kChannelNormGrain) {
      const int64_t work = std::max<int64_t>(1, at_.per_channel());
      parallel_for(0, at_.channels, std::max<int64_t>(1, kChannelNormGrain / work),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t c = begin; c < end; ++c) {
                       add_channel(c, [&](int64_t i) { return compute(get(i)); });
                     }
                   });
      return result;
    }
    // Too few channels for the threads.
    std::vector<Sum> found(static_cast<size_t>(count()));
    parallel_for(0, count(), grain(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) found[static_cast<size_t>(i)] = compute(get(i));
    });
    for (int64_t c = 0; c < at_.channels; ++c) {
      add_channel(c, [&](int64_t i) { return found[static_cast<size_t>(i)]; });
    }
    return result;
  }

 private:
  Layout at_;
  int64_t per_plane_;
};

// The moments of each channel of a batch.
template <typename W>
std::vector<Moments> batch_moments(const Tensor& x, const Layout& at) {
  const int64_t bytes = x.element_size();
  const char* const data = x.data<char>();
  if (!at.channels_last) {
    const PartMoments moments(x.dtype());
    return Parts(at).sums<Moments>(
        [&](const Part& part) { return moments.of<W>(data + part.first * bytes, part.count); });
  }
  const int64_t rows = at.per_channel();
  const int64_t row_bytes = at.channels * bytes;
  const AccumulateFn add = find_accumulate(Row::kSum, x.dtype());
  const ColumnSums<W> sums(rows, at.channels, [&](int64_t row, W* first, W*) {
    add(data + row * row_bytes, first, at.channels);
  });
  std::vector<Moments> found(static_cast<size_t>(at.channels));
  std::vector<W> means(found.size());
  for (size_t c = 0; c < means.size(); ++c) {
    found[c].mean = sums.first[c] / static_cast<double>(rows);
    means[c] = static_cast<W>(found[c].mean);
  }
  const ChannelFns& each = find_channels(ChannelsOfRow::kEach, x.dtype());
  const ColumnSums<W> squares(rows, at.channels, [&](int64_t row, W* first, W*) {
    each.squares(data + row * row_bytes, at.channels, means.data(), first);
  });
  for (size_t c = 0; c < means.size(); ++c) {
    found[c].m2 = squares.first[c];
    found[c].count = rows;
  }
  return found;
}

void batch_norm(ops::Launch&,
                const Tensor& input,
                const Tensor& weight,
                const Tensor& bias,
                const Tensor& mean,
                const Tensor& var,
                double eps,
                bool needs_variance,
                Tensor& out,
                Tensor& save_mean,
                Tensor& save_invstd,
                Tensor& variance) {
  const Tensor x = laid_out_like(input, out);
  const Layout at(out);
  visit_wide(input.dtype(), [&]<typename W>() {
    const auto count = static_cast<size_t>(at.channels);
    std::vector<W> means = numbers<W>(mean, at.channels, 0);
    std::vector<W> invstds = numbers<W>(var, at.channels, 0);
    if (mean.defined()) {
      for (W& each : invstds) {
        each = static_cast<W>(1 / std::sqrt(static_cast<double>(each) + eps));
      }
    } else {
      const std::vector<Moments> moments = batch_moments<W>(x, at);
      std::vector<W> unbiased(count);
      for (size_t c = 0; c < count; ++c) {
        const auto n = static_cast<double>(at.per_channel());
        means[c] = static_cast<W>(moments[c].mean);
        invstds[c] = static_cast<W>(1 / std::sqrt(moments[c].m2 / n + eps));
        unbiased[c] = static_cast<W>(moments[c].m2 / std::max(1.0, n - 1));
      }
      store(means, save_mean);
      store(invstds, save_invstd);
      if (needs_variance) store(unbiased, variance);
    }
    std::vector<W> scale = numbers<W>(weight, at.channels, 1);
    std::vector<W> shift = numbers<W>(bias, at.channels, 0);
    for (size_t c = 0; c < count; ++c) {
      scale[c] *= invstds[c];
      shift[c] -= means[c] * scale[c];
    }
    const int64_t bytes = x.element_size();
    if (at.channels_last) {
      const ChannelFns& each = find_channels(ChannelsOfRow::kEach, x.dtype());
      const int64_t row_bytes = at.channels * bytes;
      const int64_t grain =
          std::max<int64_t>(1, kChannelNormGrain / std::max<int64_t>(1, at.channels));
      parallel_for(0, at.per_channel(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          each.scale(x.data<char>() + i * row_bytes, out.data<char>() + i * row_bytes, at.channels,
                     scale.data(), shift.data());
        }
      });
      return;
    }
    const ChannelFns& one = find_channels(ChannelsOfRow::kOne, x.dtype());
    Parts(at).each([&](const Part& part) {
      const auto c = static_cast<size_t>(part.channel);
      const int64_t offset = part.first * bytes;
      one.scale(x.data<char>() + offset, out.data<char>() + offset, part.count, &scale[c],
                &shift[c]);
    });
  });
}

struct SumAndDot {
  double sum = 0;
  double dot = 0;

  SumAndDot& operator+=(const SumAndDot& other) {
    sum += other.sum;
    dot += other.dot;
    return *this;
  }
};

void batch_norm_backward(ops::Launch&,
                         const Tensor& grad_out,
                         const Tensor& input,
                         const Tensor& weight,
                         const Tensor& mean,
                         const Tensor& var,
                         const Tensor& save_mean,
                         const Tensor& save_invstd,
                         double eps,
                         bool needs_input,
                         bool needs_weight,
                         bool needs_bias,
                         Tensor& grad_input,
                         Tensor& grad_weight,
                         Tensor& grad_bias) {
  const bool is_training = !mean.defined();
  const Tensor x = needs_input ? laid_out_like(input, grad_input) : as_contiguous(input);
  const Tensor grads = laid_out_like(grad_out, x);
  const Layout at(x);
  visit_wide(input.dtype(), [&]<typename W>() {
    const auto count = static_cast<size_t>(at.channels);
    const int64_t bytes = x.element_size();
    const int64_t row_bytes = at.channels * bytes;
    const std::vector<W> means = numbers<W>(is_training ? save_mean : mean, at.channels, 0);
    std::vector<W> invstds = numbers<W>(is_training ? save_invstd : var, at.channels, 0);
    for (size_t c = 0; !is_training && c < count; ++c) {
      invstds[c] = static_cast<W>(1 / std::sqrt(static_cast<double>(invstds[c]) + eps));
    }
    const ChannelFns& each = find_channels(ChannelsOfRow::kEach, x.dtype());
    const ChannelFns& one = find_channels(ChannelsOfRow::kOne, x.dtype());
    std::vector<double> sums(count);
    std::vector<double> dots(count);
    if (!is_training && !needs_weight && !needs_bias) {
      // Nothing to add up.
    } else if (at.channels_last) {
      ColumnSums<W> found(at.per_channel(), at.channels, [&](int64_t i, W* sum, W* dot) {
        each.sums(grads.data<char>() + i * row_bytes, x.data<char>() + i * row_bytes, at.channels,
                  means.data(), sum, dot);
      });
      sums = std::move(found.first);
      dots = std::move(found.second);
    } else {
      const auto found = Parts(at).sums<SumAndDot>([&](const Part& part) {
        const int64_t offset = part.first * bytes;
        W sum{0};
        W dot{0};
        one.sums(grads.data<char>() + offset, x.data<char>() + offset, part.count,
                 &means[static_cast<size_t>(part.channel)], &sum, &dot);
        return SumAndDot{static_cast<double>(sum), static_cast<double>(dot)};
      });
      for (size_t c = 0; c < count; ++c) {
        sums[c] = found[c].sum;
        dots[c] = found[c].dot;
      }
    }
    std::vector<W> of_weight(count);
    std::vector<W> of_bias(count);
    const std::vector<W> scale = numbers<W>(weight, at.channels, 1);
    Factors<W> factors(count);
    for (size_t c = 0; c < count; ++c) {
      const auto invstd = static_cast<double>(invstds[c]);
      const double factor = static_cast<double>(scale[c]) * invstd;
      const double share = is_training ? 1 / static_cast<double>(at.per_channel()) : 0;
      of_weight[c] = static_cast<W>(dots[c] * invstd);
      of_bias[c] = static_cast<W>(sums[c]);
      factors.by_grad[c] = static_cast<W>(factor);
      factors.by_input[c] = static_cast<W>(-factor * invstd * invstd * dots[c] * share);
      factors.shift[c] = static_cast<W>(-factor * sums[c] * share);
    }
    if (needs_weight) store(of_weight, grad_weight);
    if (needs_bias) store(of_bias, grad_bias);
    if (!needs_input) return;
    if (at.channels_last) {
      const int64_t grain =
          std::max<int64_t>(1, kChannelNormGrain / std::max<int64_t>(1, at.channels));
      parallel_for(0, at.per_channel(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          each.gradient(grads.data<char>() + i * row_bytes, x.data<char>() + i * row_bytes,
                        grad_input.data<char>() + i * row_bytes, at.channels, means.data(),
                        factors.by_grad.data(), factors.by_input.data(), factors.shift.data());
        }
      });
      return;
    }
    Parts(at).each([&](const Part& part) {
      const auto c = static_cast<size_t>(part.channel);
      const int64_t offset = part.first * bytes;
      one.gradient(grads.data<char>() + offset, x.data<char>() + offset,
                   grad_input.data<char>() + offset, part.count, &means[c], &factors.by_grad[c],
                   &factors.by_input[c], &factors.shift[c]);
    });
  });
}

}  // namespace

void register_channel_norm(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<batch_norm>(kCpu, "_batch_norm");
  registry.kernel<batch_norm_backward>(kCpu, "_batch_norm_backward");
}

}  // namespace mindtorch::cpu
