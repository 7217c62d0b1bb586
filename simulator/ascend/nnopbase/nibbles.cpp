#include "simulator/ascend/nnopbase/nibbles.h"

namespace sim {

// Calls f(element, number of its nibble from view.data on) for all elements.
template <class F>
static void for_nibbles(const View& view, int64_t first, F f) {
  View places = view;
  places.dtype = ACL_INT8;  // an offset in bytes is one in elements
  const int64_t width = view.rank() == 0 ? 1 : view.shape.back();
  const int64_t step = view.rank() == 0 ? 0 : view.strides.back();
  for (int64_t done = 0; done < view.numel(); done += width) {
    const int64_t start = first + places.offset_of(done);
    for (int64_t i = 0; i < width; ++i) f(static_cast<size_t>(done + i), start + i * step);
  }
}

void unpack_nibbles(const View& view, int64_t first, int8_t* numbers) {
  for_nibbles(view, first, [&](size_t i, int64_t nibble) {
    const auto byte = static_cast<uint8_t>(view.data[nibble >> 1]);
    const int number = (nibble & 1) != 0 ? byte >> 4 : byte & 15;
    numbers[i] = static_cast<int8_t>(number > 7 ? number - 16 : number);
  });
}

void pack_nibbles(const View& view, int64_t first, const int8_t* numbers) {
  for_nibbles(view, first, [&](size_t i, int64_t nibble) {
    char& byte = view.data[nibble >> 1];
    const int number = numbers[i] & 15;
    const int old = static_cast<uint8_t>(byte);
    byte = static_cast<char>((nibble & 1) != 0 ? (old & 15) | number << 4 : (old & 240) | number);
  });
}

}  // namespace sim
