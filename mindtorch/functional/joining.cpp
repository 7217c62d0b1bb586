// Ways to join tensors, in terms of cat.
#include "mindtorch/base/warning.h"
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

template <typename Change>
std::vector<Tensor> each(TensorList tensors, const Change& change) {
  std::vector<Tensor> changed;
  changed.reserve(tensors.size());
  for (const Tensor& tensor : tensors) changed.push_back(change(tensor));
  return changed;
}

Tensor stack(TensorList tensors, int64_t dim) {
  MT_CHECK(!tensors.empty(), RuntimeError, "stack expects a non-empty TensorList");
  const Tensor& first = tensors[0];
  const int64_t d = wrap_dim(dim, first.dim() + 1);
  for (size_t i = 1; i < tensors.size(); ++i) {
    MT_CHECK(tensors[i].sizes() == first.sizes(), RuntimeError,
             "stack expects each tensor to be equal size, but got ", to_string(first.sizes()),
             " at entry 0 and ", to_string(tensors[i].sizes()), " at entry ", i);
  }
  if (d == first.dim()) {
    return cat(each(tensors, [&](const Tensor& tensor) { return unsqueeze(tensor, d); }), d);
  }
  // Joined along the dimension itself, which is then split in two.
  Shape sizes = first.sizes();
  sizes.insert(sizes.begin() + d, static_cast<int64_t>(tensors.size()));
  return view(cat(tensors, d), sizes);
}

Tensor hstack(TensorList tensors) {
  MT_CHECK(!tensors.empty(), RuntimeError, "hstack expects a non-empty TensorList");
  const std::vector<Tensor> parts = each(tensors, [](const Tensor& t) { return atleast_1d(t); });
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}

Tensor vstack(TensorList tensors) {
  MT_CHECK(!tensors.empty(), RuntimeError, "vstack expects a non-empty TensorList");
  return cat(each(tensors, [](const Tensor& t) { return atleast_2d(t); }), 0);
}

Tensor dstack(TensorList tensors) {
  MT_CHECK(!tensors.empty(), RuntimeError, "dstack expects a non-empty TensorList");
  return cat(each(tensors, [](const Tensor& t) { return atleast_3d(t); }), 2);
}

Tensor column_stack(TensorList tensors) {
  MT_CHECK(!tensors.empty(), RuntimeError, "column_stack expects a non-empty TensorList");
  return mindtorch::hstack(
      each(tensors, [](const Tensor& t) { return t.dim() <= 1 ? reshape(t, {t.numel(), 1}) : t; }));
}

Tensor block_diag(TensorList tensors) {
  if (tensors.empty()) return empty({1, 0});
  std::vector<Tensor> blocks;
  ResultType type;
  int64_t rows = 0;
  int64_t columns = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    MT_CHECK(tensors[i].dim() <= 2, RuntimeError,
             "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ", i, " has ",
             tensors[i].dim(), " dimensions");
    MT_CHECK(tensors[i].device() == tensors[0].device(), RuntimeError,
             "torch.block_diag: input tensors must all be on the same device. Input 0 is on "
             "device ",
             tensors[0].device().str(), " and input ", i, " is on device ",
             tensors[i].device().str());
    type.add(tensors[i]);
    blocks.push_back(atleast_2d(tensors[i]));
    rows += blocks.back().size(0);
    columns += blocks.back().size(1);
  }
  Tensor result = new_zeros(tensors[0], {rows, columns}, type.dtype());
  int64_t row = 0;
  int64_t column = 0;
  for (const Tensor& block : blocks) {
    const int64_t height = block.size(0);
    const int64_t width = block.size(1);
    copy_(narrow(narrow(result, 0, row, height), 1, column, width), block);
    row += height;
    column += width;
  }
  return result;
}

std::vector<Tensor> meshgrid(TensorList tensors, std::optional<std::string_view> indexing) {
  MT_CHECK(!tensors.empty(), RuntimeError, "meshgrid expects a non-empty TensorList");
  for (const Tensor& tensor : tensors) {
    MT_CHECK(tensor.dtype() == tensors[0].dtype(), RuntimeError,
             "meshgrid expects all tensors to have the same dtype");
    MT_CHECK(tensor.device() == tensors[0].device(), RuntimeError,
             "meshgrid expects all tensors to have the same device");
  }
  if (!indexing) {
    warn(
        "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
        "argument.");
  }
  const std::string_view order = indexing.value_or("ij");
  MT_CHECK(order == "ij" || order == "xy", RuntimeError,
           "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", order);
  const bool swap = order == "xy" && tensors.size() >= 2;
  std::vector<Tensor> axes(tensors.begin(), tensors.end());
  if (swap) std::swap(axes[0], axes[1]);
  Shape sizes;
  for (const Tensor& axis : axes) {
    MT_CHECK(axis.dim() <= 1, RuntimeError,
             "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got tensor with ",
             axis.dim(), " dimensions");
    sizes.push_back(axis.numel());
  }
  std::vector<Tensor> grids;
  for (size_t i = 0; i < axes.size(); ++i) {
    Shape line(axes.size(), 1);
    line[i] = sizes[i];
    grids.push_back(expand(view(axes[i], line), sizes));
  }
  if (swap) std::swap(grids[0], grids[1]);
  return grids;
}

Tensor cartesian_prod(TensorList tensors) {
  for (const Tensor& tensor : tensors) {
    MT_CHECK(tensor.dim() == 1, RuntimeError, "Expect a 1D vector, but got shape ",
             to_string(tensor.sizes()));
  }
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns;
  for (const Tensor& grid : mindtorch::meshgrid(tensors, "ij")) columns.push_back(flatten(grid));
  return mindtorch::stack(columns, 1);
}

Tensor kron(const Tensor& self, const Tensor& other) {
  const auto rank = static_cast<size_t>(std::max(self.dim(), other.dim()));
  const auto size_at = [rank](const Tensor& tensor, size_t i) {
    const size_t missing = rank - tensor.sizes().size();
    return i < missing ? 1 : tensor.sizes()[i - missing];
  };
  Shape outer;
  Shape inner;
  Shape sizes;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t a = size_at(self, i);
    const int64_t b = size_at(other, i);
    for (const int64_t size : {a, int64_t{1}}) outer.push_back(size);
    for (const int64_t size : {int64_t{1}, b}) inner.push_back(size);
    sizes.push_back(a * b);
  }
  return reshape(mul(reshape(self, outer), reshape(other, inner)), sizes);
}

Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  MT_CHECK(self.dim() == other.dim(), RuntimeError,
           "linalg.cross: inputs must have the same number of dimensions.");
  MT_CHECK(self.dtype() != DType::kBool || other.dtype() != DType::kBool, NotImplementedError,
           "\"cross\" not implemented for 'Bool'");
  int64_t d = 0;
  if (dim) {
    d = wrap_dim(*dim, self.dim());
  } else {
    while (d < self.dim() && self.size(d) != 3) ++d;
    MT_CHECK(d < self.dim(), RuntimeError, "no dimension of size 3 in input");
  }
  MT_CHECK(self.dim() > 0 && self.size(d) == 3 && other.size(d) == 3, RuntimeError,
           "linalg.cross: inputs dimension ", d, " must have length 3. Got ",
           self.dim() > 0 ? self.size(d) : 1, " and ", other.dim() > 0 ? other.size(d) : 1);
  const Shape sizes = broadcast_shapes(self.sizes(), other.sizes());
  MT_CHECK(self.dtype() == other.dtype(), RuntimeError, "expected scalar type ",
           legacy_name(self.dtype()), " but found ", legacy_name(other.dtype()));
  const Tensor a = expand(self, sizes);
  const Tensor b = expand(other, sizes);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t next = (i + 1) % 3;
    const int64_t last = (i + 2) % 3;
    parts.push_back(sub(mul(select(a, d, next), select(b, d, last)),
                        mul(select(a, d, last), select(b, d, next))));
  }
  return mindtorch::stack(parts, d);
}

}  // namespace

void compose_joining(ops::Registry& registry) {
  registry.composite<stack>("stack");
  registry.composite<hstack>("hstack");
  registry.composite<vstack>("vstack");
  registry.composite<dstack>("dstack");
  registry.composite<column_stack>("column_stack");
  registry.composite<block_diag>("block_diag");
  registry.composite<meshgrid>("meshgrid");
  registry.composite<cartesian_prod>("cartesian_prod");
  registry.composite<kron>("kron");
  registry.composite<cross>("cross");
}

}  // namespace mindtorch::functional
