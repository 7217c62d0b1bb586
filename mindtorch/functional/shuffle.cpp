// Channels that trade places with each other, or with pixels.
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

// (N, C, H, W) of (*, C, H, W).
struct ImageSizes {
  explicit ImageSizes(const Tensor& self)
      : batch(IntList(self.sizes()).first(self.sizes().size() - 3)),
        count(numel(batch)),
        channels(self.size(-3)),
        height(self.size(-2)),
        width(self.size(-1)) {}

  Shape with(int64_t c, int64_t h, int64_t w) const {
    Shape sizes(batch);
    for (const int64_t size : {c, h, w}) sizes.push_back(size);
    return sizes;
  }

  IntList batch;
  int64_t count, channels, height, width;
};

void check_image(const char* name, const Tensor& self, const char* kind, int64_t factor) {
  MT_CHECK(self.dim() >= 3, RuntimeError, name,
           " expects input to have at least 3 dimensions, but got input with ", self.dim(),
           " dimension(s)");
  MT_CHECK(factor > 0, RuntimeError, name, " expects a positive ", kind, "_factor, but got ",
           factor);
  int64_t square = 0;
  MT_CHECK(!__builtin_mul_overflow(factor, factor, &square), ValueError, kind,
           " factor is too large, (", kind, "_factor)^2 overflowed: ", kind, "_factor=", factor);
}

Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor) {
  check_image("pixel_shuffle", self, "upscale", upscale_factor);
  const int64_t r = upscale_factor;
  const ImageSizes image(self);
  MT_CHECK(image.channels % (r * r) == 0, RuntimeError,
           "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
           "upscale_factor, but input.size(-3)=",
           image.channels, " is not divisible by ", r * r);
  const int64_t c = image.channels / (r * r);
  const Tensor blocks = reshape(self, {image.count, c, r, r, image.height, image.width});
  const Tensor placed = clone(permute(blocks, {0, 1, 4, 2, 5, 3}), MemoryFormat::kContiguous);
  return view(placed, image.with(c, image.height * r, image.width * r));
}

Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor) {
  check_image("pixel_unshuffle", self, "downscale", downscale_factor);
  const int64_t r = downscale_factor;
  const ImageSizes image(self);
  const auto check = [&](const char* name, int dim, int64_t size) {
    MT_CHECK(size % r == 0, RuntimeError, "pixel_unshuffle expects ", name,
             " to be divisible by downscale_factor, but input.size(", dim, ")=", size,
             " is not divisible by ", r);
  };
  check("height", -2, image.height);
  check("width", -1, image.width);
  if (self.numel() == 0) return clone(self);  // torch leaves the shape, too
  const int64_t h = image.height / r;
  const int64_t w = image.width / r;
  const Tensor blocks = reshape(self, {image.count, image.channels, h, r, w, r});
  const Tensor placed = clone(permute(blocks, {0, 1, 3, 5, 2, 4}), MemoryFormat::kContiguous);
  return view(placed, image.with(image.channels * r * r, h, w));
}

Tensor channel_shuffle(const Tensor& self, int64_t groups) {
  MT_CHECK(self.dim() >= 3, RuntimeError,
           "channel_shuffle expects input with > 2 dims, but got input with sizes ",
           to_string(self.sizes()));
  MT_CHECK(groups > 0, RuntimeError,
           "Number of groups to divide channels in must be positive. Value of groups:", groups);
  const int64_t channels = self.size(1);
  MT_CHECK(channels % groups == 0, RuntimeError,
           "Number of channels must be divisible by groups. Got ", channels, " channels and ",
           groups, " groups.");
  Shape grouped = self.sizes();
  grouped[1] = channels / groups;
  grouped.insert(grouped.begin() + 1, groups);
  return reshape(transpose(reshape(self, grouped), 1, 2), self.sizes());
}

}  // namespace

void compose_shuffle(ops::Registry& registry) {
  registry.composite<pixel_shuffle>("pixel_shuffle");
  registry.composite<pixel_unshuffle>("pixel_unshuffle");
  registry.composite<channel_shuffle>("channel_shuffle");
}

}  // namespace mindtorch::functional
