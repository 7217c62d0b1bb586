#pragma once

#include "mindtorch/backends/cpu/indexed_lines.h"
#include "mindtorch/base/small_vector.h"
#include "mindtorch/tensor/tensor.h"

namespace mindtorch::cpu {

// What gather, scatter and the index_ ops have in common: loops over the shape of an index, where
// each element of the index names a place along one dim of `self`, and `other` holds the values.
struct Indexed {
  // One dim, and what each tensor moves by along it, in elements.
  struct Dim {
    int64_t size = 1;
    int64_t self = 0;
    int64_t index = 0;
    int64_t other = 0;
  };
  Dim along;                 // the indexed dim; `self` is the step from place to place
  SmallVector<Dim, 6> dims;  // all others
  int64_t places = 1;        // the size of self along the indexed dim

  void* self = nullptr;
  const int64_t* index = nullptr;
  void* other = nullptr;
  DType dtype{};
  DType other_dtype{};  // another one than self's only where 16-bit floats fall on float32

  // `other` is a tensor of the index's rank, or a 0-dim tensor that stands for one value. An index
  // along `dim` alone, of one dim where `self` has more, is the same everywhere else; the shape is
  // then that of `other`, or of `self` where that is a single value.
  Indexed(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& other);
  Indexed() = default;

  int64_t numel() const;
};

// The index as int64, in the layout it has; all of it in [0, size of self along the dim). Throws
// RuntimeError otherwise.
Tensor checked_places(const Tensor& self, int64_t dim, const Tensor& index);

// other = self at the places.
void gather_indexed(const Indexed& indexed);
// self at the places, combined with other, in the index's order along the dim.
void scatter_indexed(Combine how, const Indexed& indexed);
// The same for 16-bit floats, each rounded once at the end. False, and nothing is done, where that
// would take memory for all of them as float32.
bool scatter_rounding_once(Combine how, const Indexed& indexed);

}  // namespace mindtorch::cpu
