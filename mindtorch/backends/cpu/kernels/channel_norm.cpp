// Normalisation of channels: over a batch, or in groups of each sample.
#include <cmath>
#include <cstring>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/tiles/norm.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kGrain = 16 * 1024;

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

// Contiguous, in the dtype that statistics have; where undefined, `otherwise` for each channel.
template <typename W>
std::vector<W> numbers(const Tensor& param, int64_t count, W otherwise) {
  std::vector<W> result(static_cast<size_t>(count), otherwise);
  if (!param.defined()) return result;
  const Tensor wide =
      Tensor::make(param.sizes(), std::is_same_v<W, double> ? DType::kFloat64 : DType::kFloat32);
  copy(param, wide);
  std::memcpy(result.data(), wide.data_ptr(), result.size() * sizeof(W));
  return result;
}

// Stores numbers in a tensor of any float dtype; an undefined one wants none.
template <typename W>
void store(const std::vector<W>& values, const Tensor& out) {
  if (!out.defined()) return;
  const Tensor wide =
      Tensor::make(out.sizes(), std::is_same_v<W, double> ? DType::kFloat64 : DType::kFloat32);
  std::memcpy(wide.data_ptr(), values.data(), values.size() * sizeof(W));
  copy(wide, out);
}

template <typename Body>
void visit_wide(DType dtype, const Body& body) {
  if (accumulate_dtype(dtype) == DType::kFloat64) return body.template operator()<double>();
  body.template operator()<float>();
}

// Sums over the rows of all channels: add(row, first, second) adds a row to two lines of numbers.
// Blocks of rows are added in W and then in double, threads apart, always in the same order.
template <typename W>
struct ColumnSums {
  std::vector<double> first;
  std::vector<double> second;

  template <typename Add>
  ColumnSums(int64_t rows, int64_t channels, const Add& add) {
    constexpr int64_t kBlock = 256;
    const auto n = static_cast<size_t>(channels);
    const auto threads = static_cast<size_t>(num_threads());
    std::vector<std::vector<double>> totals(threads);
    parallel_for(0, rows, std::max<int64_t>(1, kGrain / channels), [&](int64_t begin, int64_t end) {
      std::vector<double>& total = totals[static_cast<size_t>(thread_index())];
      total.assign(2 * n, 0);
      std::vector<W> block(2 * n);
      for (int64_t i = begin; i < end;) {
        std::fill(block.begin(), block.end(), W{0});
        for (const int64_t last = std::min(end, i + kBlock); i < last; ++i) {
          add(i, block.data(), block.data() + n);
        }
        for (size_t k = 0; k < 2 * n; ++k) total[k] += static_cast<double>(block[k]);
      }
    });
    first.assign(n, 0);
    second.assign(n, 0);
    for (const std::vector<double>& total : totals) {
      for (size_t k = 0; k < n && !total.empty(); ++k) {
        first[k] += total[k];
        second[k] += total[n + k];
      }
    }
  }
};

// body(plane, channel) for planes of one channel at a time.
template <typename Body>
void for_planes(const Layout& at, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, at.per_channel()));
  parallel_for(0, at.channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      for (int64_t n = 0; n < at.batch; ++n) body(n * at.channels + c, c);
    }
  });
}

// The moments of each channel of a batch.
template <typename W>
std::vector<Moments> batch_moments(const Tensor& x, const Layout& at) {
  std::vector<Moments> found(static_cast<size_t>(at.channels));
  const int64_t bytes = x.element_size();
  const char* const data = x.data<char>();
  if (!at.channels_last) {
    const RowFn moments = find_row(Row::kMoments, x.dtype());
    for_planes(at, [&](int64_t plane, int64_t c) {
      Moments part;
      moments(data + plane * at.inner * bytes, &part, at.inner);
      found[static_cast<size_t>(c)] += part;
    });
    return found;
  }
  const int64_t rows = at.per_channel();
  const int64_t row_bytes = at.channels * bytes;
  const AccumulateFn add = find_accumulate(Row::kSum, x.dtype());
  const ColumnSums<W> sums(rows, at.channels, [&](int64_t row, W* first, W*) {
    add(data + row * row_bytes, first, at.channels);
  });
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
      const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, at.channels));
      parallel_for(0, at.per_channel(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          each.scale(x.data<char>() + i * row_bytes, out.data<char>() + i * row_bytes, at.channels,
                     scale.data(), shift.data());
        }
      });
      return;
    }
    const ChannelFns& one = find_channels(ChannelsOfRow::kOne, x.dtype());
    for_planes(at, [&](int64_t plane, int64_t c) {
      const int64_t offset = plane * at.inner * bytes;
      one.scale(x.data<char>() + offset, out.data<char>() + offset, at.inner, &scale[size_t(c)],
                &shift[size_t(c)]);
    });
  });
}

// The factors of ChannelFns::gradient, for each channel.
template <typename W>
struct Factors {
  std::vector<W> by_grad;
  std::vector<W> by_input;
  std::vector<W> shift;

  explicit Factors(size_t count) : by_grad(count), by_input(count), shift(count) {}
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
      for_planes(at, [&](int64_t plane, int64_t channel) {
        const auto c = static_cast<size_t>(channel);
        const int64_t offset = plane * at.inner * bytes;
        W sum{0};
        W dot{0};
        one.sums(grads.data<char>() + offset, x.data<char>() + offset, at.inner, &means[c], &sum,
                 &dot);
        sums[c] += static_cast<double>(sum);
        dots[c] += static_cast<double>(dot);
      });
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
      const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, at.channels));
      parallel_for(0, at.per_channel(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          each.gradient(grads.data<char>() + i * row_bytes, x.data<char>() + i * row_bytes,
                        grad_input.data<char>() + i * row_bytes, at.channels, means.data(),
                        factors.by_grad.data(), factors.by_input.data(), factors.shift.data());
        }
      });
      return;
    }
    for_planes(at, [&](int64_t plane, int64_t channel) {
      const auto c = static_cast<size_t>(channel);
      const int64_t offset = plane * at.inner * bytes;
      one.gradient(grads.data<char>() + offset, x.data<char>() + offset,
                   grad_input.data<char>() + offset, at.inner, &means[c], &factors.by_grad[c],
                   &factors.by_input[c], &factors.shift[c]);
    });
  });
}

// body(sample) for samples of `size` elements.
template <typename Body>
void for_samples(int64_t n, int64_t size, const Body& body) {
  parallel_for(0, n, std::max<int64_t>(1, kGrain / size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

void group_norm(ops::Launch&,
                const Tensor& input,
                const Tensor& weight,
                const Tensor& bias,
                int64_t n,
                int64_t channels,
                int64_t inner,
                int64_t groups,
                double eps,
                Tensor& out,
                Tensor& mean,
                Tensor& rstd) {
  if (input.numel() == 0) return;
  const Tensor x = as_contiguous(input);
  const Tensor result = out.is_contiguous() ? out : Tensor::make(out.sizes(), out.dtype());
  const int64_t bytes = x.element_size();
  const int64_t members = channels / groups;
  const int64_t width = members * inner;
  const RowFn moments = find_row(Row::kMoments, x.dtype());
  const ChannelFns& tiles =
      find_channels(inner == 1 ? ChannelsOfRow::kEach : ChannelsOfRow::kOne, x.dtype());
  visit_wide(input.dtype(), [&]<typename W>() {
    const std::vector<W> weights = numbers<W>(weight, channels, 1);
    const std::vector<W> biases = numbers<W>(bias, channels, 0);
    for_samples(n, channels * inner, [&](int64_t sample) {
      std::vector<W> scale(static_cast<size_t>(channels));
      std::vector<W> shift(static_cast<size_t>(channels));
      const char* const from = x.data<char>() + sample * channels * inner * bytes;
      char* const to = result.data<char>() + sample * channels * inner * bytes;
      for (int64_t g = 0; g < groups; ++g) {
        Moments found;
        moments(from + g * width * bytes, &found, width);
        const double factor = 1 / std::sqrt(found.m2 / static_cast<double>(width) + eps);
        mean.data<W>()[sample * groups + g] = static_cast<W>(found.mean);
        rstd.data<W>()[sample * groups + g] = static_cast<W>(factor);
        for (int64_t c = g * members; c < (g + 1) * members; ++c) {
          const auto k = static_cast<size_t>(c);
          scale[k] = weights[k] * static_cast<W>(factor);
          shift[k] = biases[k] - static_cast<W>(found.mean) * scale[k];
        }
      }
      if (inner == 1) return tiles.scale(from, to, channels, scale.data(), shift.data());
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t offset = c * inner * bytes;
        tiles.scale(from + offset, to + offset, inner, &scale[static_cast<size_t>(c)],
                    &shift[static_cast<size_t>(c)]);
      }
    });
  });
  if (!result.is_same(out)) copy(result, out);
}

void group_norm_backward(ops::Launch&,
                         const Tensor& grad_out,
                         const Tensor& input,
                         const Tensor& mean,
                         const Tensor& rstd,
                         const Tensor& weight,
                         int64_t n,
                         int64_t channels,
                         int64_t inner,
                         int64_t groups,
                         bool needs_input,
                         bool needs_weight,
                         bool needs_bias,
                         Tensor& grad_input,
                         Tensor& grad_weight,
                         Tensor& grad_bias) {
  const Tensor x = as_contiguous(input);
  const Tensor grads = as_contiguous(grad_out);
  const bool in_place = !needs_input || grad_input.is_contiguous();
  const Tensor result = in_place ? grad_input : Tensor::make(input.sizes(), input.dtype());
  const int64_t bytes = x.element_size();
  const int64_t members = channels / groups;
  const auto count = static_cast<size_t>(channels);
  const ChannelFns& tiles =
      find_channels(inner == 1 ? ChannelsOfRow::kEach : ChannelsOfRow::kOne, x.dtype());
  visit_wide(input.dtype(), [&]<typename W>() {
    const std::vector<W> weights = numbers<W>(weight, channels, 1);
    const std::vector<W> means = numbers<W>(mean, n * groups, 0);
    const std::vector<W> rstds = numbers<W>(rstd, n * groups, 0);
    // Of each channel of each sample: added up in the order of the samples.
    std::vector<W> sums(static_cast<size_t>(n) * count);
    std::vector<W> dots(sums.size());
    for_samples(input.numel() == 0 ? 0 : n, channels * inner, [&](int64_t sample) {
      const int64_t start = sample * channels * inner * bytes;
      const char* const grad = grads.data<char>() + start;
      const char* const from = x.data<char>() + start;
      W* const sum = sums.data() + sample * channels;
      W* const dot = dots.data() + sample * channels;
      std::vector<W> center(count);
      Factors<W> factors(count);
      for (size_t c = 0; c < count; ++c) {
        center[c] = means[static_cast<size_t>(sample * groups) + c / static_cast<size_t>(members)];
      }
      if (inner == 1) {
        tiles.sums(grad, from, channels, center.data(), sum, dot);
      } else {
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t offset = c * inner * bytes;
          tiles.sums(grad + offset, from + offset, inner, &center[static_cast<size_t>(c)], sum + c,
                     dot + c);
        }
      }
      for (int64_t g = 0; g < groups; ++g) {
        const auto scale = static_cast<double>(rstds[static_cast<size_t>(sample * groups + g)]);
        double sum_of_group = 0;
        double dot_of_group = 0;
        for (int64_t c = g * members; c < (g + 1) * members; ++c) {
          const auto factor = static_cast<double>(weights[static_cast<size_t>(c)]);
          sum_of_group += factor * static_cast<double>(sum[c]);
          dot_of_group += factor * static_cast<double>(dot[c]);
          dot[c] *= static_cast<W>(scale);
        }
        const double share = scale / static_cast<double>(members * inner);
        for (int64_t c = g * members; c < (g + 1) * members; ++c) {
          const auto k = static_cast<size_t>(c);
          factors.by_grad[k] = weights[k] * static_cast<W>(scale);
          factors.by_input[k] = static_cast<W>(-scale * scale * dot_of_group * share);
          factors.shift[k] = static_cast<W>(-sum_of_group * share);
        }
      }
      if (!needs_input) return;
      char* const to = result.data<char>() + start;
      if (inner == 1) {
        return tiles.gradient(grad, from, to, channels, center.data(), factors.by_grad.data(),
                              factors.by_input.data(), factors.shift.data());
      }
      for (size_t c = 0; c < count; ++c) {
        const int64_t offset = static_cast<int64_t>(c) * inner * bytes;
        tiles.gradient(grad + offset, from + offset, to + offset, inner, &center[c],
                       &factors.by_grad[c], &factors.by_input[c], &factors.shift[c]);
      }
    });
    const auto total = [&](const std::vector<W>& parts) {
      std::vector<double> found(count);
      for (size_t i = 0; i < parts.size(); ++i) found[i % count] += static_cast<double>(parts[i]);
      return std::vector<W>(found.begin(), found.end());
    };
    if (needs_weight) store(total(dots), grad_weight);
    if (needs_bias) store(total(sums), grad_bias);
  });
  if (!in_place) copy(result, grad_input);
}

}  // namespace

void register_channel_norm(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<batch_norm>(kCpu, "_batch_norm");
  registry.kernel<batch_norm_backward>(kCpu, "_batch_norm_backward");
  registry.kernel<group_norm>(kCpu, "native_group_norm");
  registry.kernel<group_norm_backward>(kCpu, "native_group_norm_backward");
}

}  // namespace mindtorch::cpu
