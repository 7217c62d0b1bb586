// Images in another size: torch's rules around the op that makes them, and images of bytes and
// filters, which are products with matrices.
#include <cmath>
#include <numbers>

#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/from_host.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/functional/has_kernel.h"
#include "mindtorch/ops/interpolation.h"
#include "mindtorch/ops/memory_format.h"

namespace mindtorch::functional {
namespace {

using ops::Interpolation;
using Factor = std::optional<double>;
using Factors = SmallVector<double, 3>;  // 0: what the sizes say

enum class Filter { kNone, kLinear, kCubic, kLanczos };

// One of torch's ops.
struct Resize {
  Interpolation mode;
  size_t dims;
  Filter filter = Filter::kNone;  // as wide as what an element of the result covers

  bool copies() const { return filter == Filter::kNone && ops::is_nearest(mode); }
};

// --- torch's checks ---

void check_counts(const Resize& op, IntList output_size, IntList input_size) {
  MT_CHECK(output_size.size() == op.dims, RuntimeError, "It is expected output_size equals to ",
           op.dims, ", but got size ", output_size.size());
  MT_CHECK(input_size.size() == op.dims + 2, RuntimeError, "It is expected input_size equals to ",
           op.dims + 2, ", but got size ", input_size.size());
}

std::string named_sizes(IntList sizes) {
  constexpr const char* kNames[] = {"D: ", "H: ", "W: "};
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i) {
    text +=
        (i == 0 ? "" : ", ") + std::string(kNames[3 - sizes.size() + i]) + std::to_string(sizes[i]);
  }
  return text;
}

void check_sizes(const Resize& op, IntList output_size, IntList input_size) {
  check_counts(op, output_size, input_size);
  const IntList image = input_size.subspan(2);
  const auto is_there = [](int64_t size) { return size > 0; };
  MT_CHECK(std::ranges::all_of(image, is_there) && std::ranges::all_of(output_size, is_there),
           RuntimeError, "Input and output sizes should be greater than 0, but got input (",
           named_sizes(image), op.dims == 1 ? ") and output (" : ") output (",
           named_sizes(output_size), ")");
  MT_CHECK(input_size[1] > 0, RuntimeError, "Non-empty ", op.dims + 2,
           "D data tensor expected but got a tensor with sizes ", to_string(input_size));
}

bool is_bytes(const Resize& op, const Tensor& self) {
  return self.dtype() == DType::kUInt8 && op.dims == 2 && !op.copies();
}

const char* kernel_name(const Resize& op) {
  if (op.filter != Filter::kNone) return "compute_index_ranges_weights";
  if (op.mode == Interpolation::kCubic) return "compute_indices_weights_cubic";
  return op.dims == 2 ? "upsample_bilinear2d_channels_last" : "compute_indices_weights_linear";
}

void check_dtype(const Resize& op, const Tensor& self) {
  MT_CHECK(op.copies() || is_bytes(op, self) || is_floating_point(self.dtype()),
           NotImplementedError, "\"", kernel_name(op), "\" not implemented for '",
           legacy_name(self.dtype()), "'");
}

MemoryFormat layout_of(const Tensor& self) { return ops::suggested_format(self); }

// --- where a device has no kernel for it ---

// Calls use(W{}) with the type that places and weights are computed in.
template <typename Use>
Tensor in_place_dtype(const Tensor& self, const Use& use) {
  return self.dtype() == DType::kFloat64 ? use(double{}) : use(float{});
}

Tensor along(const Tensor& weights, const Tensor& self, int64_t dim) {
  Shape sizes(static_cast<size_t>(self.dim()), 1);
  sizes[static_cast<size_t>(dim)] = -1;
  return view(_to_copy(weights, self.dtype()), sizes);
}

// One dim: the elements of each tap, by their weights.
template <typename W>
Tensor resize_dim(const Tensor& self,
                  int64_t dim,
                  Interpolation mode,
                  int64_t wanted,
                  double factor,
                  bool align_corners) {
  const int64_t source = self.size(dim);
  const auto count = static_cast<size_t>(ops::tap_count(mode));
  std::vector<std::vector<int64_t>> places(count,
                                           std::vector<int64_t>(static_cast<size_t>(wanted)));
  std::vector<std::vector<W>> weights(count, std::vector<W>(static_cast<size_t>(wanted)));
  ops::each_tap<W>(
      mode, source, wanted, factor, align_corners, [&](int64_t tap, int64_t i, W place, W weight) {
        const auto k = static_cast<size_t>(tap);
        const auto at = static_cast<size_t>(i);
        places[k][at] = std::clamp<int64_t>(static_cast<int64_t>(place), 0, source - 1);
        weights[k][at] = weight;
      });
  Tensor result;
  for (size_t k = 0; k < count; ++k) {
    Tensor part = index_select(self, dim, from_host(places[k], {wanted}, self.device()));
    if (count > 1)
      part = mul(part, along(from_host(weights[k], {wanted}, self.device()), self, dim));
    result = result.defined() ? add(result, part) : part;
  }
  return result;
}

Tensor resize_by_dims(const Resize& op,
                      const Tensor& self,
                      IntList output_size,
                      const Factors& factors,
                      bool align_corners) {
  Tensor result = self;
  for (size_t i = 0; i < op.dims; ++i) {
    const auto dim = static_cast<int64_t>(i) + 2;
    const bool is_same = self.size(dim) == output_size[i] && (factors[i] == 0 || factors[i] == 1);
    if (is_same && op.mode != Interpolation::kCubic) continue;
    result = in_place_dtype(self, [&]<typename W>(W) {
      return resize_dim<W>(result, dim, op.mode, output_size[i], factors[i], align_corners);
    });
  }
  return result.is_same(self) ? clone(self, layout_of(self)) : contiguous(result, layout_of(self));
}

// --- products with a matrix for each dim ---

// [wanted, source]: how much each element of the source counts.
template <typename W>
struct Matrix {
  int64_t wanted;
  int64_t source;
  std::vector<W> weights = std::vector<W>(static_cast<size_t>(wanted * source));

  W& at(int64_t i, int64_t place) { return weights[static_cast<size_t>(i * source + place)]; }
};

template <typename W>
W lanczos(W x) {
  const auto sinc = [](W at) {
    const W angle = std::numbers::pi_v<W> * at;
    return at == 0 ? W{1} : std::sin(angle) / angle;
  };
  return sinc(x) * sinc(x / 3);
}

template <typename W>
W filtered(Filter filter, W distance) {
  constexpr W kA = W(-0.5);
  const W x = std::abs(distance);
  switch (filter) {
    case Filter::kLinear:
      return std::max(1 - x, W{0});
    case Filter::kCubic:
      return x < 2 ? ops::cubic_weight(x, x < 1, kA) : W{0};
    default:
      return x < 3 ? lanczos(x) : W{0};
  }
}

// Each element of the result is a mean over as much of the source as it stands for.
template <typename W>
Matrix<W> filter_matrix(
    Filter filter, int64_t source, int64_t wanted, double factor, bool corners) {
  Matrix<W> result{wanted, source};
  const W step = static_cast<W>(ops::source_step(source, wanted, factor, corners));
  const W stretch = std::max(step, W{1});
  const W reach = filter == Filter::kLinear ? W{1} : filter == Filter::kCubic ? W{2} : W{3};
  const W support = reach * stretch;
  for (int64_t i = 0; i < wanted; ++i) {
    const W center = step * (static_cast<W>(i) + W(0.5));
    const auto first = std::max<int64_t>(static_cast<int64_t>(center - support + W(0.5)), 0);
    const auto end = std::min<int64_t>(static_cast<int64_t>(center + support + W(0.5)), source);
    W total{};
    for (int64_t place = first; place < end; ++place) {
      const W weight = filtered(filter, (static_cast<W>(place) - center + W(0.5)) / stretch);
      result.at(i, place) = weight;
      total += weight;
    }
    for (int64_t place = first; place < end; ++place) result.at(i, place) /= total;
  }
  return result;
}

template <typename W>
Matrix<W> tap_matrix(
    Interpolation mode, int64_t source, int64_t wanted, double factor, bool corners) {
  Matrix<W> result{wanted, source};
  ops::each_tap<W>(mode, source, wanted, factor, corners,
                   [&](int64_t, int64_t i, W place, W weight) {
                     const W inside = std::clamp(place, W{0}, static_cast<W>(source - 1));
                     result.at(i, static_cast<int64_t>(inside)) += weight;
                   });
  return result;
}

template <typename W>
Matrix<W> matrix_of(const Resize& op, int64_t source, int64_t wanted, double factor, bool corners) {
  if (op.filter == Filter::kNone) return tap_matrix<W>(op.mode, source, wanted, factor, corners);
  return filter_matrix<W>(op.filter, source, wanted, factor, corners);
}

// `columns`: [source, wanted].
Tensor product_along(const Tensor& self, int64_t dim, const Tensor& columns) {
  return transpose(matmul(transpose(self, dim, -1), columns), dim, -1);
}

Tensor filter_dim(const Resize& op,
                  const Tensor& self,
                  int64_t dim,
                  int64_t source,
                  int64_t wanted,
                  double factor,
                  bool align_corners,
                  bool is_backward) {
  return in_place_dtype(self, [&]<typename W>(W) {
    const Matrix<W> matrix = matrix_of<W>(op, source, wanted, factor, align_corners);
    const Tensor rows =
        _to_copy(from_host(matrix.weights, {wanted, source}, self.device()), self.dtype());
    return product_along(self, dim, is_backward ? rows : t(rows));
  });
}

// Note [Bytes in another size]
// One dim after the other, as torch does, with weights that are whole numbers of 16 bits and sums
// that are rounded to bytes in between.
Tensor resize_bytes_dim(const Tensor& self, int64_t dim, Matrix<double> matrix) {
  constexpr int64_t kLargestWeight = int64_t{1} << 15;
  constexpr int64_t kMostBits = 22;
  const double largest = *std::ranges::max_element(matrix.weights);
  const auto fits = [&](int64_t bits) {
    const auto scale = static_cast<double>(int64_t{1} << bits);
    return static_cast<int64_t>(0.5 + largest * scale) < kLargestWeight;
  };
  int64_t bits = 0;
  while (bits < kMostBits && fits(bits + 1)) ++bits;
  const auto scale = static_cast<double>(int64_t{1} << bits);
  for (double& weight : matrix.weights) {
    weight = std::trunc(weight * scale + (weight < 0 ? -0.5 : 0.5));
  }
  const Tensor whole = from_host(matrix.weights, {matrix.wanted, matrix.source}, self.device());
  // float64 holds these sums of whole numbers exactly.
  const Tensor sums = product_along(_to_copy(self, DType::kFloat64), dim, t(whole));
  const auto half = static_cast<double>((int64_t{1} << bits) / 2);
  const Tensor rounded = floor(div(add(sums, Scalar(half)), Scalar(scale)));
  return _to_copy(clamp(rounded, Scalar(0), Scalar(255)), DType::kUInt8);
}

Tensor resize_bytes(const Resize& op,
                    const Tensor& self,
                    IntList output_size,
                    const Factors& factors,
                    bool align_corners) {
  Tensor result = self;
  for (const size_t i : {1, 0}) {
    const auto dim = static_cast<int64_t>(i) + 2;
    const int64_t source = self.size(dim);
    if (source == output_size[i]) continue;
    result = resize_bytes_dim(
        result, dim, matrix_of<double>(op, source, output_size[i], factors[i], align_corners));
  }
  return result.is_same(self) ? clone(self, layout_of(self)) : contiguous(result, layout_of(self));
}

Tensor resize_filtered(const Resize& op,
                       const Tensor& self,
                       IntList output_size,
                       const Factors& factors,
                       bool align_corners) {
  Tensor result = self;
  for (const size_t i : {1, 0}) {
    const auto dim = static_cast<int64_t>(i) + 2;
    result = filter_dim(op, result, dim, self.size(dim), output_size[i], factors[i], align_corners,
                        false);
  }
  return contiguous(result, layout_of(self));
}

// --- the ops ---

bool has_resize_op(const Tensor& self) {
  static const ops::Op& op = ops::registry().at("_interpolate");
  return has_kernel(op, self);
}

Tensor resize(const Resize& op,
              const Tensor& self,
              IntList output_size,
              const Factors& factors,
              bool align_corners) {
  check_sizes(op, output_size, self.sizes());
  check_dtype(op, self);
  if (is_bytes(op, self)) return resize_bytes(op, self, output_size, factors, align_corners);
  if (op.filter != Filter::kNone) {
    return resize_filtered(op, self, output_size, factors, align_corners);
  }
  if (has_resize_op(self) && !is_complex(self.dtype())) {
    const std::span<const double> given(factors.data(), factors.size());
    return _interpolate(self, output_size, given, static_cast<int64_t>(op.mode), align_corners);
  }
  return resize_by_dims(op, self, output_size, factors, align_corners);
}

// By sizes or by factors, of which each dim has one.
Tensor resize_vec(const Resize& op,
                  const Tensor& self,
                  std::optional<IntList> output_size,
                  std::optional<std::span<const double>> scale_factors,
                  bool align_corners) {
  MT_CHECK(output_size.has_value() != scale_factors.has_value(), RuntimeError,
           "Must specify exactly one of output_size and scale_factors");
  const size_t dims = self.dim() < 2 ? 0 : static_cast<size_t>(self.dim()) - 2;
  const auto check_count = [&](size_t count, const char* name) {
    MT_CHECK(count == dims, RuntimeError, "Expected static_cast<int64_t>(", name,
             "->size()) == spatial_dimensions to be true, but got false.  (Could this error "
             "message be improved?  If so, please report an enhancement request to PyTorch.)");
  };
  if (output_size) {
    check_count(output_size->size(), "output_size");
    return resize(op, self, *output_size, Factors(dims, 0.0), align_corners);
  }
  check_count(scale_factors->size(), "scale_factors");
  Shape sizes;
  for (size_t i = 0; i < dims; ++i) {
    const auto size = static_cast<double>(self.sizes()[i + 2]);
    sizes.push_back(static_cast<int64_t>(size * (*scale_factors)[i]));
  }
  return resize(op, self, sizes, Factors(scale_factors->begin(), scale_factors->end()),
                align_corners);
}

void check_gradient(const Resize& op, const Tensor& grad, IntList output_size, IntList input_size) {
  check_sizes(op, output_size, input_size);
  const auto rank = static_cast<int64_t>(op.dims) + 2;
  MT_CHECK(grad.dim() == rank, RuntimeError, "Expected grad_output to be a tensor of dimension ",
           rank, " but got: dimension ", grad.dim());
  for (int64_t i = 0; i < rank; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t wanted = i < 2 ? input_size[at] : output_size[at - 2];
    MT_CHECK(grad.size(i) == wanted, RuntimeError,
             "Expected grad_output to have the same shape as output; output.size(", i,
             ") = ", wanted, " but got grad_output.size(", i, ") = ", grad.size(i));
  }
}

// The gradient of resize_by_dims(), which is linear: of zeros.
Tensor resize_by_dims_backward(const Resize& op,
                               const Tensor& grad,
                               IntList input_size,
                               const Factors& factors,
                               bool align_corners) {
  Tensor result = grad;
  for (size_t i = 0; i < op.dims; ++i) {
    const auto dim = static_cast<int64_t>(i) + 2;
    result = filter_dim(op, result, dim, input_size[i + 2], grad.size(dim), factors[i],
                        align_corners, true);
  }
  return contiguous(result, layout_of(grad));
}

Tensor resize_backward(const Resize& op,
                       const Tensor& grad,
                       IntList output_size,
                       IntList input_size,
                       const Factors& factors,
                       bool align_corners) {
  check_gradient(op, grad, output_size, input_size);
  check_dtype({Interpolation::kLinear, op.dims, op.filter}, grad);
  if (op.filter != Filter::kNone || !has_resize_op(grad)) {
    return resize_by_dims_backward(op, grad, input_size, factors, align_corners);
  }
  const std::span<const double> given(factors.data(), factors.size());
  return _interpolate_backward(grad, input_size.subspan(2), given, static_cast<int64_t>(op.mode),
                               align_corners);
}

template <typename... Each>
Factors factors_of(Each... each) {
  return {each.value_or(0.0)...};
}

// The forms that torch's schemas have, by the number of dims.
template <Resize kOp, typename... Each>
struct Forms {
  static Tensor plain(const Tensor& self, IntList size, Each... each) {
    return resize(kOp, self, size, factors_of(each...), false);
  }
  static Tensor with_corners(const Tensor& self, IntList size, bool corners, Each... each) {
    return resize(kOp, self, size, factors_of(each...), corners);
  }
  static Tensor plain_backward(const Tensor& grad, IntList size, IntList input, Each... each) {
    return resize_backward(kOp, grad, size, input, factors_of(each...), false);
  }
  static Tensor with_corners_backward(
      const Tensor& grad, IntList size, IntList input, bool corners, Each... each) {
    return resize_backward(kOp, grad, size, input, factors_of(each...), corners);
  }
};
template <Resize kOp>
using FormsOf = std::conditional_t<kOp.dims == 1,
                                   Forms<kOp, Factor>,
                                   std::conditional_t<kOp.dims == 2,
                                                      Forms<kOp, Factor, Factor>,
                                                      Forms<kOp, Factor, Factor, Factor>>>;

template <Resize kOp>
Tensor plain_vec(const Tensor& input,
                 std::optional<IntList> size,
                 std::optional<std::span<const double>> factors) {
  return resize_vec(kOp, input, size, factors, false);
}
template <Resize kOp>
Tensor with_corners_vec(const Tensor& input,
                        std::optional<IntList> size,
                        bool corners,
                        std::optional<std::span<const double>> factors) {
  return resize_vec(kOp, input, size, factors, corners);
}

template <Resize kOp>
void compose_resize(ops::Registry& registry, const std::string& name) {
  using Of = FormsOf<kOp>;
  if constexpr (kOp.filter == Filter::kNone && ops::is_nearest(kOp.mode)) {
    registry.composite<&Of::plain>(name);
    registry.composite<plain_vec<kOp>>(name + ".vec");
    registry.composite<&Of::plain_backward>(name + "_backward");
  } else {
    registry.composite<&Of::with_corners>(name);
    registry.composite<with_corners_vec<kOp>>(name + ".vec");
    registry.composite<&Of::with_corners_backward>(name + "_backward");
  }
}

}  // namespace

void compose_resizing(ops::Registry& registry) {
  using enum Interpolation;
  compose_resize<Resize{kNearest, 1}>(registry, "upsample_nearest1d");
  compose_resize<Resize{kNearest, 2}>(registry, "upsample_nearest2d");
  compose_resize<Resize{kNearest, 3}>(registry, "upsample_nearest3d");
  compose_resize<Resize{kNearestExact, 1}>(registry, "_upsample_nearest_exact1d");
  compose_resize<Resize{kNearestExact, 2}>(registry, "_upsample_nearest_exact2d");
  compose_resize<Resize{kNearestExact, 3}>(registry, "_upsample_nearest_exact3d");
  compose_resize<Resize{kLinear, 1}>(registry, "upsample_linear1d");
  compose_resize<Resize{kLinear, 2}>(registry, "upsample_bilinear2d");
  compose_resize<Resize{kLinear, 3}>(registry, "upsample_trilinear3d");
  compose_resize<Resize{kCubic, 2}>(registry, "upsample_bicubic2d");
  compose_resize<Resize{kLinear, 2, Filter::kLinear}>(registry, "_upsample_bilinear2d_aa");
  compose_resize<Resize{kCubic, 2, Filter::kCubic}>(registry, "_upsample_bicubic2d_aa");
  compose_resize<Resize{kCubic, 2, Filter::kLanczos}>(registry, "_upsample_lanczos2d_aa");
}

}  // namespace mindtorch::functional
