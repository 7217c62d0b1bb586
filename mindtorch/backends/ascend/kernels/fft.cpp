// What CANN has of Fourier transforms: real lines of float32 to half spectra, along one dim.
#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/tensor/complex_view.h"

namespace mindtorch::ascend {
namespace {

void r2c(ops::Launch& on,
         const Tensor& self,
         IntList dim,
         int64_t normalization,
         bool onesided,
         Tensor& out) {
  constexpr int64_t kMostElements = 262144;  // of a line
  constexpr int64_t kNorms[] = {1, 3, 2};    // CANN's numbers for none, by the root, by the count
  const auto refuse_for = [&](const char* reason) { refuse(on, "_fft_r2c", self.dtype(), reason); };
  if (dim.size() != 1) refuse_for("CANN's op takes one dim");
  if (!onesided) refuse_for("CANN's op gives half of the spectrum");
  const int64_t length = self.size(dim[0]);
  if (length > kMostElements) refuse_for("CANN's op takes lines of up to 262144 elements");
  if (out.numel() == 0) return;
  call(on, MT_ACLNN(aclRfft1D), self, length, dim[0], kNorms[static_cast<size_t>(normalization)],
       parts_of(out));
}

}  // namespace

void register_fft(ops::Registry& registry) {
  registry.kernel<r2c>(DeviceType::kNpu, "_fft_r2c").takes(bit(DType::kFloat32), kComplex);
}

}  // namespace mindtorch::ascend
