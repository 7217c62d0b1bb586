// Patches of images as columns, and images sampled along a grid.
#include <cstring>

#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

size_t z(int64_t value) { return static_cast<size_t>(value); }

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
    const int64_t span =
        image[image.size() - 2 + d] + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
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
  shape.back() *= w.kernel[0] * w.kernel[1];
  shape.push_back(w.out[0] * w.out[1]);
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
    const Operand in = p.input(self, "self", kAll);
    p.check_rank(in, 3, 4);
    const Patches w = patches_of(p, in.shape(), kernelSize, dilation, padding, stride);
    const Operand target = p.output(out, "out", kAll);
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

SIM_SIGNATURE(GridSampler2D,
              const aclTensor* input,
              const aclTensor* grid,
              int64_t interpolationMode,
              int64_t paddingMode,
              bool alignCorners,
              aclTensor* out) {
  return plan("aclnnGridSampler2D", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(input, "input", kF | kF64);
    const Operand where = p.input(grid, "grid", kF | kF64);
    const Operand target = p.output(out, "out", kF | kF64);
    p.check_rank(in, 4, 4);
    p.check_rank(where, 4, 4);
    p.check(interpolationMode == 0 || interpolationMode == 1,
            "interpolationMode is " + std::to_string(interpolationMode) +
                ", simulated are 0 (bilinear) and 1 (nearest)");
    p.check(paddingMode == 0 || paddingMode == 1, "paddingMode is " + std::to_string(paddingMode) +
                                                      ", simulated are 0 (zeros) and 1 (border)");
    const Shape& a = in.shape();
    const Shape& b = where.shape();
    p.check(b[0] == a[0] && b[3] == 2, "grid must have the shape [batch, height, width, 2]");
    p.check_shape(target, {a[0], a[1], b[1], b[2]});
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto image = load_all<float>(get(launch, in));
      const auto points = load_all<float>(get(launch, where));
      const Shape shape = in.shape();
      const int64_t places = where.shape()[1] * where.shape()[2];
      const auto unmap = [&](float at, int64_t size) {
        const auto n = static_cast<float>(size);
        float place = alignCorners ? (at + 1) / 2 * (n - 1) : ((at + 1) * n - 1) / 2;
        if (paddingMode == 1) place = std::clamp(place, 0.0F, n - 1);
        return place;
      };
      std::vector<float> result(z(target.numel()));
      for (int64_t n = 0; n < shape[0]; ++n) {
        for (int64_t i = 0; i < places; ++i) {
          const float x = unmap(points[z((n * places + i) * 2)], shape[3]);
          const float y = unmap(points[z((n * places + i) * 2 + 1)], shape[2]);
          for (int64_t c = 0; c < shape[1]; ++c) {
            const auto pixel = [&](float row, float column) {
              const auto r = static_cast<int64_t>(row);
              const auto k = static_cast<int64_t>(column);
              if (row < 0 || column < 0 || r >= shape[2] || k >= shape[3]) return 0.0F;
              return image[z(((n * shape[1] + c) * shape[2] + r) * shape[3] + k)];
            };
            float value = 0;
            if (interpolationMode == 1) {
              value = pixel(std::nearbyint(y), std::nearbyint(x));
            } else {
              const float top = std::floor(y);
              const float left = std::floor(x);
              const float v = y - top;
              const float h = x - left;
              value = pixel(top, left) * (1 - v) * (1 - h) + pixel(top, left + 1) * (1 - v) * h +
                      pixel(top + 1, left) * v * (1 - h) + pixel(top + 1, left + 1) * v * h;
            }
            result[z((n * shape[1] + c) * places + i)] = value;
          }
        }
      }
      store_all(get(launch, target), result);
    });
  });
}
}
