#include "mindtorch/backends/cpu/fft/whole_plan.h"

#include <algorithm>
#include <bit>

#include "mindtorch/backends/cpu/fft/plan_cache.h"
#include "mindtorch/backends/cpu/fft/roots.h"

namespace mindtorch::cpu::fft {
namespace {

constexpr int64_t kMostLength = 32768;
constexpr int64_t kMostTwos = 4;  // in one radix

int64_t twos_of(int64_t length) { return std::countr_zero(static_cast<uint64_t>(length)); }

// The passes for the powers of two are as equal as can be, the larger ones first; but the second
// one has as many elements as a register where a line then fits in 16 of them.
int64_t first_radix(int64_t length, int64_t lanes) {
  if (length == 16 * lanes || length == 8 * lanes) return length / lanes;
  const int64_t twos = twos_of(length);
  const int64_t passes = ceil_div(twos, kMostTwos);
  const int64_t first = int64_t{1} << ceil_div(twos, std::max<int64_t>(passes, 1));
  // The first pass has to have a register of groups: 48 elements are 4 * 4 * 3, not 16 * 3.
  const bool has_few_groups = length / first < lanes && length > first;
  return has_few_groups && first == 4 * lanes ? lanes : first;
}

std::vector<int64_t> radices_of(int64_t length, int64_t lanes) {
  std::vector<int64_t> radices = {first_radix(length, lanes)};
  for (int64_t twos = twos_of(length / radices[0]); twos > 0;) {
    const int64_t some = ceil_div(twos, ceil_div(twos, kMostTwos));
    radices.push_back(int64_t{1} << some);
    twos -= some;
  }
  int64_t rest = length >> twos_of(length);
  for (const int64_t p : {7, 5, 3}) {
    for (; rest % p == 0; rest /= p) radices.push_back(p);
  }
  return radices;
}

template <typename T>
void put_turn(bool inverse, int64_t power, int64_t length, T* re, T* im) {
  const auto [cosine, sine] = root_of_one(power, length);
  re[0] = re[1] = static_cast<T>(cosine);
  im[0] = static_cast<T>(inverse ? sine : -sine);
  im[1] = -im[0];
}

template <typename T>
WholePlan<T> make_plan(bool inverse, int64_t length, int64_t lanes) {
  WholePlan<T> plan = {length, inverse, {}, {}};
  int64_t stride = 1;
  int64_t size = 0;
  const auto registers = [&](const WholePass& pass) { return ceil_div(pass.groups, lanes); };
  for (const int64_t radix : radices_of(length, lanes)) {
    const WholePass pass = {radix, length / stride / radix, stride, size};
    size += (radix - 1) * (stride == 1 ? 4 * lanes * registers(pass) : 4 * pass.groups);
    // Turns of a pass begin at a cache line.
    size = ceil_div(size, int64_t{16}) * 16;
    plan.passes.push_back(pass);
    stride *= radix;
  }
  plan.turns.allocate(size);
  for (const WholePass& pass : plan.passes) {
    T* to = plan.turns.get() + pass.turns;
    const int64_t turned = pass.radix * pass.groups;
    if (pass.stride > 1) {
      for (int64_t p = 0; p < pass.groups; ++p) {
        for (int64_t k = 1; k < pass.radix; ++k, to += 4) {
          put_turn(inverse, p * k, turned, to, to + 2);
        }
      }
      continue;
    }
    for (int64_t i = 0; i < registers(pass); ++i) {
      const int64_t first = std::min(i * lanes, pass.groups - lanes);
      for (int64_t k = 1; k < pass.radix; ++k, to += 4 * lanes) {
        for (int64_t lane = 0; lane < lanes; ++lane) {
          put_turn(inverse, (first + lane) * k, turned, to + 2 * lane, to + 2 * (lanes + lane));
        }
      }
    }
  }
  return plan;
}

}  // namespace

bool has_whole_plan(int64_t length, int64_t lanes) {
  if (length > kMostLength || length < 1) return false;
  const int64_t first = first_radix(length, lanes);
  if (first < 4 || first % lanes != 0 || length / first < std::max<int64_t>(lanes, 2)) return false;
  int64_t rest = length >> twos_of(length);
  for (const int64_t p : {3, 5, 7}) {
    while (rest % p == 0) rest /= p;
  }
  return rest == 1;
}

int64_t whole_pass_count(int64_t length, int64_t lanes) {
  return static_cast<int64_t>(radices_of(length, lanes).size());
}

template <typename T>
std::shared_ptr<const WholePlan<T>> whole_plan(bool inverse, int64_t length, int64_t lanes) {
  static Cache<WholePlan<T>> caches[2];
  if (!has_whole_plan(length, lanes)) return nullptr;
  return caches[inverse ? 1 : 0].get(
      length, [&](int64_t size) { return make_plan<T>(inverse, size, lanes); });
}

template <typename T>
std::shared_ptr<const Scratch<T>> whole_half_turns(bool inverse, int64_t half, int64_t lanes) {
  static Cache<Scratch<T>> caches[2];
  return caches[inverse ? 1 : 0].get(half, [&](int64_t size) {
    const int64_t registers = ceil_div(size / 2, lanes);
    Scratch<T> turns(4 * lanes * registers);
    for (int64_t i = 0; i < registers; ++i) {
      const int64_t first = std::min(i * lanes, size / 2 - lanes) + 1;
      T* const to = turns.get() + 4 * lanes * i;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        // -i is a quarter of the circle.
        put_turn(inverse, 2 * (first + lane) + size, 4 * size, to + 2 * lane,
                 to + 2 * (lanes + lane));
      }
    }
    return turns;
  });
}

template std::shared_ptr<const Scratch<float>> whole_half_turns(bool, int64_t, int64_t);
template std::shared_ptr<const Scratch<double>> whole_half_turns(bool, int64_t, int64_t);
template std::shared_ptr<const WholePlan<float>> whole_plan(bool, int64_t, int64_t);
template std::shared_ptr<const WholePlan<double>> whole_plan(bool, int64_t, int64_t);

}  // namespace mindtorch::cpu::fft
