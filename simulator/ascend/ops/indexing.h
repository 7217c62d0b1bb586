#pragma once

#include <cstring>

#include "simulator/ascend/ops/pointwise.h"

namespace sim {

inline constexpr Types kAny = kAll | only(ACL_COMPLEX32);

// Counted from the end when negative. An index outside stops the device.
inline int64_t wrap(int64_t index, int64_t size) {
  const int64_t at = index < 0 ? index + size : index;
  if (at < 0 || at >= size) {
    throw DeviceFault{507015, "index " + std::to_string(index) + " is out of range for size " +
                                  std::to_string(size)};
  }
  return at;
}

inline std::vector<int64_t> load_indices(const View& view, int64_t size) {
  auto indices = load_all<int64_t>(view);
  for (int64_t& index : indices) index = wrap(index, size);
  return indices;
}

inline int64_t size_at(const Operand& operand, int64_t dim) {
  return operand.rank() == 0 ? 1 : operand.shape()[static_cast<size_t>(dim)];
}

inline Shape with_size(const Shape& shape, int64_t dim, int64_t size) {
  Shape result = shape;
  if (!result.empty()) result[static_cast<size_t>(dim)] = size;
  return result;
}

// A view of rank 0 as one of rank 1.
inline View at_least_1d(const View& view) { return view.rank() == 0 ? view.unsqueeze(0) : view; }

inline void check_same_dtype(Planner& p, const Operand& a, const Operand& b) {
  p.check(a.dtype() == b.dtype(), p.name(a) + " must have the dtype of " + p.name(b));
}

// to = f(to, from) for each element, in the arithmetic of their dtype.
template <class F>
void combine(const View& to, const View& from, F f) {
  with_compute(to.dtype, [&](auto zero) {
    using C = decltype(zero);
    map_elements<C>(to, [&](C a, C b) { return f(a, b); }, to, from);
  });
}

enum class Reduce { kReplace = 0, kAdd = 1, kMultiply = 2 };

inline void put(const View& to, const View& from, Reduce how) {
  if (how == Reduce::kReplace) return cast_elements(to, from);
  if (how == Reduce::kAdd) return combine(to, from, [](auto a, auto b) { return add(a, b); });
  combine(to, from, [](auto a, auto b) { return mul(a, b); });
}

inline View element(const View& view, int64_t offset_bytes) {
  return View{view.data + offset_bytes, view.dtype, {}, {}};
}

// Where each element of `index` points to in `view`, along `dim`; in bytes.
inline std::vector<int64_t> along(const View& view, const View& index, int64_t dim) {
  const auto places = load_indices(index, view.size(dim));
  std::vector<int64_t> offsets(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t offset = 0;
    for (int64_t d = view.rank(); d-- > 0;) {
      offset += (d == dim ? places[i] : rest % index.size(d)) * view.stride(d);
      rest /= index.size(d);
    }
    offsets[i] = offset * view.item();
  }
  return offsets;
}

inline void check_along(Planner& p, const Operand& self, const Operand& index, int64_t dim) {
  if (index.numel() == 0) return;
  p.check(std::max<int64_t>(self.rank(), 1) == std::max<int64_t>(index.rank(), 1),
          "index must have as many dims as self");
  for (int64_t d = 0; d < index.rank(); ++d) {
    p.check(d == dim || index.shape()[static_cast<size_t>(d)] <= size_at(self, d),
            "index is larger than self at dim " + std::to_string(d));
  }
}

}  // namespace sim
