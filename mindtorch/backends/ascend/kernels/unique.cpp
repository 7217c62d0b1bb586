// unique in its three forms. Outputs that were not asked for are empty tensors. CANN fills tensors
// that could hold everything, and says afterwards how much it was; the host waits for that.
#include <algorithm>

#include "mindtorch/backends/ascend/kernels/compose.h"

namespace mindtorch::ascend {
namespace {

using Result = std::tuple<Tensor, Tensor, Tensor>;

struct Outputs {
  Tensor values;
  Tensor inverse;
  Tensor counts;
};

Outputs room_for(ops::Launch& on,
                 const Tensor& self,
                 IntList values,
                 IntList inverse,
                 bool return_inverse,
                 bool return_counts,
                 int64_t items) {
  return {make_like(on, values, self.dtype()),
          make_like(on, return_inverse ? Shape(inverse) : Shape{0}, DType::kInt64),
          make_like(on, {return_counts ? items : 0}, DType::kInt64)};
}

// The part that was filled, in memory of its own size. Slices of `dim` lie one after the other, as
// torch has them.
Tensor filled(ops::Launch& on, const Tensor& room, const Shape& sizes, size_t dim = 0) {
  if (sizes == room.sizes() && dim == 0) return room;
  Shape rows = sizes;
  const auto at = static_cast<std::ptrdiff_t>(dim);
  std::rotate(rows.begin(), rows.begin() + at, rows.begin() + at + 1);
  Shape strides = contiguous_strides(rows);
  std::rotate(strides.begin(), strides.begin() + 1, strides.begin() + at + 1);
  const Tensor result = make_like(on, rows, room.dtype()).alias(Shape(sizes), strides, 0);
  if (result.numel() != 0) {
    call(on, MT_ACLNN(aclnnInplaceCopy), result, room.alias(sizes, contiguous_strides(sizes), 0));
  }
  return result;
}

Result finish(
    ops::Launch& on, const Outputs& out, const Shape& sizes, int64_t count, size_t dim = 0) {
  return {filled(on, out.values, sizes, dim), out.inverse,
          filled(on, out.counts, {out.counts.numel() == 0 ? 0 : count})};
}

Result unique_all(
    ops::Launch& on, const Tensor& self, bool sorted, bool return_inverse, bool return_counts) {
  const int64_t items = self.numel();
  const Outputs out =
      room_for(on, self, {items}, self.sizes(), return_inverse, return_counts, items);
  if (items == 0) return {out.values, out.inverse, out.counts};
  const Shape sizes = call_sized<4>(on, MT_ACLNN(aclnnUnique2), self, sorted, return_inverse,
                                    return_counts, out.values, out.inverse, out.counts);
  return finish(on, out, sizes, sizes[0]);
}

// The dim's index; throws as torch does where there is nothing to compare.
size_t checked_dim(const Tensor& self, int64_t dim) {
  const auto d = static_cast<size_t>(existing_dim(dim, self.dim()));
  MT_CHECK(self.numel() > 0 || self.sizes()[d] == 0, RuntimeError,
           "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  return d;
}

Result unique_dim(ops::Launch& on,
                  const Tensor& self,
                  int64_t dim,
                  bool sorted,
                  bool return_inverse,
                  bool return_counts) {
  const size_t d = checked_dim(self, dim);
  const int64_t items = self.sizes()[d];
  const Outputs out =
      room_for(on, self, self.sizes(), {items}, return_inverse, return_counts, items);
  if (items == 0) return {out.values, out.inverse, out.counts};
  const Shape sizes = call_sized<4>(on, MT_ACLNN(aclnnUniqueDim), self, sorted, return_inverse,
                                    static_cast<int64_t>(d), out.values, out.inverse, out.counts);
  return finish(on, out, sizes, sizes[d], d);
}

Result consecutive(ops::Launch& on,
                   const Tensor& self,
                   bool return_inverse,
                   bool return_counts,
                   std::optional<int64_t> dim) {
  constexpr int64_t kFlattened = 1000;  // CANN's word for "no dim"
  const size_t d = dim ? checked_dim(self, *dim) : 0;
  const int64_t items = dim ? self.sizes()[d] : self.numel();
  const Outputs out =
      room_for(on, self, dim ? self.sizes() : Shape{items}, dim ? Shape{items} : self.sizes(),
               return_inverse, return_counts, items);
  if (items == 0) return {out.values, out.inverse, out.counts};
  const Shape sizes = call_sized<4>(on, MT_ACLNN(aclnnUniqueConsecutive), self, return_inverse,
                                    return_counts, dim ? static_cast<int64_t>(d) : kFlattened,
                                    out.values, out.inverse, out.counts);
  return finish(on, out, sizes, sizes[d], d);
}

}  // namespace

void register_unique(ops::Registry& registry) {
  constexpr auto kNpu = DeviceType::kNpu;
  registry.dynamic_kernel<unique_all>(kNpu, "_unique2");
  registry.dynamic_kernel<unique_dim>(kNpu, "unique_dim");
  registry.dynamic_kernel<consecutive>(kNpu, "_unique_consecutive");
}

}  // namespace mindtorch::ascend
