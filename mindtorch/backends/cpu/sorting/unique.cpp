#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include "mindtorch/backends/cpu/scratch.h"
#include "mindtorch/backends/cpu/sorting.h"
#include "mindtorch/backends/cpu/sorting/keys.h"
#include "mindtorch/backends/cpu/sorting/radix.h"
#include "mindtorch/backends/cpu/sorting/vector.h"

namespace mindtorch::cpu {
namespace {

using namespace sorting;

struct Distinct {
  DType dtype;
  const void* in;
  int64_t n;
  const Allocate& values;
  int64_t* inverse;  // may be null
  const Allocate& counts;
};

template <typename Bits>
struct Outputs {
  Bits* values;     // null when not wanted
  int64_t* counts;  // null when not wanted
};

template <typename Bits>
Outputs<Bits> allocate(const Distinct& job, int64_t count) {
  return {static_cast<Bits*>(job.values ? job.values(count) : nullptr),
          static_cast<int64_t*>(job.counts ? job.counts(count) : nullptr)};
}

// Runs of equal keys in sorted order, NaNs one by one. Gives their number.
template <typename T, typename KeyAt>
int64_t count_runs(int64_t n, KeyAt key_at) {
  int64_t runs = 1;
  for (int64_t i = 1; i < n; ++i) {
    const bool nan = kIsFloat<T> && key_at(i) == kNanKey<T>;
    runs += key_at(i) != key_at(i - 1) || nan;
  }
  return runs;
}

// `begin_run(run, i)` where a run starts, `visit(run, i)` everywhere, in sorted order.
template <typename T, typename KeyAt, typename BeginRun, typename Visit>
void walk_runs(int64_t n, KeyAt key_at, BeginRun begin_run, Visit visit) {
  int64_t run = -1;
  for (int64_t i = 0; i < n; ++i) {
    const bool nan = kIsFloat<T> && key_at(i) == kNanKey<T>;
    if (i == 0 || key_at(i) != key_at(i - 1) || nan) begin_run(++run, i);
    visit(run, i);
  }
}

// counts[run] out of where the runs begin, which `counts` holds so far.
void begins_to_counts(int64_t* counts, int64_t runs, int64_t n) {
  for (int64_t run = 0; run < runs; ++run) {
    counts[run] = (run + 1 < runs ? counts[run + 1] : n) - counts[run];
  }
}

// Keys in a range small enough for a table of counts: no sort at all. NaNs come after the table.
template <typename T>
int64_t unique_by_table(const Distinct& job, const WideKey<T>* keys, WideKey<T> low, int64_t size) {
  using Bits = KeyOf<T>;
  const auto* in = static_cast<const Bits*>(job.in);
  const auto is_nan = [keys](int64_t i) { return kIsFloat<T> && keys[i] == kNanKey<T>; };
  // One more entry than the range: NaNs are counted there.
  std::vector<int64_t> table(static_cast<size_t>(size) + 1);
  const auto entry = [&](int64_t i) -> int64_t& {
    return table[is_nan(i) ? static_cast<size_t>(size) : static_cast<size_t>(keys[i] - low)];
  };
  for (int64_t i = 0; i < job.n; ++i) ++entry(i);
  const int64_t nans = table.back();
  const int64_t numbers = size - std::count(table.begin(), table.end() - 1, 0);
  const Outputs<Bits> out = allocate<Bits>(job, numbers + nans);
  int64_t place = 0;
  for (int64_t d = 0; d < size; ++d) {
    int64_t& count = table[static_cast<size_t>(d)];
    if (count == 0) continue;
    const Bits key = static_cast<Bits>(low + static_cast<WideKey<T>>(d));
    if (out.values) {
      out.values[place] = bits_of_key<T>(key);
      if (kIsFloat<T> && key == kZeroKey<T>) {
        out.values[place] = in[find_key(keys, job.n, WideKey<T>{key})];
      }
    }
    if (out.counts) out.counts[place] = count;
    count = place++;
  }
  if (nans > 0) {
    for (int64_t i = 0, at = place; i < job.n; ++i) {
      if (!is_nan(i)) continue;
      if (out.values) out.values[at] = in[i];
      if (out.counts) out.counts[at] = 1;
      ++at;
    }
  }
  if (job.inverse) {
    table.back() = place;
    for (int64_t i = 0; i < job.n; ++i) job.inverse[i] = is_nan(i) ? table.back()++ : entry(i);
  }
  return numbers + nans;
}

template <typename T>
int64_t unique_with_inverse(const Distinct& job,
                            const WideKey<T>* keys,
                            const KeyRange& range,
                            KeptScratch& scratch) {
  using Key = WideKey<T>;
  auto* items = scratch.take<uint64_t>(job.n);
  auto* spare = scratch.take<uint64_t>(job.n);
  order_keys(keys, job.n, static_cast<Key>(range.low), static_cast<Key>(range.high), items, spare);
  // Sorted keys are read many times below; the spare room holds them.
  auto* sorted = reinterpret_cast<Key*>(spare);
  if (items_hold_keys(range.low, range.high)) {
    for (int64_t i = 0; i < job.n; ++i) sorted[i] = static_cast<Key>((items[i] >> 32) + range.low);
  } else {
    for (int64_t i = 0; i < job.n; ++i) sorted[i] = keys[static_cast<uint32_t>(items[i])];
  }
  const auto key_at = [sorted](int64_t i) { return sorted[i]; };
  const int64_t runs = count_runs<T>(job.n, key_at);
  const auto out = allocate<KeyOf<T>>(job, runs);
  const auto* in = static_cast<const KeyOf<T>*>(job.in);
  walk_runs<T>(
      job.n, key_at,
      [&](int64_t run, int64_t i) {
        if (out.values) out.values[run] = in[static_cast<uint32_t>(items[i])];
        if (out.counts) out.counts[run] = i;
      },
      [&](int64_t run, int64_t i) { job.inverse[static_cast<uint32_t>(items[i])] = run; });
  if (out.counts) begins_to_counts(out.counts, runs, job.n);
  return runs;
}

template <typename T>
int64_t unique_values(const Distinct& job,
                      WideKey<T>* keys,
                      const KeyRange& range,
                      KeptScratch& scratch) {
  using Key = WideKey<T>;
  using Bits = KeyOf<T>;
  const auto* in = static_cast<const Bits*>(job.in);
  const int64_t n = job.n;
  const int64_t first_zero = kIsFloat<T> ? find_key(keys, n, Key{kZeroKey<T>}) : n;
  sort_keys(keys, n, static_cast<Key>(range.low), static_cast<Key>(range.high),
            scratch.take<Key>(n));
  const auto key_at = [keys](int64_t i) { return keys[i]; };
  const int64_t runs = count_runs<T>(n, key_at);
  const Outputs<Bits> out = allocate<Bits>(job, runs);
  int64_t next_nan = 0;
  walk_runs<T>(
      n, key_at,
      [&](int64_t run, int64_t i) {
        const Bits key = static_cast<Bits>(keys[i]);
        if (out.counts) out.counts[run] = i;
        if (!out.values) return;
        if (kIsFloat<T> && key == kZeroKey<T>) {
          out.values[run] = in[first_zero];
        } else if (kIsFloat<T> && key == kNanKey<T>) {
          while (key_of_bits<T>(in[next_nan]) != kNanKey<T>) ++next_nan;
          out.values[run] = in[next_nan++];
        } else {
          out.values[run] = bits_of_key<T>(key);
        }
      },
      [](int64_t, int64_t) {});
  if (out.counts) begins_to_counts(out.counts, runs, n);
  return runs;
}

int64_t unique_bools(const Distinct& job) {
  const auto* in = static_cast<const uint8_t*>(job.in);
  int64_t trues = 0;
  for (int64_t i = 0; i < job.n; ++i) trues += in[i] != 0;
  const bool both = trues > 0 && trues < job.n;
  const auto out = allocate<uint8_t>(job, both ? 2 : 1);
  if (out.values) {
    out.values[0] = trues == job.n;
    if (both) out.values[1] = 1;
  }
  if (out.counts) {
    out.counts[0] = both ? job.n - trues : job.n;
    if (both) out.counts[1] = trues;
  }
  if (job.inverse) {
    for (int64_t i = 0; i < job.n; ++i) job.inverse[i] = both & (in[i] != 0);
  }
  return both ? 2 : 1;
}

template <typename T>
int64_t unique(const Distinct& job) {
  if constexpr (std::is_same_v<T, bool>) return unique_bools(job);
  using Key = WideKey<T>;
  const int64_t n = job.n;
  MT_CHECK(n <= int64_t{std::numeric_limits<uint32_t>::max()}, NotImplementedError,
           "unique: not implemented for 2^32 or more elements, got ", n);
  KeptScratch scratch(KeptScratch::room<Key>(n) + (job.inverse ? 2 * KeptScratch::room<uint64_t>(n)
                                                               : KeptScratch::room<Key>(n)));
  Key* keys = scratch.take<Key>(n);
  const KeyRange range = encode_keys(job.dtype, job.in, n, /*descending=*/false, keys);
  if (range.ascending) {
    return unique_consecutive(job.dtype, job.in, n, 1, job.values, job.inverse, job.counts);
  }
  const Key low = static_cast<Key>(range.low);
  Key high = static_cast<Key>(range.high);
  if (kIsFloat<T> && high == kNanKey<T>) {
    high = low;
    for (int64_t i = 0; i < n; ++i) {
      if (keys[i] != kNanKey<T>) high = std::max(high, keys[i]);
    }
  }
  constexpr Key kMostTabled = Key{1} << 19;
  const bool tabled =
      low != kNanKey<T> && high - low < kMostTabled && static_cast<int64_t>(high - low) < 4 * n;
  if (tabled) return unique_by_table<T>(job, keys, low, static_cast<int64_t>(high - low) + 1);
  if (job.inverse) return unique_with_inverse<T>(job, keys, range, scratch);
  return unique_values<T>(job, keys, range, scratch);
}

}  // namespace

int64_t unique_flat(DType dtype,
                    const void* in,
                    int64_t n,
                    const Allocate& values,
                    int64_t* inverse,
                    const Allocate& counts) {
  const Distinct job{dtype, in, n, values, inverse, counts};
  if (n == 0) {
    allocate<std::byte>(job, 0);
    return 0;
  }
  return visit_dtype(dtype, [&]<typename T>() { return unique<T>(job); });
}

}  // namespace mindtorch::cpu
