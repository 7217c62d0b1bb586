// Random numbers, and dropout. A seed and an offset give the same numbers each time, whatever the
// layout; they are not the numbers of a real device, whose generator is not documented.
#include <numeric>

#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

constexpr Types kReal = kF | kI | kF64 | kBool;

// A counter-based generator: number i of a seed and offset (SplitMix64's mixing).
class Random {
 public:
  Random(uint64_t seed, uint64_t offset) : key_(mix(seed ^ mix(offset + 0x632be59bd9b4e019ULL))) {}
  uint64_t bits(int64_t i) const { return mix(key_ + static_cast<uint64_t>(i) * kStep); }
  // In [0, 1).
  double unit(int64_t i) const { return static_cast<double>(bits(i) >> 11) * 0x1p-53; }
  double normal(int64_t i) const {
    const double a = 1 - unit(2 * i);  // in (0, 1]
    return std::sqrt(-2 * std::log(a)) * std::cos(2 * M_PI * unit(2 * i + 1));
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15ULL;
  static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    return x ^ x >> 31;
  }
  uint64_t key_;
};

Random random(int64_t seed, int64_t offset) {
  return Random(static_cast<uint64_t>(seed), static_cast<uint64_t>(offset));
}

// Where a call draws from: numbers that it is given, or what memory holds when it runs.
struct Place {
  uint64_t seed = 0;
  uint64_t offset = 0;
  Operand seed_at{};
  Operand offset_at{};

  Random generator(const Launch& launch) const {
    if (!seed_at) return Random(seed, offset);
    const auto number = [&](const Operand& operand) {
      int64_t value = 0;
      load(get(launch, operand), 0, 1, &value);
      return static_cast<uint64_t>(value);
    };
    return Random(number(seed_at), number(offset_at) + offset);
  }
};

template <class Integer>
Place place(Integer seed, Integer offset) {
  return {static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)};
}
// `further` is added to the offset.
template <class Integer>
Place place(Planner& p, const aclTensor* seed, const aclTensor* offset, Integer further) {
  const Operand seed_at = p.input(seed, "seedTensor", kI64);
  const Operand offset_at = p.input(offset, "offsetTensor", kI64);
  for (const Operand& each : {seed_at, offset_at}) {
    p.check(each.numel() == 1, p.name(each) + " must have one element");
  }
  return {0, static_cast<uint64_t>(further), seed_at, offset_at};
}

// f(generator, i) for each element.
template <class F>
void fill_from(Planner& p, const Operand& out, const Place& place, F f) {
  if (out.numel() == 0) return;
  p.run([=](Launch& launch) {
    const Random generator = place.generator(launch);
    for (int64_t i = 0; i < out.numel(); ++i) {
      const auto value = f(generator, i);
      store(get(launch, out), i, 1, &value);
    }
  });
}

template <class F>
void fill(Planner& p, const Operand& out, F f) {
  if (out.numel() == 0) return;
  p.run([=](Launch& launch) {
    for (int64_t i = 0; i < out.numel(); ++i) {
      const auto value = f(launch, i);
      store(get(launch, out), i, 1, &value);
    }
  });
}

double element(const Launch& launch, const Operand& operand, const Shape& shape, int64_t i) {
  double value = 0;
  load(get(launch, operand).expand(shape), i, 1, &value);
  return value;
}

aclnnStatus bernoulli(const char* op,
                      const aclTensor* self,
                      bool in_place,
                      const aclScalar* scalar,
                      const aclTensor* tensor,
                      bool by_tensor,
                      int64_t seed,
                      int64_t offset,
                      const aclTensor* out,
                      uint64_t* workspace_size,
                      aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = in_place ? p.output(self, "selfRef", kReal) : p.input(self, "self", kReal);
    const Operand chance = by_tensor ? p.input(tensor, "prob", kF | kF64) : Operand{};
    const double fixed = by_tensor ? 0 : p.scalar(scalar, "prob").real();
    const Operand target = in_place ? in : p.output(out, "out", kReal);
    p.check_shape(target, in.shape());
    p.check(fixed >= 0 && fixed <= 1, "prob must be in [0, 1]");
    if (chance) p.check_shape(in, p.broadcast(in.shape(), chance.shape(), "self and prob"));
    const Random generator = random(seed, offset);
    const Shape shape = in.shape();
    fill(p, target, [=](const Launch& launch, int64_t i) {
      const double limit = chance ? element(launch, chance, shape, i) : fixed;
      return static_cast<int64_t>(generator.unit(i) < limit);
    });
  });
}

// Normal numbers with a mean and a deviation that are numbers or tensors.
aclnnStatus normal(const char* op,
                   float mean,
                   const aclTensor* means,
                   bool mean_tensor,
                   float std,
                   const aclTensor* stds,
                   bool std_tensor,
                   int64_t seed,
                   int64_t offset,
                   const aclTensor* out,
                   uint64_t* workspace_size,
                   aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand m = mean_tensor ? p.input(means, "mean", kF | kF64) : Operand{};
    const Operand s = std_tensor ? p.input(stds, "std", kF | kF64) : Operand{};
    const Operand target = p.output(out, "out", kF | kF64);
    p.check(std_tensor || std >= 0, "std is negative");
    if (m) p.check_shape(target, p.broadcast(target.shape(), m.shape(), "out and mean"));
    if (s) p.check_shape(target, p.broadcast(target.shape(), s.shape(), "out and std"));
    const Random generator = random(seed, offset);
    const Shape shape = target.shape();
    fill(p, target, [=](const Launch& launch, int64_t i) {
      const double centre = m ? element(launch, m, shape, i) : mean;
      const double width = s ? element(launch, s, shape, i) : std;
      return centre + width * generator.normal(i);
    });
  });
}

// In training each element up to 0 gets a slope of its own, which goes to `noise`; else the middle.
aclnnStatus rrelu(const char* op,
                  const aclTensor* self,
                  bool in_place,
                  const aclTensor* noise,
                  const aclScalar* lower,
                  const aclScalar* upper,
                  bool training,
                  int64_t seed,
                  int64_t offset,
                  const aclTensor* out,
                  uint64_t* workspace_size,
                  aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = in_place ? p.inout(self, "self", kF) : p.input(self, "self", kF);
    const Operand slopes = p.output(noise, "noise", kF);
    const double low = p.scalar(lower, "lower").real();
    const double high = p.scalar(upper, "upper").real();
    const Operand target = in_place ? in : p.output(out, "out", kF);
    p.check(low <= high, "lower is greater than upper");
    p.check_shape(slopes, in.shape());
    p.check_shape(target, in.shape());
    if (in.numel() == 0) return;
    const Random generator = random(seed, offset);
    p.run([=](Launch& launch) {
      auto values = load_all<float>(get(launch, in));
      std::vector<float> drawn(values.size(), 1);
      for (size_t i = 0; i < values.size(); ++i) {
        if (values[i] > 0) continue;
        const double unit = training ? generator.unit(static_cast<int64_t>(i)) : 0.5;
        drawn[i] = static_cast<float>(low + (high - low) * unit);
        values[i] *= drawn[i];
      }
      store_all(get(launch, target), values);
      if (training) store_all(get(launch, slopes), drawn);
    });
  });
}

int64_t mask_bytes(int64_t elements) { return (elements + 127) / 128 * 128 / 8; }

// One bit for each element: 1 keeps it.
void fill_mask(const View& mask, int64_t elements, double drop, const Random& generator) {
  std::vector<int64_t> bytes(static_cast<size_t>(mask.numel()));
  for (int64_t i = 0; i < elements; ++i) {
    if (generator.unit(i) >= drop) bytes[static_cast<size_t>(i / 8)] |= int64_t{1} << (i % 8);
  }
  store_all(mask, bytes);
}

void apply_mask(const View& out, const View& in, const View& mask, double scale) {
  const auto bytes = load_all<int64_t>(mask);
  auto values = load_all<float>(in);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool keep = (bytes[i / 8] >> (i % 8) & 1) != 0;
    values[i] = keep ? values[i] * static_cast<float>(scale) : 0;
  }
  store_all(out, values);
}

void check_drop(Planner& p, double drop, const char* name) {
  p.check(drop >= 0 && drop <= 1, std::string(name) + " must be in [0, 1]");
}

template <class GetPlace>
aclnnStatus gen_mask(const char* op,
                     const aclIntArray* shape,
                     double drop,
                     const aclTensor* out,
                     const GetPlace& get_place,
                     uint64_t* workspace_size,
                     aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const int64_t elements = count(p.array(shape, "shape"));
    const Place from = get_place(p);
    const Operand mask = p.output(out, "out", kU8);
    check_drop(p, drop, "prob");
    p.check(mask.numel() >= mask_bytes(elements),
            "out must have " + std::to_string(mask_bytes(elements)) + " bytes");
    if (elements == 0) return;
    p.run([=](Launch& launch) {
      fill_mask(get(launch, mask), elements, drop, from.generator(launch));
    });
  });
}

// The ops that fill a tensor, whichever way they are told where to draw.
template <class GetPlace>
aclnnStatus fill_normal(const char* op,
                        const aclTensor* self,
                        float mean,
                        float std,
                        const GetPlace& get_place,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand out = p.output(self, "selfRef", kReal);
    const Place from = get_place(p);
    p.check(std >= 0, "std is negative");
    fill_from(p, out, from,
              [=](const Random& generator, int64_t i) { return mean + std * generator.normal(i); });
  });
}

template <class GetPlace>
aclnnStatus fill_uniform(const char* op,
                         const aclTensor* self,
                         double from,
                         double to,
                         const GetPlace& get_place,
                         uint64_t* workspace_size,
                         aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand out = p.output(self, "selfRef", kReal & ~kBool);
    const Place start = get_place(p);
    p.check(from <= to, "from is larger than to");
    fill_from(p, out, start, [=](const Random& generator, int64_t i) {
      double value = from + (to - from) * generator.unit(i);
      // Rounding to a short float must not reach `to`.
      if (out.dtype() == ACL_FLOAT16 && from_half(to_half(static_cast<float>(value))) >= to) {
        value = from;
      }
      if (out.dtype() == ACL_BF16 && from_bfloat(to_bfloat(static_cast<float>(value))) >= to) {
        value = from;
      }
      if (out.dtype() == ACL_FLOAT && static_cast<float>(value) >= to) value = from;
      return value;
    });
  });
}

template <class GetPlace>
aclnnStatus fill_whole(const char* op,
                       const aclTensor* self,
                       int64_t from,
                       int64_t to,
                       const GetPlace& get_place,
                       uint64_t* workspace_size,
                       aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand out = p.output(self, "selfRef", kReal);
    const Place start = get_place(p);
    p.check(from < to, "from must be less than to");
    const uint64_t range = static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
    fill_from(p, out, start, [=](const Random& generator, int64_t i) {
      return static_cast<int64_t>(static_cast<uint64_t>(from) + generator.bits(i) % range);
    });
  });
}

aclnnStatus do_mask(const char* op,
                    const aclTensor* self,
                    const char* self_name,
                    const aclTensor* mask,
                    double scale,
                    bool valid,
                    const aclTensor* out,
                    uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, self_name, kF);
    const Operand bits = p.input(mask, "mask", kU8);
    const Operand target = p.output(out, "out", kF);
    p.check(valid, "prob must be in [0, 1]");
    p.check_shape(target, in.shape());
    p.check(bits.numel() >= mask_bytes(in.numel()), "mask is too small");
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      apply_mask(get(launch, target), get(launch, in), get(launch, bits), scale);
    });
  });
}

}  // namespace

// An op in both of CANN's forms: one is given the numbers to draw by, behind the parameters
// `Before`; Name##Tensor finds them in memory when it runs, and adds its own offset.
#define SIM_LIST(...) __VA_ARGS__
#define SIM_DRAWS(Name, Integer, Before, After, function, arguments)                           \
  SIM_SIGNATURE(Name, SIM_LIST Before, Integer seed, Integer offset SIM_LIST After) {          \
    return function(                                                                           \
        "aclnn" #Name, SIM_LIST arguments, [&](Planner&) { return place(seed, offset); },      \
        workspaceSize, executor);                                                              \
  }                                                                                            \
  SIM_SIGNATURE(Name##Tensor, SIM_LIST Before, const aclTensor* seedTensor,                    \
                const aclTensor* offsetTensor, Integer offset SIM_LIST After) {                \
    return function(                                                                           \
        "aclnn" #Name "Tensor", SIM_LIST arguments,                                            \
        [&](Planner& p) { return place(p, seedTensor, offsetTensor, offset); }, workspaceSize, \
        executor);                                                                             \
  }

extern "C" {

SIM_DRAWS(InplaceNormal,
          int64_t,
          (const aclTensor* selfRef, float mean, float std),
          (),
          fill_normal,
          (selfRef, mean, std))
SIM_DRAWS(InplaceUniform,
          uint64_t,
          (const aclTensor* selfRef, double from, double to),
          (),
          fill_uniform,
          (selfRef, from, to))
SIM_DRAWS(InplaceRandom,
          int64_t,
          (const aclTensor* selfRef, int64_t from, int64_t to),
          (),
          fill_whole,
          (selfRef, from, to))
SIM_DRAWS(DropoutGenMaskV2,
          int64_t,
          (const aclIntArray* shape, double prob),
          (, aclDataType, aclTensor* out),
          gen_mask,
          (shape, prob, out))
SIM_SIGNATURE(Bernoulli,
              const aclTensor* self,
              const aclScalar* prob,
              int64_t seed,
              int64_t offset,
              aclTensor* out) {
  return bernoulli("aclnnBernoulli", self, false, prob, nullptr, false, seed, offset, out,
                   workspaceSize, executor);
}
SIM_SIGNATURE(BernoulliTensor,
              const aclTensor* self,
              const aclTensor* prob,
              int64_t seed,
              int64_t offset,
              aclTensor* out) {
  return bernoulli("aclnnBernoulliTensor", self, false, nullptr, prob, true, seed, offset, out,
                   workspaceSize, executor);
}
SIM_SIGNATURE(InplaceBernoulli,
              const aclTensor* selfRef,
              const aclScalar* prob,
              int64_t seed,
              int64_t offset) {
  return bernoulli("aclnnInplaceBernoulli", selfRef, true, prob, nullptr, false, seed, offset,
                   nullptr, workspaceSize, executor);
}
SIM_SIGNATURE(InplaceBernoulliTensor,
              const aclTensor* selfRef,
              const aclTensor* prob,
              int64_t seed,
              int64_t offset) {
  return bernoulli("aclnnInplaceBernoulliTensor", selfRef, true, nullptr, prob, true, seed, offset,
                   nullptr, workspaceSize, executor);
}
SIM_SIGNATURE(NormalTensorTensor,
              const aclTensor* mean,
              const aclTensor* std,
              int64_t seed,
              int64_t offset,
              aclTensor* out) {
  return normal("aclnnNormalTensorTensor", 0, mean, true, 0, std, true, seed, offset, out,
                workspaceSize, executor);
}
SIM_SIGNATURE(NormalTensorFloat,
              const aclTensor* mean,
              float std,
              int64_t seed,
              int64_t offset,
              aclTensor* out) {
  return normal("aclnnNormalTensorFloat", 0, mean, true, std, nullptr, false, seed, offset, out,
                workspaceSize, executor);
}
SIM_SIGNATURE(NormalFloatTensor,
              float mean,
              const aclTensor* std,
              int64_t seed,
              int64_t offset,
              aclTensor* out) {
  return normal("aclnnNormalFloatTensor", mean, nullptr, false, 0, std, true, seed, offset, out,
                workspaceSize, executor);
}
SIM_SIGNATURE(
    NormalFloatFloat, float mean, float std, int64_t seed, int64_t offset, aclTensor* out) {
  return normal("aclnnNormalFloatFloat", mean, nullptr, false, std, nullptr, false, seed, offset,
                out, workspaceSize, executor);
}
SIM_SIGNATURE(Randperm, int64_t n, int64_t seed, int64_t offset, aclTensor* out) {
  return plan("aclnnRandperm", workspaceSize, executor, [&](Planner& p) {
    const Operand target = p.output(out, "out", kReal & ~kBool);
    p.check(n >= 0, "n is negative");
    p.check_shape(target, {n});
    if (n == 0) return;
    const Random generator = random(seed, offset);
    p.run([=](Launch& launch) {
      std::vector<int64_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      for (int64_t i = n - 1; i > 0; --i) {
        const auto j = generator.bits(i) % static_cast<uint64_t>(i + 1);
        std::swap(order[static_cast<size_t>(i)], order[j]);
      }
      store_all(get(launch, target), order);
    });
  });
}
SIM_SIGNATURE(Multinomial,
              const aclTensor* self,
              int64_t numsamples,
              bool replacement,
              int64_t seed,
              int64_t offset,
              aclTensor* out) {
  return plan("aclnnMultinomial", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF | kF64);
    const Operand target = p.output(out, "out", kI64);
    p.check_rank(in, 1, 2);
    Shape shape = in.shape();
    p.check(numsamples > 0 && (replacement || numsamples <= shape.back()),
            "numsamples is out of range");
    shape.back() = numsamples;
    p.check_shape(target, shape);
    if (target.numel() == 0) return;
    const Random generator = random(seed, offset);
    p.run([=](Launch& launch) {
      for_rows<double>(get(launch, in), in.rank() - 1, [&](int64_t row, std::vector<double>& w) {
        for (int64_t k = 0; k < numsamples; ++k) {
          const double total = std::accumulate(w.begin(), w.end(), 0.0);
          double left = generator.unit(row * numsamples + k) * total;
          int64_t hit = -1;
          for (size_t i = 0; i < w.size(); ++i) {
            if (w[i] <= 0) continue;
            hit = static_cast<int64_t>(i);
            left -= w[i];
            if (left < 0) break;
          }
          if (hit < 0) throw DeviceFault{507018, "self has no positive weight left"};
          if (!replacement) w[static_cast<size_t>(hit)] = 0;
          store(get(launch, target), row * numsamples + k, 1, &hit);
        }
      });
    });
  });
}

SIM_SIGNATURE(DropoutGenMask,
              const aclIntArray* shape,
              double prob,
              int64_t seed,
              int64_t offset,
              aclTensor* out) {
  return gen_mask(
      "aclnnDropoutGenMask", shape, prob, out, [&](Planner&) { return place(seed, offset); },
      workspaceSize, executor);
}
SIM_SIGNATURE(
    DropoutDoMask, const aclTensor* self, const aclTensor* mask, double prob, aclTensor* out) {
  return do_mask("aclnnDropoutDoMask", self, "self", mask, prob == 1 ? 0 : 1 / (1 - prob),
                 prob >= 0 && prob <= 1, out, workspaceSize, executor);
}
SIM_SIGNATURE(DropoutBackward,
              const aclTensor* gradOutput,
              const aclTensor* mask,
              double scale,
              aclTensor* out) {
  return do_mask("aclnnDropoutBackward", gradOutput, "gradOutput", mask, scale, true, out,
                 workspaceSize, executor);
}
SIM_SIGNATURE(Dropout,
              const aclTensor* input,
              double p,
              bool train,
              int64_t seed,
              int64_t offset,
              aclTensor* out,
              aclTensor* maskOut) {
  return plan("aclnnDropout", workspaceSize, executor, [&](Planner& planner) {
    const Operand in = planner.input(input, "input", kF);
    const Operand target = planner.output(out, "out", kF);
    const Operand mask = planner.output(maskOut, "maskOut", kU8);
    check_drop(planner, p, "p");
    planner.check_shape(target, in.shape());
    planner.check(mask.numel() >= mask_bytes(in.numel()), "maskOut is too small");
    if (in.numel() == 0) return;
    const Random generator = random(seed, offset);
    const double drop = train ? p : 0;
    planner.run([=](Launch& launch) {
      fill_mask(get(launch, mask), in.numel(), drop, generator);
      apply_mask(get(launch, target), get(launch, in), get(launch, mask),
                 drop == 1 ? 0 : 1 / (1 - drop));
    });
  });
}

SIM_SIGNATURE(RReluWithNoise,
              const aclTensor* self,
              const aclTensor* noise,
              const aclScalar* lower,
              const aclScalar* upper,
              bool training,
              int64_t seed,
              int64_t offset,
              aclTensor* out) {
  return rrelu("aclnnRReluWithNoise", self, false, noise, lower, upper, training, seed, offset, out,
               workspaceSize, executor);
}
SIM_SIGNATURE(InplaceRReluWithNoise,
              const aclTensor* self,
              const aclTensor* noise,
              const aclScalar* lower,
              const aclScalar* upper,
              bool training,
              int64_t seed,
              int64_t offset) {
  return rrelu("aclnnInplaceRReluWithNoise", self, true, noise, lower, upper, training, seed,
               offset, nullptr, workspaceSize, executor);
}
}
