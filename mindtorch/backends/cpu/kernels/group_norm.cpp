// Normalisation of groups of channels of each sample.
#include <cmath>

#include "mindtorch/backends/cpu/kernels/channel_norm.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kGroupNormGrain = 16 * 1024;

// Samples of `groups` groups of `members` channels of `inner` elements.
struct Groups {
  int64_t samples;
  int64_t groups;
  int64_t members;
  int64_t inner;

  int64_t channels() const { return groups * members; }
  int64_t width() const { return members * inner; }
  int64_t count() const { return samples * groups; }
  // Whether there are enough groups for the threads, so that each can be computed by one.
  bool are_many() const { return count() >= num_threads() || width() <= kPlanePart; }

  // body(group, first channel, last channel): for each group whole, or for each channel of it.
  template <typename Body>
  void each(bool whole, const Body& body) const {
    const int64_t size = std::max<int64_t>(1, whole ? width() : inner);
    const int64_t pieces = whole ? count() : count() * members;
    parallel_for(0, pieces, std::max<int64_t>(1, kGroupNormGrain / size),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t group = whole ? i : i / members;
                     const int64_t first = group % groups * members + (whole ? 0 : i % members);
                     body(group, first, whole ? first + members : first + 1);
                   }
                 });
  }
};

// The moments of one group, added up by parts as those of few groups are.
template <typename W>
Moments moments_of_group(const PartMoments& moments,
                         const Tensor& x,
                         const Groups& at,
                         int64_t group) {
  if (at.width() <= kPlanePart) {
    return moments.of<W>(x.data<char>() + group * at.width() * x.element_size(), at.width());
  }
  Moments result;
  for (int64_t from = 0; from < at.width(); from += kPlanePart) {
    result += moments.of<W>(x.data<char>() + (group * at.width() + from) * x.element_size(),
                            std::min(kPlanePart, at.width() - from));
  }
  return result;
}

// The moments of all groups, if those are few.
template <typename W>
std::vector<Moments> moments_of_few(const Tensor& x, const Groups& at) {
  const int64_t parts = parts_of(at.width());
  const PartMoments moments(x.dtype());
  std::vector<Moments> found(static_cast<size_t>(at.count() * parts));
  parallel_for(0, at.count() * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i % parts * kPlanePart;
      const int64_t first = i / parts * at.width() + from;
      found[static_cast<size_t>(i)] = moments.of<W>(x.data<char>() + first * x.element_size(),
                                                    std::min(kPlanePart, at.width() - from));
    }
  });
  std::vector<Moments> result(static_cast<size_t>(at.count()));
  for (size_t i = 0; i < found.size(); ++i) result[i / static_cast<size_t>(parts)] += found[i];
  return result;
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
  const Groups at = {n, groups, channels / groups, inner};
  const PartMoments moments(x.dtype());
  const ChannelFns& tiles =
      find_channels(inner == 1 ? ChannelsOfRow::kEach : ChannelsOfRow::kOne, x.dtype());
  visit_wide(input.dtype(), [&]<typename W>() {
    const std::vector<W> weights = numbers<W>(weight, channels, 1);
    const std::vector<W> biases = numbers<W>(bias, channels, 0);
    const std::vector<Moments> known =
        at.are_many() ? std::vector<Moments>() : moments_of_few<W>(x, at);
    at.each(at.are_many(), [&](int64_t group, int64_t first, int64_t last) {
      const Moments found = known.empty() ? moments_of_group<W>(moments, x, at, group)
                                          : known[static_cast<size_t>(group)];
      const auto factor =
          static_cast<W>(1 / std::sqrt(found.m2 / static_cast<double>(at.width()) + eps));
      const auto center = static_cast<W>(found.mean);
      if (first % at.members == 0) {
        mean.data<W>()[group] = center;
        rstd.data<W>()[group] = factor;
      }
      const int64_t start = (group / groups * channels + first) * inner * bytes;
      const char* from = x.data<char>() + start;
      char* to = result.data<char>() + start;
      if (inner == 1) {
        std::vector<W> scale(static_cast<size_t>(last - first));
        std::vector<W> shift(scale.size());
        for (size_t k = 0; k < scale.size(); ++k) {
          const size_t c = static_cast<size_t>(first) + k;
          scale[k] = weights[c] * factor;
          shift[k] = biases[c] - center * scale[k];
        }
        return tiles.scale(from, to, last - first, scale.data(), shift.data());
      }
      for (auto c = static_cast<size_t>(first); c < static_cast<size_t>(last); ++c) {
        const W scale = weights[c] * factor;
        const W shift = biases[c] - center * scale;
        tiles.scale(from, to, inner, &scale, &shift);
        from += inner * bytes;
        to += inner * bytes;
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
  const Groups at = {n, groups, channels / groups, inner};
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
    // Where a channel of a group's sample is among those of all samples.
    const auto place = [&](int64_t group, int64_t c) { return group / groups * channels + c; };
    const auto add_up = [&](int64_t group, int64_t first, int64_t last) {
      const W center = means[static_cast<size_t>(group)];
      const std::vector<W> centers(static_cast<size_t>(inner == 1 ? last - first : 1), center);
      const int64_t step = inner == 1 ? last - first : 1;
      for (int64_t c = first; c < last; c += step) {
        const int64_t own = place(group, c);
        tiles.sums(grads.data<char>() + own * inner * bytes, x.data<char>() + own * inner * bytes,
                   inner == 1 ? step : inner, centers.data(), sums.data() + own, dots.data() + own);
      }
    };
    const auto spread = [&](int64_t group, int64_t first, int64_t last) {
      const auto scale = static_cast<double>(rstds[static_cast<size_t>(group)]);
      double sum_of_group = 0;
      double dot_of_group = 0;
      const int64_t of_group = group % groups * at.members;
      for (int64_t c = of_group; c < of_group + at.members; ++c) {
        const auto own = static_cast<size_t>(place(group, c));
        const auto factor = static_cast<double>(weights[static_cast<size_t>(c)]);
        sum_of_group += factor * static_cast<double>(sums[own]);
        dot_of_group += factor * static_cast<double>(dots[own]);
      }
      const double share = scale / static_cast<double>(at.width());
      const int64_t step = inner == 1 ? last - first : 1;
      const std::vector<W> centers(static_cast<size_t>(step), means[static_cast<size_t>(group)]);
      Factors<W> factors(static_cast<size_t>(step));
      for (size_t k = 0; k < centers.size(); ++k) {
        factors.by_input[k] = static_cast<W>(-scale * scale * dot_of_group * share);
        factors.shift[k] = static_cast<W>(-sum_of_group * share);
      }
      for (int64_t c = first; c < last; c += step) {
        for (int64_t k = 0; k < step; ++k) {
          factors.by_grad[static_cast<size_t>(k)] =
              weights[static_cast<size_t>(c + k)] * static_cast<W>(scale);
        }
        const int64_t offset = place(group, c) * inner * bytes;
        tiles.gradient(grads.data<char>() + offset, x.data<char>() + offset,
                       result.data<char>() + offset, inner == 1 ? step : inner, centers.data(),
                       factors.by_grad.data(), factors.by_input.data(), factors.shift.data());
      }
    };
    if (input.numel() == 0) {
      // Nothing to add up.
    } else if (at.are_many()) {
      at.each(true, [&](int64_t group, int64_t first, int64_t last) {
        add_up(group, first, last);
        if (needs_input) spread(group, first, last);
      });
    } else {
      at.each(false, add_up);
      if (needs_input) at.each(false, spread);
    }
    for (size_t i = 0; i < dots.size(); ++i) dots[i] *= rstds[i / static_cast<size_t>(at.members)];
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

void register_group_norm(ops::Registry& registry) {
  constexpr auto kCpu = DeviceType::kCpu;
  registry.kernel<group_norm>(kCpu, "native_group_norm");
  registry.kernel<group_norm_backward>(kCpu, "native_group_norm_backward");
}

}  // namespace mindtorch::cpu
