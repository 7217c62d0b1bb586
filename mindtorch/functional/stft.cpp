// Short-time Fourier transforms: windows of a signal, and the signal back from their spectra.
#include <algorithm>
#include <atomic>
#include <sstream>

#include "mindtorch/base/warning.h"
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/fft_normalization.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

using MaybeInt = std::optional<int64_t>;
using MaybeBool = std::optional<bool>;

void warn_once(std::atomic_flag& warned, const char* text) {
  if (!warned.test_and_set()) warn(text);
}

std::string written(std::optional<int64_t> value) {
  return value ? std::to_string(*value) : "None";
}
std::string written(MaybeBool value) { return value ? (*value ? "1" : "0") : "None"; }
std::string written_window(const Tensor& window) {
  if (!window.defined()) return "None";
  return "torch." + std::string(legacy_name(window.dtype())) + "Tensor{" +
         to_string(window.sizes()) + "}";
}

// A window of `length` in the middle of `n_fft` numbers that are zero otherwise.
Tensor centered(const Tensor& window, int64_t length, int64_t n_fft) {
  if (length == n_fft) return window;
  const int64_t left = (n_fft - length) / 2;
  return constant_pad_nd(window, {left, n_fft - length - left}, Scalar(0));
}

void check_same_device(const char* name, const Tensor& self, const Tensor& window) {
  MT_CHECK(!window.defined() || window.device() == self.device(), RuntimeError, name,
           " input and window must be on the same device but got self on ", self.device().str(),
           " and window on ", window.defined() ? window.device().str() : "");
}

Tensor stft(const Tensor& self,
            int64_t n_fft,
            MaybeInt hop_length,
            MaybeInt win_length,
            const Tensor& window,
            bool normalized,
            MaybeBool onesided,
            MaybeBool return_complex,
            MaybeBool align_to_window) {
  static std::atomic_flag without_window, as_real;
  if (!window.defined()) {
    warn_once(without_window,
              "A window was not provided. A rectangular window will be applied,which is known to "
              "cause spectral leakage. Other windows such as torch.hann_window or "
              "torch.hamming_window are recommended to reduce spectral leakage.To suppress this "
              "warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, "
              "device=<device>)`.");
  }
  check_same_device("stft", self, window);
  const int64_t hop = hop_length.value_or(n_fft >> 2);
  const int64_t win = win_length.value_or(n_fft);
  const bool of_complex =
      is_complex(self.dtype()) || (window.defined() && is_complex(window.dtype()));
  if (!return_complex.value_or(of_complex)) {
    MT_CHECK(
        return_complex.has_value(), RuntimeError,
        "stft requires the return_complex parameter be given for real inputs, and will further "
        "require that return_complex=True in a future PyTorch release.");
    warn_once(
        as_real,
        "stft with return_complex=False is deprecated. In a future pytorch release, stft will "
        "return complex tensors for all inputs, and return_complex=False will raise an "
        "error.\nNote: you can still call torch.view_as_real on the complex output to recover "
        "the old return format.");
  }
  const auto call = [&] {
    std::ostringstream text;
    text << "stft(torch." << legacy_name(self.dtype()) << "Tensor" << to_string(self.sizes())
         << ", n_fft=" << n_fft << ", hop_length=" << hop << ", win_length=" << win
         << ", window=" << written_window(window) << ", normalized=" << normalized
         << ", onesided=" << written(onesided) << ", return_complex=" << written(return_complex)
         << ", align_to_window=" << written(align_to_window) << ") : expected ";
    return text.str();
  };
  MT_CHECK(is_floating_point(self.dtype()) || is_complex(self.dtype()), RuntimeError, call(),
           "a tensor of floating point or complex values");
  MT_CHECK(self.dim() == 1 || self.dim() == 2, RuntimeError, call(), "a 1D or 2D tensor");
  const int64_t length = self.size(-1);
  MT_CHECK(n_fft > 0 && n_fft <= length, RuntimeError, call(), "0 < n_fft < ", length,
           ", but got n_fft=", win);
  MT_CHECK(hop > 0, RuntimeError, call(), "hop_length > 0, but got hop_length=", hop);
  MT_CHECK(win > 0 && win <= n_fft, RuntimeError, call(),
           "0 < win_length <= n_fft, but got win_length=", win);
  MT_CHECK(!window.defined() || (window.dim() == 1 && window.size(0) == win), RuntimeError, call(),
           "a 1D window tensor of size equal to win_length=", win, ", but got window with size ",
           to_string(window.defined() ? IntList(window.sizes()) : IntList()));

  Tensor factors = window;
  if (!window.defined() && win < n_fft) factors = ones({win}, self.dtype(), self.device());
  if (factors.defined()) factors = centered(factors, win, n_fft);
  Tensor input = self.dim() == 1 ? unsqueeze(self, 0) : self;
  if (align_to_window.value_or(false)) {  // every place of the window, not of all n_fft
    const int64_t left = (n_fft - win) / 2;
    input = constant_pad_nd(input, {left, n_fft - win - left}, Scalar(0));
  }
  Tensor frames = unfold(input, 1, n_fft, hop);
  if (factors.defined()) frames = mul(frames, factors);
  const bool complex_frames = is_complex(frames.dtype());
  const bool half = onesided.value_or(!complex_frames);
  MT_CHECK(!(half && complex_frames), RuntimeError,
           "Cannot have onesided output if window or input is complex");
  const int64_t mode = normalized ? kByRoot : kNone;
  Tensor spectra =
      complex_frames ? _fft_c2c(frames, {2}, mode, true) : _fft_r2c(frames, {2}, mode, half);
  spectra = transpose(spectra, 1, 2);
  if (self.dim() == 1) spectra = squeeze(spectra, 0);
  return return_complex.value_or(of_complex) ? spectra : view_as_real(spectra);
}

// Frames [channels, count, size] that begin `hop` apart, added up: [channels, size + (count - 1) *
// hop]. In blocks of `hop`, of which a frame has `parts`.
Tensor overlapped(const Tensor& frames, int64_t hop) {
  const int64_t channels = frames.size(0);
  const int64_t count = frames.size(1);
  const int64_t size = frames.size(2);
  const int64_t parts = (size + hop - 1) / hop;
  const Tensor whole =
      parts * hop == size ? frames : constant_pad_nd(frames, {0, parts * hop - size}, Scalar(0));
  const Tensor blocks = reshape(whole, {channels, count, parts, hop});
  Tensor sum;
  for (int64_t i = 0; i < parts; ++i) {
    const Tensor placed =
        constant_pad_nd(select(blocks, 2, i), {0, 0, i, parts - 1 - i}, Scalar(0));
    sum = sum.defined() ? add(sum, placed) : placed;
  }
  const Tensor flat = reshape(sum, {channels, (count + parts - 1) * hop});
  return narrow(flat, 1, 0, size + (count - 1) * hop);
}

// The elements [begin, end) of a signal as far as it goes.
Tensor cut(const Tensor& signal, int64_t begin, int64_t end) {
  const int64_t length = signal.size(1);
  begin = std::min(begin, length);
  return narrow(signal, 1, begin, std::max<int64_t>(std::min(end, length) - begin, 0));
}

Tensor istft(const Tensor& self,
             int64_t n_fft,
             MaybeInt hop_length,
             MaybeInt win_length,
             const Tensor& window,
             bool center,
             bool normalized,
             MaybeBool onesided,
             MaybeInt length,
             bool return_complex) {
  static std::atomic_flag without_window, too_short;
  if (!window.defined()) {
    warn_once(without_window,
              "A window was not provided. A rectangular window will be applied.Please provide the "
              "same window used by stft to make the inversion lossless.To suppress this warning "
              "and use a rectangular window, explicitly set `window=torch.ones(n_fft, "
              "device=<device>)`.");
  }
  check_same_device("istft", self, window);
  const int64_t hop = hop_length.value_or(n_fft >> 2);
  const int64_t win = win_length.value_or(n_fft);
  MT_CHECK(is_complex(self.dtype()), RuntimeError,
           "istft requires a complex-valued input tensor matching the output from stft with "
           "return_complex=True.");
  MT_CHECK(self.dim() >= 2, IndexError, "Dimension out of range (expected to be in range of [-",
           self.dim() + 1, ", ", self.dim(), "], but got -3)");
  const auto call = [&] {
    std::ostringstream text;
    text << "istft(" << (self.device().is_cpu() ? "CPU" : "") << legacy_name(self.dtype()) << "Type"
         << to_string(self.sizes()) << ", n_fft=" << n_fft << ", hop_length=" << hop
         << ", win_length=" << win << ", window=" << written_window(window) << ", center=" << center
         << ", normalized=" << normalized << ", onesided=" << written(onesided)
         << ", length=" << written(length) << ", return_complex=" << return_complex << ") ";
    return text.str();
  };
  const int64_t count = self.size(-1);
  const int64_t size = self.size(-2);
  MT_CHECK(self.numel() > 0, RuntimeError, call(), ": input tensor cannot be empty.");
  MT_CHECK(self.dim() <= 3, RuntimeError, call(),
           ": expected a tensor with 3 or 4 dimensions, but got ", self.dim() + 1);
  const bool half = onesided.value_or(size != n_fft);
  MT_CHECK(
      size == (half ? n_fft / 2 + 1 : n_fft), RuntimeError, call(),
      ": expected the frequency dimension (3rd to the last) of the input tensor to match n_fft",
      half ? " / 2 + 1" : "", " when onesided=", half ? "True" : "False", ", but got ", size);
  MT_CHECK(hop > 0 && hop <= win, RuntimeError, call(), ": expected 0 < hop_length <= win_length");
  MT_CHECK(win > 0 && win <= n_fft, RuntimeError, call(), ": expected 0 < win_length <= n_fft");
  MT_CHECK(!window.defined() || (window.dim() == 1 && window.size(0) == win), RuntimeError, call(),
           ": Invalid window shape. window has to be 1D and length of `win_length`");

  const DType part = real_dtype(self.dtype());
  const Tensor factors =
      centered(window.defined() ? window : ones({win}, part, self.device()), win, n_fft);
  const Tensor spectra = transpose(self.dim() == 2 ? unsqueeze(self, 0) : self, 1, 2);
  const int64_t mode = normalized ? kByRoot : kByCount;
  Tensor frames;
  if (return_complex) {
    MT_CHECK(!half, RuntimeError, "Cannot have onesided output if window or input is complex");
    frames = _fft_c2c(spectra, {2}, mode, false);
  } else {
    MT_CHECK(!is_complex(factors.dtype()), RuntimeError,
             "Complex windows are incompatible with return_complex=False");
    frames = _fft_c2r(half ? spectra : narrow(spectra, 2, 0, n_fft / 2 + 1), {2}, mode, n_fft);
  }
  const Tensor sums = overlapped(mul(frames, factors), hop);
  const Tensor weights = overlapped(expand(mul(factors, factors), {int64_t{1}, count, n_fft}), hop);

  const int64_t whole = n_fft + hop * (count - 1);
  const int64_t begin = center ? n_fft / 2 : 0;
  const int64_t end = length ? begin + *length : whole - begin;
  const Tensor weight = cut(weights, begin, end);
  if (!weight.device().is_meta()) {
    MT_CHECK(!item(lt(min(abs(weight)), Scalar(1e-11))).to_bool(), RuntimeError, call(),
             "window overlap add min: 1\n[ CPUBoolType{} ]");
  }
  Tensor signal = div(cut(sums, begin, end), weight);
  if (self.dim() == 2) signal = squeeze(signal, 0);
  if (end > whole) {
    warn_once(too_short,
              "The length of signal is shorter than the length parameter. Result is being padded "
              "with zeros in the tail. Please check your center and hop_length settings.");
    signal = constant_pad_nd(signal, {0, end - whole}, Scalar(0));
  }
  return signal;
}

}  // namespace

void compose_stft(ops::Registry& registry) {
  registry.composite<stft>("_stft");
  registry.composite<istft>("istft");
}

}  // namespace mindtorch::functional
