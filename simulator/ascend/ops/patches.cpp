// Patches of images as columns, and channels in another order.
#include <cstring>

#include "simulator/ascend/ops/indexing.h"
#include "simulator/ascend/ops/values.h"

using namespace sim;

namespace {

struct Patches {
  std::array<int64_t, 2> kernel;
  std::array<int64_t, 2> dilation;
  std::array<int64_t, 2> padding;
  std::array<int64_t, 2> stride;
  std::array<int64_t, 2> out{};
};

std::array<int64_t, 2> pair_of(Planner& p, const aclIntArray* array, const char* name) {
  const std::vector<int64_t> list = p.array(array, name);
  p.check(list.size() == 2, std::string(name) + " must have two values");
  check_reasonable(p, list, name);
  return {list[0], list[1]};
}

Patches patches_of(Planner& p,
                   const Shape& image,
                   const aclIntArray* kernel,
                   const aclIntArray* dilation,
                   const aclIntArray* padding,
                   const aclIntArray* stride) {
  Patches w{pair_of(p, kernel, "kernelSize"), pair_of(p, dilation, "dilation"),
            pair_of(p, padding, "padding"), pair_of(p, stride, "stride")};
  for (size_t d = 0; d < 2; ++d) {
    p.check(w.kernel[d] > 0 && w.dilation[d] > 0 && w.stride[d] > 0 && w.padding[d] >= 0,
            "kernelSize, dilation and stride must be positive");
    const int64_t span = narrow(Wide{image[image.size() - 2 + d]} + 2 * w.padding[d] -
                                Wide{w.dilation[d]} * (w.kernel[d] - 1) - 1);
    p.check(span >= 0, "kernelSize is larger than the image");
    w.out[d] = span / w.stride[d] + 1;
  }
  return w;
}

// Calls f(place among the columns, place in the image or -1) over all images.
template <class F>
void for_patches(const Patches& w, const Shape& image, F f) {
  const int64_t height = image[image.size() - 2];
  const int64_t width = image.back();
  const int64_t images = count(image) / (height * width);
  int64_t at = 0;
  for (int64_t n = 0; n < images; ++n) {
    for (int64_t tap = 0; tap < w.kernel[0] * w.kernel[1]; ++tap) {
      for (int64_t place = 0; place < w.out[0] * w.out[1]; ++place, ++at) {
        const int64_t row =
            place / w.out[1] * w.stride[0] - w.padding[0] + tap / w.kernel[1] * w.dilation[0];
        const int64_t column =
            place % w.out[1] * w.stride[1] - w.padding[1] + tap % w.kernel[1] * w.dilation[1];
        const bool inside = row >= 0 && row < height && column >= 0 && column < width;
        f(at, inside ? (n * height + row) * width + column : -1);
      }
    }
  }
}

Shape column_shape(const Patches& w, const Shape& image) {
  Shape shape(image.begin(), image.end() - 2);
  shape.back() = count({shape.back(), w.kernel[0], w.kernel[1]});
  shape.push_back(count({w.out[0], w.out[1]}));
  return shape;
}

}  // namespace

extern "C" {

SIM_SIGNATURE(Im2col,
              const aclTensor* self,
              const aclIntArray* kernelSize,
              const aclIntArray* dilation,
              const aclIntArray* padding,
              const aclIntArray* stride,
              const aclTensor* out) {
  return plan("aclnnIm2col", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    p.check_rank(in, 3, 4);
    const Patches w = patches_of(p, in.shape(), kernelSize, dilation, padding, stride);
    const Operand target = p.output(out, "out", kAny);
    p.check(target.dtype() == in.dtype(), "out must have the dtype of self");
    p.check_shape(target, column_shape(w, in.shape()));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& from = get(launch, in);
      Cursor cursor(get(launch, target));
      const auto item = z(from.item());
      for_patches(w, from.shape, [&](int64_t, int64_t place) {
        if (place < 0) {
          std::memset(cursor.get(), 0, item);
        } else {
          std::memcpy(cursor.get(), from.data + place * from.item(), item);
        }
        cursor.next();
      });
    });
  });
}
SIM_SIGNATURE(Im2colBackward,
              const aclTensor* gradOutput,
              const aclIntArray* inputSize,
              const aclIntArray* kernelSize,
              const aclIntArray* dilation,
              const aclIntArray* padding,
              const aclIntArray* stride,
              aclTensor* out) {
  return plan("aclnnIm2colBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOutput, "gradOutput", kF);
    const auto size = pair_of(p, inputSize, "inputSize");
    const Operand target = p.output(out, "out", kF);
    p.check_rank(target, 3, 4);
    const Shape& image = target.shape();
    p.check(image[image.size() - 2] == size[0] && image.back() == size[1],
            "out has not the size inputSize");
    const Patches w = patches_of(p, image, kernelSize, dilation, padding, stride);
    p.check_shape(g, column_shape(w, image));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto columns = load_all<float>(get(launch, g));
      std::vector<float> sums(z(target.numel()));
      for_patches(w, target.shape(), [&](int64_t at, int64_t place) {
        if (place >= 0) sums[z(place)] += columns[z(at)];
      });
      store_all(get(launch, target), sums);
    });
  });
}

SIM_SIGNATURE(ChannelShuffle, const aclTensor* self, int64_t groups, aclTensor* out) {
  return plan("aclnnChannelShuffle", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAll);
    const Operand target = p.output(out, "out", kAll);
    p.check_rank(in, 3, 7);
    p.check(groups > 0 && in.shape()[1] % groups == 0,
            "groups is " + std::to_string(groups) + ", which does not divide the channels");
    p.check(target.dtype() == in.dtype(), "out must have the dtype of self");
    p.check_shape(target, in.shape());
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& from = get(launch, in);
      const int64_t channels = from.size(1);
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t source = c % groups * (channels / groups) + c / groups;
        copy_elements(get(launch, target).slice(1, c, 1), from.slice(1, source, 1));
      }
    });
  });
}
}
