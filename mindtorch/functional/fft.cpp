// torch.fft: lengths, dims, norms and dtypes brought into the form that the three transforms take.
#include <algorithm>

#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/fft_normalization.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

using MaybeInt = std::optional<int64_t>;
using MaybeDims = std::optional<IntList>;
using Norm = std::optional<std::string_view>;

int64_t normalization(Norm norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? kNone : kByCount;
  if (*norm == "forward") return forward ? kByCount : kNone;
  MT_CHECK(*norm == "ortho", RuntimeError, "Invalid normalization mode: \"", *norm, "\"");
  return kByRoot;
}

// Integers become the default dtype, and real numbers complex ones where those are needed.
Tensor promoted(const Tensor& self, bool to_complex) {
  if (is_complex(self.dtype())) return self;
  DType dtype = is_floating_point(self.dtype()) ? self.dtype() : default_dtype();
  MT_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64, RuntimeError, "Unsupported dtype ",
           legacy_name(dtype));
  if (to_complex) dtype = complex_dtype(dtype);
  return dtype == self.dtype() ? self : _to_copy(self, dtype);
}

void check_length(int64_t length) {
  MT_CHECK(length >= 1, RuntimeError, "Invalid number of data points (", length, ") specified");
}
void check_real(const char* name, const char* kind, const Tensor& self) {
  MT_CHECK(!is_complex(self.dtype()), RuntimeError, name, " expects a ", kind,
           " input tensor, but got ", legacy_name(self.dtype()));
}
int64_t wrapped(int64_t dim, const Tensor& self) { return existing_dim(dim, self.dim()); }

// Cut, or filled up with zeros, to these sizes.
Tensor resized(Tensor x, IntList dims, IntList sizes) {
  Shape padding(static_cast<size_t>(2 * x.dim()), 0);
  bool grows = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t size = x.size(dims[i]);
    if (size > sizes[i]) x = narrow(x, dims[i], 0, sizes[i]);
    if (size >= sizes[i]) continue;
    grows = true;
    padding[padding.size() - 1 - static_cast<size_t>(2 * dims[i])] = sizes[i] - size;
  }
  return grows ? constant_pad_nd(x, padding, Scalar(0)) : x;
}

// --- one dim ---

Tensor to_real(Tensor self, MaybeInt n, int64_t dim, Norm norm, bool forward) {
  self = promoted(self, true);
  dim = wrapped(dim, self);
  const int64_t length = n ? *n : 2 * (self.size(dim) - 1);
  check_length(length);
  if (n) self = resized(self, {dim}, {length / 2 + 1});
  const int64_t mode = normalization(norm, forward);
  return _fft_c2r(forward ? conj(self) : self, {dim}, mode, length);
}

Tensor from_real(const char* name,
                 Tensor self,
                 MaybeInt n,
                 int64_t dim,
                 Norm norm,
                 bool forward,
                 bool onesided) {
  check_real(name, "real", self);
  self = promoted(self, false);
  dim = wrapped(dim, self);
  const int64_t length = n ? *n : self.size(dim);
  check_length(length);
  if (n) self = resized(self, {dim}, {length});
  const Tensor result = _fft_r2c(self, {dim}, normalization(norm, forward), onesided);
  return forward ? result : conj(result);
}

Tensor transform(const char* name, Tensor self, MaybeInt n, int64_t dim, Norm norm, bool forward) {
  if (!is_complex(self.dtype())) return from_real(name, self, n, dim, norm, forward, false);
  dim = wrapped(dim, self);
  const int64_t length = n ? *n : self.size(dim);
  check_length(length);
  if (n) self = resized(self, {dim}, {length});
  return _fft_c2c(self, {dim}, normalization(norm, forward), forward);
}

Tensor fft(const Tensor& self, MaybeInt n, int64_t dim, Norm norm) {
  return transform("fft", self, n, dim, norm, true);
}
Tensor ifft(const Tensor& self, MaybeInt n, int64_t dim, Norm norm) {
  return transform("ifft", self, n, dim, norm, false);
}
Tensor rfft(const Tensor& self, MaybeInt n, int64_t dim, Norm norm) {
  return from_real("rfft", self, n, dim, norm, true, true);
}
Tensor irfft(const Tensor& self, MaybeInt n, int64_t dim, Norm norm) {
  return to_real(self, n, dim, norm, false);
}
Tensor hfft(const Tensor& self, MaybeInt n, int64_t dim, Norm norm) {
  return to_real(self, n, dim, norm, true);
}
Tensor ihfft(const Tensor& self, MaybeInt n, int64_t dim, Norm norm) {
  return from_real("ihfft", self, n, dim, norm, false, true);
}

// --- several dims ---

struct Dims {
  Shape dims;
  Shape sizes;  // of the lines that are transformed
};

Dims dims_of(const Tensor& self, MaybeDims s, MaybeDims dim) {
  Dims result;
  if (dim) {
    for (const int64_t d : *dim) result.dims.push_back(wrapped(d, self));
    Shape sorted = result.dims;
    std::sort(sorted.begin(), sorted.end());
    MT_CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), RuntimeError,
             "FFT dims must be unique");
  }
  if (s) {
    MT_CHECK(!dim || dim->size() == s->size(), RuntimeError,
             "When given, dim and shape arguments must have the same length");
    const auto count = static_cast<int64_t>(s->size());
    MT_CHECK(count <= self.dim(), RuntimeError, "Got shape with ", count,
             " values but input tensor only has ", self.dim(), " dimensions.");
    for (int64_t d = self.dim() - count; !dim && d < self.dim(); ++d) result.dims.push_back(d);
  } else if (!dim) {
    for (int64_t d = 0; d < self.dim(); ++d) result.dims.push_back(d);
  }
  for (size_t i = 0; i < result.dims.size(); ++i) {
    const bool is_given = s && (*s)[i] != -1;
    result.sizes.push_back(is_given ? (*s)[i] : self.size(result.dims[i]));
    check_length(result.sizes.back());
  }
  return result;
}

Tensor transform_dims(const Tensor& self, MaybeDims s, MaybeDims dim, Norm norm, bool forward) {
  const Dims all = dims_of(self, s, dim);
  const Tensor input = promoted(self, true);
  return _fft_c2c(resized(input, all.dims, all.sizes), all.dims, normalization(norm, forward),
                  forward);
}

void check_transforms(const char* name, const Dims& all) {
  MT_CHECK(!all.dims.empty(), RuntimeError, name, " must transform at least one axis");
}

// Of a half spectrum: the sizes become those of the input, the length of the last dim is returned.
int64_t last_of_real(const char* name, const Tensor& self, MaybeDims s, Dims& all) {
  check_transforms(name, all);
  const bool is_given = s && s->back() != -1;
  const int64_t length = is_given ? all.sizes.back() : 2 * (self.size(all.dims.back()) - 1);
  check_length(length);
  all.sizes.back() = length / 2 + 1;
  return length;
}
IntList without_last(const Shape& dims) { return IntList(dims).first(dims.size() - 1); }

Tensor fftn(const Tensor& self, MaybeDims s, MaybeDims dim, Norm norm) {
  return transform_dims(self, s, dim, norm, true);
}
Tensor ifftn(const Tensor& self, MaybeDims s, MaybeDims dim, Norm norm) {
  return transform_dims(self, s, dim, norm, false);
}
Tensor rfftn(const Tensor& self, MaybeDims s, MaybeDims dim, Norm norm) {
  check_real("rfftn", "real-valued", self);
  const Dims all = dims_of(self, s, dim);
  check_transforms("rfftn", all);
  const Tensor input = promoted(self, false);
  return _fft_r2c(resized(input, all.dims, all.sizes), all.dims, normalization(norm, true), true);
}
Tensor irfftn(const Tensor& self, MaybeDims s, MaybeDims dim, Norm norm) {
  Dims all = dims_of(self, s, dim);
  const int64_t length = last_of_real("irfftn", self, s, all);
  const Tensor input = resized(promoted(self, true), all.dims, all.sizes);
  return _fft_c2r(input, all.dims, normalization(norm, false), length);
}
Tensor hfftn(const Tensor& self, MaybeDims s, MaybeDims dim, Norm norm) {
  Dims all = dims_of(self, s, dim);
  const int64_t length = last_of_real("hfftn", self, s, all);
  Tensor input = resized(promoted(self, true), all.dims, all.sizes);
  const int64_t mode = normalization(norm, true);
  const IntList others = without_last(all.dims);
  if (!others.empty()) input = _fft_c2c(input, others, mode, true);
  return _fft_c2r(conj(input), {all.dims.back()}, mode, length);
}
Tensor ihfftn(const Tensor& self, MaybeDims s, MaybeDims dim, Norm norm) {
  MT_CHECK(!is_complex(self.dtype()), RuntimeError,
           "Only supports floating-point dtypes, but found: ", legacy_name(self.dtype()));
  const Dims all = dims_of(self, s, dim);
  check_transforms("ihfftn", all);
  const Tensor input = resized(promoted(self, false), all.dims, all.sizes);
  const int64_t mode = normalization(norm, false);
  const Tensor half = conj(_fft_r2c(input, {all.dims.back()}, mode, true));
  const IntList others = without_last(all.dims);
  return others.empty() ? half : _fft_c2c(half, others, mode, false);
}

using OfDims = Tensor (*)(const Tensor&, MaybeDims, MaybeDims, Norm);
template <OfDims kFunction>
Tensor of_two(const Tensor& self, MaybeDims s, IntList dim, Norm norm) {
  return kFunction(self, s, dim, norm);
}

// --- frequencies ---

DType frequency_dtype(const char* name, std::optional<DType> dtype) {
  const DType result = dtype.value_or(default_dtype());
  MT_CHECK(is_floating_point(result) || is_complex(result), RuntimeError, name,
           " requires a floating point or complex dtype");
  return result;
}
Scalar spacing(int64_t n, double d) { return Scalar(1.0 / (static_cast<double>(n) * d)); }

Tensor fftfreq(int64_t n, double d, std::optional<DType> dtype, std::optional<Device> device) {
  const DType result = frequency_dtype("fftfreq", dtype);
  MT_CHECK(n >= 0, RuntimeError, "Trying to create tensor with negative dimension ", n, ": [", n,
           "]");
  const int64_t positive = (n + 1) / 2;
  const Tensor parts[] = {arange(Scalar(positive), result, device),
                          arange(Scalar(positive - n), Scalar(0), Scalar(1), result, device)};
  return mul(cat(parts, 0), spacing(n, d));
}
Tensor rfftfreq(int64_t n, double d, std::optional<DType> dtype, std::optional<Device> device) {
  const DType result = frequency_dtype("rfftfreq", dtype);
  return mul(arange(Scalar(n / 2 + 1), result, device), spacing(n, d));
}

Tensor shifted(const Tensor& self, MaybeDims dim, int64_t rounding) {
  Shape dims;
  for (const int64_t d : dim.value_or(IntList())) dims.push_back(wrap_dim(d, self.dim()));
  for (int64_t d = 0; !dim && d < self.dim(); ++d) dims.push_back(d);
  Shape shifts;
  for (const int64_t d : dims) shifts.push_back((self.size(d) + rounding) / 2);
  return roll(self, shifts, dims);
}
Tensor fftshift(const Tensor& self, MaybeDims dim) { return shifted(self, dim, 0); }
Tensor ifftshift(const Tensor& self, MaybeDims dim) { return shifted(self, dim, 1); }

}  // namespace

void compose_fft(ops::Registry& registry) {
  registry.composite<fft>("fft_fft");
  registry.composite<ifft>("fft_ifft");
  registry.composite<rfft>("fft_rfft");
  registry.composite<irfft>("fft_irfft");
  registry.composite<hfft>("fft_hfft");
  registry.composite<ihfft>("fft_ihfft");
  registry.composite<fftn>("fft_fftn");
  registry.composite<ifftn>("fft_ifftn");
  registry.composite<rfftn>("fft_rfftn");
  registry.composite<irfftn>("fft_irfftn");
  registry.composite<hfftn>("fft_hfftn");
  registry.composite<ihfftn>("fft_ihfftn");
  registry.composite<of_two<fftn>>("fft_fft2");
  registry.composite<of_two<ifftn>>("fft_ifft2");
  registry.composite<of_two<rfftn>>("fft_rfft2");
  registry.composite<of_two<irfftn>>("fft_irfft2");
  registry.composite<of_two<hfftn>>("fft_hfft2");
  registry.composite<of_two<ihfftn>>("fft_ihfft2");
  registry.composite<fftfreq>("fft_fftfreq");
  registry.composite<rfftfreq>("fft_rfftfreq");
  registry.composite<fftshift>("fft_fftshift");
  registry.composite<ifftshift>("fft_ifftshift");
}

}  // namespace mindtorch::functional
