// Views in place, and the splits that know their dimension.
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

// Makes the tensor show what `view`, a view of its own, shows.
Tensor become(const Tensor& self, const Tensor& view) {
  self.impl()->set_sizes_and_strides(view.sizes(), view.strides(), view.storage_offset());
  self.bump_version();
  return self;
}

Tensor unsqueeze_inplace(const Tensor& self, int64_t dim) {
  return become(self, unsqueeze(self, dim));
}
Tensor squeeze_inplace(const Tensor& self) { return become(self, squeeze(self)); }
Tensor squeeze_dim_inplace(const Tensor& self, int64_t dim) {
  return become(self, squeeze(self, dim));
}
Tensor squeeze_dims_inplace(const Tensor& self, IntList dim) {
  return become(self, squeeze(self, dim));
}
Tensor transpose_inplace(const Tensor& self, int64_t dim0, int64_t dim1) {
  return become(self, transpose(self, dim0, dim1));
}
Tensor t_inplace(const Tensor& self) {
  MT_CHECK(self.dim() <= 2, RuntimeError,
           "t_() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
  return become(self, t(self));
}
Tensor as_strided_inplace(const Tensor& self,
                          IntList size,
                          IntList stride,
                          std::optional<int64_t> storage_offset) {
  return become(self, as_strided(self, size, stride, storage_offset));
}

// hsplit, vsplit and dsplit need this many dimensions and split this one.
struct Split {
  const char* name;
  int64_t least_dims;
  int64_t dim;

  int64_t dim_of(const Tensor& self) const {
    MT_CHECK(self.dim() >= least_dims, RuntimeError, "torch.", name,
             " requires a tensor with at least ", least_dims, " dimension, but got a tensor with ",
             self.dim(), " dimensions!");
    return self.dim() == 1 ? 0 : dim;
  }
  std::vector<Tensor> operator()(const Tensor& self, int64_t sections) const {
    const int64_t d = dim_of(self);
    MT_CHECK(sections != 0 && self.size(d) % sections == 0, RuntimeError, "torch.", name,
             " attempted to split along dimension ", d, ", but the size of the dimension ",
             self.size(d), " is not divisible by the split_size ", sections, "!");
    return tensor_split(self, sections, d);
  }
  std::vector<Tensor> operator()(const Tensor& self, IntList indices) const {
    return tensor_split(self, indices, dim_of(self));
  }
};
constexpr Split kHorizontal{"hsplit", 1, 1};
constexpr Split kVertical{"vsplit", 2, 0};
constexpr Split kDeep{"dsplit", 3, 2};

template <const Split& kSplit>
std::vector<Tensor> split_sections(const Tensor& self, int64_t sections) {
  return kSplit(self, sections);
}
template <const Split& kSplit>
std::vector<Tensor> split_indices(const Tensor& self, IntList indices) {
  return kSplit(self, indices);
}

}  // namespace

void compose_inplace_views(ops::Registry& registry) {
  registry.composite<unsqueeze_inplace>("unsqueeze_");
  registry.composite<squeeze_inplace>("squeeze_");
  registry.composite<squeeze_dim_inplace>("squeeze_.dim");
  registry.composite<squeeze_dims_inplace>("squeeze_.dims");
  registry.composite<transpose_inplace>("transpose_");
  registry.composite<transpose_inplace>("swapdims_");
  registry.composite<transpose_inplace>("swapaxes_");
  registry.composite<t_inplace>("t_");
  registry.composite<as_strided_inplace>("as_strided_");
  registry.composite<split_sections<kHorizontal>>("hsplit.int");
  registry.composite<split_indices<kHorizontal>>("hsplit.array");
  registry.composite<split_sections<kVertical>>("vsplit.int");
  registry.composite<split_indices<kVertical>>("vsplit.array");
  registry.composite<split_sections<kDeep>>("dsplit.int");
  registry.composite<split_indices<kDeep>>("dsplit.array");
}

}  // namespace mindtorch::functional
