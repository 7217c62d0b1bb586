// Windows of images as columns, the inverse of max_pool, and pooling at random places: torch's
// rules around the ops that compute it.
#include "mindtorch/ops/windows.h"

#include <algorithm>
#include <initializer_list>

#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/from_host.h"
#include "mindtorch/functional/functions.h"
#include "mindtorch/functional/has_kernel.h"
#include "mindtorch/ops/memory_format.h"
#include "mindtorch/tensor/dtype_set.h"

namespace mindtorch::functional {
namespace {

using ops::WindowGrid;

bool has_window_op(const Tensor& self) {
  static const ops::Op& op = ops::registry().at("_im2col");
  return has_kernel(op, self);
}

// --- columns ---

void check_pair(const char* name, IntList list) {
  MT_CHECK(list.size() == 2, RuntimeError, "It is expected ", name, " equals to 2, but got size ",
           list.size());
}

// Of settings beyond this the places of windows cannot be counted.
constexpr int64_t kMost = int64_t{1} << 31;

// `name` and what its two numbers are called in torch's words.
void check_least(const char* name, const char* part, IntList list, int64_t least) {
  MT_CHECK(list[0] >= least && list[1] >= least, RuntimeError, name,
           least == 0 ? " should be non-negative" : " should be greater than zero", ", but got ",
           part, "_height: ", list[0], " ", part, "_width: ", list[1]);
  MT_CHECK(list[0] <= kMost && list[1] <= kMost, RuntimeError, name, " is too large: ", part,
           "_height: ", list[0], " ", part, "_width: ", list[1]);
}

void check_kernel(IntList kernel) {
  int64_t area = 0;
  MT_CHECK(!__builtin_mul_overflow(kernel[0], kernel[1], &area), RuntimeError,
           "Given kernel_width = ", kernel[1], " and kernel_height = ", kernel[0],
           " the product of kernel_width and kernel_height overflowed.");
  check_least("kernel size", "kernel", kernel, 1);
}

bool can_be_counted(std::initializer_list<int64_t> sizes) {
  int64_t count = 1;
  return std::ranges::none_of(
      sizes, [&](int64_t size) { return __builtin_mul_overflow(count, size, &count); });
}

std::string in_brackets(IntList pair) {
  return "(" + std::to_string(pair[0]) + ", " + std::to_string(pair[1]) + ")";
}

// What torch says of the settings in each text.
std::string shown(IntList kernel, IntList dilation, IntList padding) {
  return ", kernel_size=" + in_brackets(kernel) + ", dilation=" + in_brackets(dilation) +
         ", padding=" + in_brackets(padding);
}

void check_column_dtype(const char* kernel, const Tensor& self) {
  MT_CHECK(
      self.device().is_meta() || contains(kFloatTypes | kComplexTypes | kBoolType, self.dtype()),
      NotImplementedError, "\"", kernel, "\" not implemented for '", legacy_name(self.dtype()),
      "'");
}

bool has_elements(const Tensor& self, int64_t first) {
  for (int64_t i = first; i < self.dim(); ++i) {
    if (self.size(i) == 0) return false;
  }
  return true;
}

void check_images(const Tensor& self) {
  if (self.dim() < 3) {  // refused in these words
    for (const int64_t dim : {1, 2}) wrap_dim(dim, self.dim());
  }
  MT_CHECK((self.dim() == 3 || self.dim() == 4) && has_elements(self, self.dim() - 3), RuntimeError,
           "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
           "dimensions for input, but got: ",
           to_string(self.sizes()));
}

// Where the elements of all windows lie in an image with its padding: [taps, windows].
Tensor places_of(const WindowGrid& grid, const Tensor& like) {
  const int64_t width = grid.size[1] + 2 * grid.padding[1];
  std::vector<int64_t> places;
  places.reserve(static_cast<size_t>(grid.area() * grid.windows()));
  for (int64_t tap = 0; tap < grid.area(); ++tap) {
    for (int64_t window = 0; window < grid.windows(); ++window) {
      const int64_t y = grid.place(0, tap / grid.kernel[1], window / grid.count[1]);
      const int64_t x = grid.place(1, tap % grid.kernel[1], window % grid.count[1]);
      places.push_back((y + grid.padding[0]) * width + x + grid.padding[1]);
    }
  }
  const auto count = static_cast<int64_t>(places.size());
  return from_host(places, {count}, like.device());
}

Tensor composed_im2col(const Tensor& images, const WindowGrid& grid) {
  const int64_t y = grid.padding[0];
  const int64_t x = grid.padding[1];
  const Tensor padded = constant_pad_nd(images, {x, x, y, y}, Scalar(0));
  const Tensor columns = index_select(flatten(padded, 2), 2, places_of(grid, images));
  return reshape(columns, {images.size(0), images.size(1) * grid.area(), grid.windows()});
}

Tensor composed_col2im(const Tensor& columns, const WindowGrid& grid) {
  const int64_t height = grid.size[0] + 2 * grid.padding[0];
  const int64_t width = grid.size[1] + 2 * grid.padding[1];
  const int64_t images = columns.size(0);
  const int64_t channels = columns.size(1) / grid.area();
  const Tensor rows = reshape(columns, {images, channels, grid.area() * grid.windows()});
  const Tensor whole = index_add(new_zeros(columns, {images, channels, height * width}), 2,
                                 places_of(grid, columns), rows);
  const Tensor image = view(whole, {images, channels, height, width});
  return contiguous(
      narrow(narrow(image, 2, grid.padding[0], grid.size[0]), 3, grid.padding[1], grid.size[1]));
}

Tensor im2col(
    const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride) {
  check_pair("kernel_size", kernel_size);
  check_pair("dilation", dilation);
  check_pair("padding", padding);
  check_pair("stride", stride);
  check_kernel(kernel_size);
  check_least("dilation", "dilation", dilation, 1);
  check_least("padding", "pad", padding, 0);
  check_least("stride", "stride", stride, 1);
  check_images(self);
  const bool is_batch = self.dim() == 4;
  const Tensor images = is_batch ? self : unsqueeze(self, 0);
  const WindowGrid grid(IntList(images.sizes()).last(2), kernel_size, dilation, padding, stride);
  MT_CHECK(grid.count[0] >= 1 && grid.count[1] >= 1, RuntimeError, "Given input with spatial size ",
           in_brackets(grid.size), shown(kernel_size, dilation, padding),
           ", calculated shape of the array of sliding blocks as ", in_brackets(grid.count),
           ", but its components must be at least one.");
  MT_CHECK(
      can_be_counted({images.size(0), images.size(1), grid.area(), grid.count[0], grid.count[1]}),
      RuntimeError, "The sliding blocks are too many: ", in_brackets(grid.count), " of ",
      in_brackets(kernel_size), " elements");
  check_column_dtype("im2col_out_cpu", self);
  const Tensor columns = has_window_op(self)
                             ? _im2col(images, kernel_size, dilation, padding, stride)
                             : composed_im2col(images, grid);
  return is_batch ? columns : squeeze(columns, 0);
}

Tensor col2im(const Tensor& self,
              IntList output_size,
              IntList kernel_size,
              IntList dilation,
              IntList padding,
              IntList stride) {
  check_pair("output_size", output_size);
  check_pair("kernel_size", kernel_size);
  check_pair("dilation", dilation);
  check_pair("padding", padding);
  check_pair("stride", stride);
  check_kernel(kernel_size);
  check_least("stride", "stride", stride, 1);
  check_least("dilation", "dilation", dilation, 1);
  check_least("padding", "pad", padding, 0);
  const bool is_batch = self.dim() == 3;
  MT_CHECK((is_batch || self.dim() == 2) && has_elements(self, self.dim() - 2), RuntimeError,
           "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
           "non-zero dimensions for input, but got: ",
           to_string(self.sizes()));
  const Tensor columns = is_batch ? self : unsqueeze(self, 0);
  MT_CHECK(output_size[0] <= kMost && output_size[1] <= kMost, RuntimeError,
           "output_size is too large: ", in_brackets(output_size));
  const WindowGrid grid(output_size, kernel_size, dilation, padding, stride);
  MT_CHECK(columns.size(1) % grid.area() == 0, RuntimeError,
           "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
           "but got input.size(1)=",
           columns.size(1), " and kernel_size=", in_brackets(kernel_size), ".");
  const std::string given = "Given output_size=" + in_brackets(output_size) +
                            shown(kernel_size, dilation, padding) +
                            ", stride=" + in_brackets(stride);
  MT_CHECK(can_be_counted({grid.count[0], grid.count[1]}) && columns.size(2) == grid.windows(),
           RuntimeError, given,
           ", expected size of input's dimension 2 to match the calculated number of sliding "
           "blocks ",
           grid.count[0], " * ", grid.count[1], " = ", grid.windows(),
           ", but got input.size(2)=", columns.size(2), ".");
  MT_CHECK(grid.count[0] >= 1 && grid.count[1] >= 1, RuntimeError, given,
           ", calculated shape of the array of sliding blocks as ", in_brackets(grid.count),
           ", which is too small (non-positive)");
  check_column_dtype("col2im_out_cpu", self);
  const Tensor images = has_window_op(self)
                            ? _col2im(columns, output_size, kernel_size, dilation, padding, stride)
                            : composed_col2im(columns, grid);
  return is_batch ? images : squeeze(images, 0);
}

// --- the inverse of max_pool ---

// `n`: the dims of an image.
void check_unpool(const Tensor& self, const Tensor& indices, int64_t n) {
  MT_CHECK(self.dim() == n + 1 || self.dim() == n + 2, RuntimeError, "Input to max_unpooling", n,
           "d should be a ", n + 1, "d or ", n + 2, "d Tensor, but got a tensor with ", self.dim(),
           " dimensions.");
  MT_CHECK(equal(self.sizes(), indices.sizes()), RuntimeError,
           "Expected shape of indices to be same as that of the input tensor (",
           to_string(self.sizes()),
           ") but got indices tensor with shape: ", to_string(indices.sizes()));
  for (int64_t i = self.dim() == n + 2 ? 1 : 0; i < self.dim(); ++i) {
    MT_CHECK(self.size(i) > 0, RuntimeError, "max_unpooling", n,
             "d_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, "
             "but got ",
             to_string(self.sizes()), " with dimension ", i, " being empty.");
  }
  MT_CHECK(self.device().is_meta() || contains(kFloatTypes, self.dtype()), NotImplementedError,
           "\"max_unpool", n, "d\" not implemented for '", legacy_name(self.dtype()), "'");
}

Tensor unpool(const Tensor& self, const Tensor& indices, IntList output_size) {
  if (has_window_op(self)) return _max_unpool(self, indices, output_size);
  const auto n = static_cast<int64_t>(output_size.size());
  Shape leading(self.sizes().begin(), self.sizes().end() - n);
  Shape flat = leading;
  flat.push_back(numel(output_size));
  for (const int64_t size : output_size) leading.push_back(size);
  const Tensor filled = scatter(new_zeros(self, flat), -1, flatten(indices, -n), flatten(self, -n));
  return contiguous(view(filled, leading), ops::suggested_format(self));
}

Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntList output_size) {
  MT_CHECK(indices.dtype() == DType::kInt64, RuntimeError,
           "elements in indices should be type int64 but got: ", legacy_name(indices.dtype()));
  MT_CHECK(output_size.size() == 2, RuntimeError,
           "There should be exactly two elements (height, width) in output_size, but got ",
           output_size.size(), " elements.");
  check_unpool(self, indices, 2);
  return unpool(self, indices, output_size);
}

void check_triple(const char* name, IntList list, const char* got) {
  MT_CHECK(list.size() == 3, RuntimeError,
           "There should be exactly three elements (depth, height, width) in ", name, got,
           list.size(), " elements.");
}

Tensor max_unpool3d(const Tensor& self,
                    const Tensor& indices,
                    IntList output_size,
                    IntList stride,
                    IntList padding) {
  MT_CHECK(indices.dtype() == DType::kInt64, RuntimeError,
           "elements in indices should be type int64");
  MT_CHECK(self.dim() == 4 || self.dim() == 5, RuntimeError,
           "Input to max_unpooling3d should be a 4d or 5d Tensor, but got a tensor with ",
           self.dim(), " dimensions.");
  check_triple("output_size", output_size, ", but got ");
  check_triple("stride", stride, ", but got: ");
  check_triple("padding", padding, ", but got: ");
  MT_CHECK(std::ranges::all_of(stride, [](int64_t step) { return step > 0; }), RuntimeError,
           "strides should be greater than zero, but got stride: ", to_string(stride));
  check_unpool(self, indices, 3);
  return unpool(self, indices, output_size);
}

// --- pooling at random places ---

template <size_t kN>
const char* fractional_name() {
  return kN == 2 ? "fractional_max_pool2d" : "fractional_max_pool3d";
}
template <size_t kN>
std::string inner_name() {  // of torch's checks of sizes
  return kN == 2 ? "fractional_max_pool2d()" : "fractional_max_pool3d_out()";
}

template <size_t kN>
void check_fractional(const Tensor& self,
                      IntList kernel_size,
                      IntList output_size,
                      const Tensor& samples) {
  constexpr const char* kHow = kN == 2 ? " must either be a single Int or tuple of Ints"
                                       : " must either be a single Int or tuple of three Ints";
  MT_CHECK(kernel_size.size() == kN, RuntimeError, fractional_name<kN>(), ": kernel_size", kHow);
  MT_CHECK(output_size.size() == kN, RuntimeError, fractional_name<kN>(), ": output_size", kHow);
  const auto n = static_cast<int64_t>(kN);
  MT_CHECK(self.dim() == n + 1 || self.dim() == n + 2, RuntimeError, inner_name<kN>(),
           ": Expected ", n + 1, "D or ", n + 2, "D tensor, but got: ", to_string(self.sizes()));
  const int64_t first = self.dim() - n - 1;
  for (int64_t i = first; i < self.dim(); ++i) {
    MT_CHECK(self.size(i) > 0, RuntimeError, inner_name<kN>(),
             ": Expected input to have non-zero size for non-batch dimensions, but got",
             to_string(self.sizes()), " with dimension ", i, " being empty.");
  }
  constexpr const char* kNames[] = {"time ", "height ", "width "};
  for (size_t i = kN; i-- > 0;) {
    const int64_t size = self.size(static_cast<int64_t>(i) - n);
    const char* const name = kNames[3 - kN + i];
    MT_CHECK(output_size[i] + kernel_size[i] - 1 <= size, RuntimeError, inner_name<kN>(), ": pool ",
             name, kernel_size[i], " too large relative to input ", name, size);
  }
  MT_CHECK(samples.dtype() == self.dtype(), RuntimeError,
           "Expect _random_samples to have the same dtype as input");
  MT_CHECK(samples.dim() == 3, RuntimeError, "Expect _random_samples to have 3 dimensions, got ",
           samples.dim());
  const int64_t images = first == 0 ? 1 : self.size(0);
  MT_CHECK(samples.size(0) >= images, RuntimeError,
           "Expect _random_samples.size(0) no less then input batch size.");
  MT_CHECK(samples.size(1) == self.size(first), RuntimeError,
           "Expect _random_samples.size(1) equals to input channel size.");
  MT_CHECK(samples.size(2) == n, RuntimeError, "Expect _random_samples.size(2) equals to ", n,
           "; got ", samples.size(2), ".");
  MT_CHECK(self.device().is_meta() || contains(kFloatTypes, self.dtype()), NotImplementedError,
           "\"", fractional_name<kN>(), "_out_frame\" not implemented for '",
           legacy_name(self.dtype()), "'");
}

// Where each of `count` windows begins: [batch, channels, count].
Tensor starts_of(const Tensor& samples, int64_t size, int64_t kernel, int64_t count) {
  Shape sizes = samples.sizes();
  sizes.push_back(1);
  const Tensor last = full(sizes, Scalar(size - kernel), DType::kInt64, samples.device());
  if (count == 1) return last;
  const Scalar alpha(static_cast<double>(size - kernel) / static_cast<double>(count - 1));
  const auto whole = [](const Tensor& x) { return _to_copy(x, DType::kInt64); };
  const Tensor wide = unsqueeze(_to_copy(samples, DType::kFloat64), -1);
  const Tensor steps = arange(Scalar(count - 1), std::nullopt, samples.device());
  const Tensor places = sub(whole(mul(add(steps, wide), alpha)), whole(mul(wide, alpha)));
  const Tensor parts[] = {places, last};
  return cat(TensorList(parts), -1);
}

template <size_t kN>
std::tuple<Tensor, Tensor> fractional_max_pool(const Tensor& self,
                                               IntList kernel_size,
                                               IntList output_size,
                                               const Tensor& random_samples) {
  check_fractional<kN>(self, kernel_size, output_size, random_samples);
  const bool is_batch = self.dim() == static_cast<int64_t>(kN) + 2;
  const Tensor images = is_batch ? self : unsqueeze(self, 0);
  const Tensor samples = narrow(random_samples, 0, 0, images.size(0));
  Tensor places;  // [batch, channels, windows, elements of a window]
  for (size_t i = 0; i < kN; ++i) {
    const int64_t size = images.size(static_cast<int64_t>(i) + 2);
    // The samples of an image are for width, height; those of a volume for depth, height, width.
    const auto sample = static_cast<int64_t>(kN == 2 ? 1 - i : i);
    const Tensor starts =
        starts_of(select(samples, 2, sample), size, kernel_size[i], output_size[i]);
    const Tensor inside = arange(Scalar(kernel_size[i]), std::nullopt, self.device());
    const Tensor along = add(unsqueeze(starts, -1), inside);
    if (i == 0) {
      places = along;
      continue;
    }
    const Tensor outer = unsqueeze(unsqueeze(mul(places, Scalar(size)), -1), 3);
    const Tensor both = add(outer, unsqueeze(unsqueeze(along, 2), 4));
    places = flatten(flatten(both, -2, -1), 2, 3);
  }
  const Tensor values = view(gather(flatten(images, 2), 2, flatten(places, 2)), places.sizes());
  const auto [largest, where] = max(values, -1);
  const Tensor indices = squeeze(gather(places, -1, unsqueeze(where, -1)), -1);
  Shape sizes = {images.size(0), images.size(1)};
  for (const int64_t size : output_size) sizes.push_back(size);
  const auto shaped = [&](const Tensor& x) {
    return is_batch ? view(x, sizes) : squeeze(view(x, sizes), 0);
  };
  return {shaped(largest), shaped(indices)};
}

template <size_t kN>
Tensor fractional_max_pool_backward(
    const Tensor& grad_output, const Tensor& self, IntList, IntList, const Tensor& indices) {
  constexpr auto kDims = static_cast<int64_t>(kN);
  const Tensor whole = new_zeros(grad_output, flatten(self, -kDims).sizes());
  const Tensor filled =
      scatter_add(whole, -1, flatten(indices, -kDims), flatten(grad_output, -kDims));
  return view(filled, self.sizes());
}

}  // namespace

void compose_windows(ops::Registry& registry) {
  registry.composite<im2col>("im2col");
  registry.composite<col2im>("col2im");
  registry.composite<max_unpool2d>("max_unpool2d");
  registry.composite<max_unpool3d>("max_unpool3d");
  registry.composite<fractional_max_pool<2>>("fractional_max_pool2d");
  registry.composite<fractional_max_pool<3>>("fractional_max_pool3d");
  registry.composite<fractional_max_pool_backward<2>>("fractional_max_pool2d_backward");
  registry.composite<fractional_max_pool_backward<3>>("fractional_max_pool3d_backward");
}

}  // namespace mindtorch::functional
