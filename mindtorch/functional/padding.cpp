// Borders around images: torch's rules around the op that makes them.
#include "mindtorch/ops/padding.h"

#include <algorithm>

#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/from_host.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/functional/has_kernel.h"
#include "mindtorch/ops/memory_format.h"
#include "mindtorch/tensor/dtype_set.h"

namespace mindtorch::functional {
namespace {

using ops::Padding;

// An op of torch's: a border of one kind around so many dims.
struct Border {
  Padding kind;
  size_t dims;

  bool reflects() const { return kind == Padding::kReflect; }
  std::string name() const {
    return (reflects() ? "reflection_pad" : "replication_pad") + std::to_string(dims) + "d";
  }
};

constexpr const char* kSides[] = {"W", "H", "D"};
constexpr const char* kSideNames[] = {"width", "height", "depth"};

int64_t dim_of(const Tensor& self, size_t i) { return self.dim() - 1 - static_cast<int64_t>(i); }

void check_count(const Border& border, IntList padding) {
  const size_t wanted = 2 * border.dims;
  if (padding.size() == wanted) return;
  const std::string got = border.reflects() ? ", but got: " + std::to_string(padding.size()) : "";
  MT_THROW(RuntimeError, "padding size is expected to be ", wanted, got);
}

void check_rank(const Border& border, const Tensor& self) {
  const auto least = static_cast<int64_t>(border.dims) + 1;
  bool fits = self.dim() == least || self.dim() == least + 1;
  for (int64_t i = self.dim() - least; fits && i < self.dim(); ++i) fits = self.size(i) != 0;
  MT_CHECK(fits, RuntimeError, "Expected ", least, "D or ", least + 1,
           "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
           "input, but got: ",
           to_string(self.sizes()));
}

void check_reflection(const Border& border, const Tensor& self, IntList padding) {
  for (size_t i = 0; i < border.dims; ++i) {
    const int64_t dim = dim_of(self, i);
    const int64_t before = padding[2 * i];
    const int64_t after = padding[2 * i + 1];
    MT_CHECK(before < self.size(dim) && after < self.size(dim), RuntimeError, "Argument #",
             4 + 2 * i,
             ": Padding size should be less than the corresponding input dimension, but got: "
             "padding (",
             before, ", ", after, ") at dimension ", dim, " of input ", to_string(self.sizes()));
  }
}

void check_result(const Border& border, const Tensor& self, IntList padding) {
  Shape sizes = self.sizes();
  int64_t largest = 0;
  for (size_t i = 0; i < border.dims; ++i) {
    int64_t& size = sizes[static_cast<size_t>(dim_of(self, i))];
    size += padding[2 * i] + padding[2 * i + 1];
    largest = std::max(largest, size);
  }
  if (largest == 0) {
    std::string before;
    std::string after;
    for (size_t i = border.dims; i-- > 0;) {
      const auto dim = static_cast<size_t>(dim_of(self, i));
      const bool is_last = i == 0;
      before += std::string(kSides[i]) + ": " + std::to_string(self.sizes()[dim]);
      after += std::string(kSides[i]) + ": " + std::to_string(sizes[dim]);
      if (!is_last) before += i == 1 ? ", " : " ";
      if (!is_last) after += " ";
    }
    const bool has_blank = !border.reflects() && border.dims == 2;  // a slip of torch's
    MT_THROW(RuntimeError, "input (", before, has_blank ? " " : "",
             ") is too small. Calculated output ", after);
  }
  numel(sizes);  // refuses negative ones
}

void check_dtype(const Border& border, const char* suffix, DTypeSet dtypes, const Tensor& self) {
  MT_CHECK(self.device().is_meta() || contains(dtypes, self.dtype()), NotImplementedError, "\"",
           border.name(), suffix, "\" not implemented for '", legacy_name(self.dtype()), "'");
}

void check(const Border& border, const Tensor& self, IntList padding) {
  check_count(border, padding);
  check_rank(border, self);
  if (border.reflects()) check_reflection(border, self, padding);
  check_result(border, self, padding);
  check_dtype(border, "", kRealTypes | kComplexTypes, self);
}

// Note [Borders by device]
// A device that has a kernel for it makes all borders of a tensor at once. For others the elements
// of one dim after the other are taken by their places.
bool has_border_op(const Tensor& self) {
  static const ops::Op& op = ops::registry().at("_pad_edges");
  return has_kernel(op, self);
}

Tensor places_along(const Tensor& like, int64_t size, IntList pair, Padding kind) {
  const std::vector<int64_t> shown = ops::shown_elements(kind, size, pair[0], pair[1]);
  return from_host(shown, {static_cast<int64_t>(shown.size())}, like.device());
}

Tensor add_border(const Tensor& self, IntList padding, Padding kind) {
  if (has_border_op(self)) return _pad_edges(self, padding, static_cast<int64_t>(kind));
  Tensor result = self;
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    const int64_t dim = dim_of(self, i);
    const IntList pair = padding.subspan(2 * i, 2);
    result = index_select(result, dim, places_along(self, self.size(dim), pair, kind));
  }
  const MemoryFormat format =
      kind == Padding::kCircular ? MemoryFormat::kContiguous : ops::suggested_format(self);
  return contiguous(result, format);
}

Tensor remove_border(const Tensor& grad, IntList padding, Padding kind) {
  if (has_border_op(grad)) return _pad_edges_backward(grad, padding, static_cast<int64_t>(kind));
  Tensor result = grad;
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    const int64_t dim = dim_of(grad, i);
    const IntList pair = padding.subspan(2 * i, 2);
    const int64_t size = result.size(dim) - pair[0] - pair[1];
    Shape sizes = result.sizes();
    sizes[static_cast<size_t>(dim)] = size;
    result = index_add(new_zeros(result, sizes), dim, places_along(grad, size, pair, kind), result);
  }
  return result;
}

template <Padding kKind, size_t kDims>
Tensor pad_edges(const Tensor& self, IntList padding) {
  check({kKind, kDims}, self, padding);
  return add_border(self, padding, kKind);
}

template <Padding kKind, size_t kDims>
Tensor pad_edges_backward(const Tensor& grad_output, const Tensor& self, IntList padding) {
  constexpr Border kBorder = {kKind, kDims};
  check_count(kBorder, padding);
  check_dtype(kBorder, "_backward", kFloatTypes | kComplexTypes, grad_output);
  for (size_t i = 0; i < kDims; ++i) {
    const int64_t wanted = self.size(dim_of(self, i)) + padding[2 * i] + padding[2 * i + 1];
    const int64_t got = grad_output.size(dim_of(grad_output, i));
    const bool is_plain = kBorder.reflects() && kDims != 2;  // the names of torch's arguments
    MT_CHECK(got == wanted, RuntimeError, is_plain ? "grad_output " : "gradOutput ", kSideNames[i],
             " unexpected. Expected: ", wanted, kBorder.reflects() || kDims != 1 ? "," : "",
             " Got: ", got);
  }
  return remove_border(grad_output, padding, kKind);
}

Tensor pad_circular(const Tensor& self, IntList pad) {
  const auto dims = static_cast<int64_t>(pad.size() / 2);
  MT_CHECK(pad.size() % 2 == 0 && (dims + 1 == self.dim() || dims + 2 == self.dim()), RuntimeError,
           "Invalid padding size, expected 1 or 2 non-padded dimensions, which would be equivalent "
           "to padding of length ",
           2 * (self.dim() - 1), " or ", 2 * (self.dim() - 2), " respectively but got ",
           pad.size());
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t size = self.size(dim_of(self, i));
    MT_CHECK(pad[2 * i] <= size && pad[2 * i + 1] <= size, RuntimeError,
             "Padding value causes wrapping around more than once.");
    MT_CHECK(size + pad[2 * i] + pad[2 * i + 1] >= 0, RuntimeError,
             "Negative padding value is resulting in an empty dimension");
  }
  return add_border(self, pad, Padding::kCircular);
}

constexpr const char* kModes[] = {"reflect", "replicate", "circular", "constant"};

// The op of torch's that pads so many dims, where there is one.
Tensor pad_images(const Tensor& self, IntList pad, Padding kind) {
  using Pad = Tensor (*)(const Tensor&, IntList);
  static constexpr Pad kOps[][3] = {
      {reflection_pad1d, reflection_pad2d, reflection_pad3d},
      {replication_pad1d, replication_pad2d, replication_pad3d},
      {_pad_circular, _pad_circular, _pad_circular},
  };
  const size_t dims = pad.size() / 2;
  const auto rank = static_cast<size_t>(self.dim());
  MT_CHECK(static_cast<size_t>(kind) < std::size(kOps) && dims >= 1 && dims <= 3 &&
               (rank == dims + 1 || rank == dims + 2),
           NotImplementedError, "Padding size ", pad.size(), " is not supported for ", rank,
           "D input tensor.\n"
           "Supported combinations for non-constant padding:\n"
           "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
           "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
           "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)");
  return kOps[static_cast<size_t>(kind)][dims - 1](self, pad);
}

Tensor pad_enum(const Tensor& self, IntList pad, int64_t mode, std::optional<double> value) {
  MT_CHECK(pad.size() % 2 == 0, RuntimeError, "Padding length must be divisible by 2");
  MT_CHECK(static_cast<int64_t>(pad.size()) <= 2 * self.dim(), RuntimeError,
           "Padding length should be less than or equal to two times the input dimension but got "
           "padding length ",
           pad.size(), " and input of dimension ", self.dim());
  const auto kind = static_cast<Padding>(mode);
  if (kind == Padding::kConstant) return constant_pad_nd(self, pad, Scalar(value.value_or(0.0)));
  MT_CHECK(value.value_or(0.0) == 0, RuntimeError, "Padding mode \"",
           mode >= 0 && mode < std::ssize(kModes) ? kModes[mode] : "unknown",
           "\" doesn't take in value argument");
  return pad_images(self, pad, kind);
}

Tensor pad(const Tensor& self, IntList pad, std::string_view mode, std::optional<double> value) {
  const auto* const found = std::ranges::find(kModes, mode);
  MT_CHECK(found != std::end(kModes), NotImplementedError, "Unrecognised padding mode ", mode);
  return pad_enum(self, pad, found - std::begin(kModes), value);
}

template <Padding kKind, size_t kDims>
void compose_border(ops::Registry& registry) {
  const std::string name = Border{kKind, kDims}.name();
  registry.composite<pad_edges<kKind, kDims>>(name);
  registry.composite<pad_edges_backward<kKind, kDims>>(name + "_backward");
}

}  // namespace

void compose_padding(ops::Registry& registry) {
  compose_border<Padding::kReflect, 1>(registry);
  compose_border<Padding::kReflect, 2>(registry);
  compose_border<Padding::kReflect, 3>(registry);
  compose_border<Padding::kReplicate, 1>(registry);
  compose_border<Padding::kReplicate, 2>(registry);
  compose_border<Padding::kReplicate, 3>(registry);
  registry.composite<pad_circular>("_pad_circular");
  registry.composite<pad_enum>("_pad_enum");
  registry.composite<pad>("pad");
}

}  // namespace mindtorch::functional
