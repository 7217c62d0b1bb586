// Fourier transforms. The three that have kernels, with torch's names and arguments; the functions
// of torch.fft are composites, written in functional/fft.cpp of these. `normalization` is 0: none,
// 1: by the root of the number of elements, 2: by the number of elements.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"
#include "mindtorch/ops/fft_layout.h"

namespace mindtorch::ops {
namespace {

void check_normalization(int64_t normalization) {
  MT_CHECK(normalization >= 0 && normalization <= 2, RuntimeError,
           "Unsupported normalization type: ", normalization);
}

// Checked where something will compute: torch's meta tensors may be of float16.
void check_transform_dtype(const Tensor& self) {
  const DType part = real_dtype(self.dtype());
  MT_CHECK(part == DType::kFloat32 || part == DType::kFloat64, RuntimeError, "Unsupported dtype ",
           legacy_name(self.dtype()));
}

void check_unique(Shape dims) {
  std::sort(dims.begin(), dims.end());
  MT_CHECK(std::adjacent_find(dims.begin(), dims.end()) == dims.end(), RuntimeError,
           "FFT dims must be unique");
}

void check_length(int64_t length) {
  MT_CHECK(length >= 1, RuntimeError, "Invalid number of data points (", length, ") specified");
}

TensorSpec c2c(const Tensor& self, IntList dim, int64_t normalization, bool) {
  MT_CHECK(is_complex(self.dtype()), RuntimeError,
           "Only supports complex dtypes, but found: ", legacy_name(self.dtype()));
  check_transform_dtype(self);
  check_normalization(normalization);
  if (dim.empty()) return spec_like(self, self.dtype());
  const Shape dims = sorted_fft_dims(self, dim, false);
  check_unique(dims);
  for (const int64_t d : dims) check_length(self.size(d));
  return {self.sizes(), self.dtype(), self.device(),
          fft_strides(self.sizes(), self.strides(), dims)};
}

TensorSpec r2c(const Tensor& self, IntList dim, int64_t normalization, bool onesided) {
  MT_CHECK(is_floating_point(self.dtype()), RuntimeError,
           "Only supports floating-point dtypes, but found: ", legacy_name(self.dtype()));
  check_transform_dtype(self);
  check_normalization(normalization);
  MT_CHECK(!dim.empty(), RuntimeError, "_fft_r2c must transform at least one axis");
  const Shape dims = sorted_fft_dims(self, dim, true);
  check_unique(dims);
  for (const int64_t d : dims) check_length(self.size(d));
  Shape sizes = self.sizes();
  if (onesided) {
    int64_t& last = sizes[static_cast<size_t>(dims.back())];
    last = last / 2 + 1;
  }
  return {sizes, complex_dtype(self.dtype()), self.device(),
          fft_strides(sizes, self.strides(), dims)};
}

TensorSpec c2r(const Tensor& self, IntList dim, int64_t normalization, int64_t last_dim_size) {
  MT_CHECK(is_complex(self.dtype()), RuntimeError,
           "Only supports complex dtypes, but found: ", legacy_name(self.dtype()));
  check_transform_dtype(self);
  check_normalization(normalization);
  MT_CHECK(!dim.empty(), RuntimeError, "_fft_c2r must transform at least one axis");
  check_length(last_dim_size);
  const int64_t last = wrap_dim(dim.back(), self.dim());
  MT_CHECK(self.size(last) >= last_dim_size / 2 + 1, RuntimeError, "Expected at least ",
           last_dim_size / 2 + 1, " elements at dimension ", last, ", but got ", self.size(last));
  check_unique(sorted_fft_dims(self, dim, true));
  // The other dims are transformed first.
  Shape strides = self.strides();
  const IntList others = dim.first(dim.size() - 1);
  if (!others.empty()) strides = *c2c(self, others, normalization, false).strides;
  Shape sizes = self.sizes();
  sizes[static_cast<size_t>(last)] = last_dim_size;
  return {sizes, real_dtype(self.dtype()), self.device(), fft_strides(sizes, strides, {last})};
}

}  // namespace

void define_fft(Registry& ops) {
  ops.define<c2c>("_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor")
      .device_example("torch.fft.fft(x + 0j)")
      .names_dims()
      .variants(kOutVariant)
      .function_only();
  ops.define<r2c>("_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor")
      .device_example("torch.fft.rfft(x)")
      .names_dims()
      .variants(kOutVariant)
      .function_only();
  ops.define<c2r>(
         "_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor")
      .device_example("torch.fft.irfft(x + 0j)")
      .names_dims()
      .variants(kOutVariant)
      .function_only();
  ops.define("fft_fft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "fft expects a complex output tensor, but got $O")
      .function_only()
      .doc(
          "The discrete Fourier transform of each line along `dim`, cut or filled with zeros to "
          "`n` elements.",
          ">>> torch.fft.fft(torch.ones(2))\ntensor([2.+0.j, 0.+0.j])");
  ops.define("fft_ifft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "ifft expects a complex output tensor, but got $O")
      .function_only()
      .doc("The inverse of torch.fft.fft.",
           ">>> torch.fft.ifft(torch.ones(3)).real\ntensor([1., 0., 0.])");
  ops.define("fft_rfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "rfft expects a complex output tensor, but got $O")
      .function_only()
      .doc("The first half of torch.fft.fft of real lines: the other half mirrors it.",
           ">>> torch.fft.rfft(torch.ones(4))\ntensor([4.+0.j, 0.+0.j, 0.+0.j])");
  ops.define("fft_irfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "irfft expects a floating point output tensor, but got $O")
      .function_only()
      .doc("The inverse of torch.fft.rfft: real lines of `n` elements.",
           ">>> torch.fft.irfft(torch.tensor([4., 0, 0]))\ntensor([1., 1., 1., 1.])");
  ops.define("fft_hfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "hfft expects a floating point output tensor, but got $O")
      .function_only()
      .doc("The transform of lines that mirror themselves, given by their first half: real.",
           ">>> torch.fft.hfft(torch.tensor([1., 0, 0]))\ntensor([1., 1., 1., 1.])");
  ops.define("fft_ihfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "ihfft expects a complex output tensor, but got $O")
      .function_only()
      .doc("The inverse of torch.fft.hfft.",
           ">>> torch.fft.ihfft(torch.ones(4)).real\ntensor([1., 0., 0.])");
  ops.define("fft_fft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "fftn expects a complex output tensor, but got $O")
      .function_only()
      .doc("torch.fft.fft of two dims, the last two unless `dim` says otherwise.",
           ">>> torch.fft.fft2(torch.eye(2)).real\ntensor([[2., 0.],\n        [0., 2.]])");
  ops.define("fft_fftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "fftn expects a complex output tensor, but got $O")
      .function_only()
      .doc("torch.fft.fft of several dims, all unless `dim` or the length of `s` says otherwise.",
           ">>> torch.fft.fftn(torch.eye(2)).real\ntensor([[2., 0.],\n        [0., 2.]])");
  ops.define(
         "fft_ifft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "ifftn expects a complex output tensor, but got $O")
      .function_only()
      .doc("torch.fft.ifft of two dims, the last two unless `dim` says otherwise.",
           ">>> torch.fft.ifft2(torch.eye(2)).real\ntensor([[0.5000, 0.0000],\n        [0.0000, "
           "0.5000]])");
  ops.define("fft_ifftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "ifftn expects a complex output tensor, but got $O")
      .function_only()
      .doc("torch.fft.ifft of several dims, all unless `dim` or the length of `s` says otherwise.",
           ">>> torch.fft.ifftn(torch.eye(2)).real\ntensor([[0.5000, 0.0000],\n        [0.0000, "
           "0.5000]])");
  ops.define(
         "fft_rfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "rfftn expects a complex output tensor, but got $O")
      .function_only()
      .doc("torch.fft.rfft of the last of two dims, and the complex transform of the other.",
           ">>> torch.fft.rfft2(torch.ones(2, 2)).real\ntensor([[4., 0.],\n        [0., 0.]])");
  ops.define("fft_rfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "rfftn expects a complex output tensor, but got $O")
      .function_only()
      .doc("torch.fft.rfft of the last of several dims, and the complex transforms of the others.",
           ">>> torch.fft.rfftn(torch.ones(2, 2)).real\ntensor([[4., 0.],\n        [0., 0.]])");
  ops.define(
         "fft_irfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "irfftn expects a floating point output tensor, but got $O")
      .function_only()
      .doc("torch.fft.irfft of the last of two dims, and the complex transform of the other.",
           ">>> torch.fft.irfft2(torch.tensor([[4., 0.], [0., 0.]]))\ntensor([[1., 1.],\n        "
           "[1., 1.]])");
  ops.define("fft_irfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")
      .autocast_on_cpu(AutocastPolicy::kFloat32)
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "irfftn expects a floating point output tensor, but got $O")
      .function_only()
      .doc("torch.fft.irfft of the last of several dims, and the complex transforms of the others.",
           ">>> torch.fft.irfftn(torch.tensor([[4., 0.], [0., 0.]]))\ntensor([[1., 1.],\n        "
           "[1., 1.]])");
  ops.define(
         "fft_hfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "hfftn expects a floating point output tensor, but got $O")
      .function_only()
      .doc("torch.fft.hfft of the last of two dims, and the complex transform of the other.",
           ">>> torch.fft.hfft2(torch.tensor([[1., 0.], [0., 0.]]))\ntensor([[1., 1.],\n        "
           "[1., 1.]])");
  ops.define("fft_hfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "hfftn expects a floating point output tensor, but got $O")
      .function_only()
      .doc("torch.fft.hfft of the last of several dims, and the complex transforms of the others.",
           ">>> torch.fft.hfftn(torch.tensor([[1., 0.], [0., 0.]]))\ntensor([[1., 1.],\n        "
           "[1., 1.]])");
  ops.define(
         "fft_ihfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "ihfftn expects a complex output tensor, but got $O")
      .function_only()
      .doc("torch.fft.ihfft of the last of two dims, and the complex transform of the other.",
           ">>> torch.fft.ihfft2(torch.ones(2, 2)).real\ntensor([[1., 0.],\n        [0., 0.]])");
  ops.define("fft_ihfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")
      .variants(kOutVariant)
      .out_dtype(TargetDType::kCast, "ihfftn expects a complex output tensor, but got $O")
      .function_only()
      .doc("torch.fft.ihfft of the last of several dims, and the complex transforms of the others.",
           ">>> torch.fft.ihfftn(torch.ones(2, 2)).real\ntensor([[1., 0.],\n        [0., 0.]])");
  ops.define(
         "fft_fftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Device? device=None) -> "
         "Tensor")
      .variants(kOutVariant)
      .function_only()
      .doc("The frequencies of the elements that torch.fft.fft gives for `n` samples `d` apart.",
           ">>> torch.fft.fftfreq(4)\ntensor([ 0.0000,  0.2500, -0.5000, -0.2500])");
  ops.define(
         "fft_rfftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Device? device=None) -> "
         "Tensor")
      .variants(kOutVariant)
      .function_only()
      .doc("The frequencies of the elements that torch.fft.rfft gives for `n` samples `d` apart.",
           ">>> torch.fft.rfftfreq(4)\ntensor([0.0000, 0.2500, 0.5000])");
  ops.define("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor")
      .function_only()
      .doc("Rolls each dim so that the frequency 0 comes to its middle.",
           ">>> torch.fft.fftshift(torch.tensor([0, 1, -2, -1]))\ntensor([-2, -1,  0,  1])");
  ops.define("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor")
      .function_only()
      .doc("The inverse of torch.fft.fftshift.",
           ">>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1]))\ntensor([ 0,  1, -2, -1])");
  ops.define(
         "_stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
         "window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None, "
         "bool? align_to_window=None) -> Tensor")
      .device_example("torch.stft(x[0], 2, 1, window=torch.ones(2), return_complex=True)")
      .internal();
  ops.define(
         "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
         "window=None, bool center=True, bool normalized=False, bool? onesided=None, int? "
         "length=None, bool return_complex=False) -> Tensor")
      .doc("The inverse of torch.stft: the signal whose windows have these spectra.",
           ">>> window, signal = torch.ones(4), torch.arange(8.)\n"
           ">>> spectra = torch.stft(signal, 4, window=window, return_complex=True)\n"
           ">>> torch.istft(spectra, 4, window=window).round()\n"
           "tensor([0., 1., 2., 3., 4., 5., 6., 7.])");
}

}  // namespace mindtorch::ops
