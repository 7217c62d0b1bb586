// Regions of images: pooling them with its gradient, how far boxes overlap, and the best of them.
#include <numeric>

#include "simulator/ascend/ops/windows.h"

using namespace sim;

namespace {

constexpr int64_t kMostSamples = 4096;  // along each side of a cell

struct Roi {
  int64_t height;
  int64_t width;
  int64_t ratio;  // samples along each side of a cell; 0: as many as its size
  float scale;
  bool aligned;
};

// One sample: four places and their weights.
struct Sample {
  std::array<int64_t, 4> places;
  std::array<float, 4> weights;
};

// A point up to one place outside counts as its nearest place, beyond that as nothing.
Sample sample_at(float y, float x, int64_t height, int64_t width) {
  if (y < -1 || y > static_cast<float>(height) || x < -1 || x > static_cast<float>(width)) {
    return {{0, 0, 0, 0}, {0, 0, 0, 0}};
  }
  const auto split = [](float at, int64_t size, int64_t* low, int64_t* high) {
    at = std::clamp(at, 0.0F, static_cast<float>(size - 1));
    *low = static_cast<int64_t>(at);
    *high = std::min(*low + 1, size - 1);
    return at - static_cast<float>(*low);
  };
  int64_t top = 0;
  int64_t bottom = 0;
  int64_t left = 0;
  int64_t right = 0;
  const float v = split(y, height, &top, &bottom);
  const float h = split(x, width, &left, &right);
  return {{top * width + left, top * width + right, bottom * width + left, bottom * width + right},
          {(1 - v) * (1 - h), (1 - v) * h, v * (1 - h), v * h}};
}

// Calls f(cell, samples) for each cell of the box (x1, y1, x2, y2).
template <class F>
void for_cells(const float* box, const Roi& roi, int64_t height, int64_t width, F f) {
  const float shift = roi.aligned ? 0.5F : 0;
  const float left = box[0] * roi.scale - shift;
  const float top = box[1] * roi.scale - shift;
  float wide = box[2] * roi.scale - shift - left;
  float high = box[3] * roi.scale - shift - top;
  if (!roi.aligned) {
    wide = std::max(wide, 1.0F);
    high = std::max(high, 1.0F);
  }
  const float cell_high = high / static_cast<float>(roi.height);
  const float cell_wide = wide / static_cast<float>(roi.width);
  const auto number = [&](float cell) {
    if (roi.ratio > 0) return roi.ratio;
    if (!(cell < static_cast<float>(kMostSamples))) {
      throw DeviceFault{507015, "a box is too large to be sampled"};
    }
    return static_cast<int64_t>(std::ceil(std::max(cell, 0.0F)));
  };
  const int64_t rows = number(cell_high);
  const int64_t columns = number(cell_wide);
  std::vector<Sample> samples;
  for (int64_t cell = 0; cell < roi.height * roi.width; ++cell) {
    samples.clear();
    for (int64_t i = 0; i < rows * columns; ++i) {
      const auto along = [](int64_t which, int64_t part, int64_t parts) {
        return static_cast<float>(which) +
               (static_cast<float>(part) + 0.5F) / static_cast<float>(parts);
      };
      const float y = top + along(cell / roi.width, i / columns, rows) * cell_high;
      const float x = left + along(cell % roi.width, i % columns, columns) * cell_wide;
      samples.push_back(sample_at(y, x, height, width));
    }
    f(cell, samples);
  }
}

int64_t check_batch(float index, int64_t batch) {
  if (index < 0 || index >= static_cast<float>(batch)) {
    throw DeviceFault{507015, "a box names an image that is not there"};
  }
  return static_cast<int64_t>(index);
}

float pooled(const std::vector<Sample>& samples, const float* image, bool largest) {
  float result = 0;
  bool first = true;
  for (const Sample& s : samples) {
    float value = 0;
    for (size_t k = 0; k < 4; ++k) {
      const float part = s.weights[k] * image[s.places[k]];
      value = largest ? (k == 0 ? part : std::max(value, part)) : value + part;
    }
    result = largest ? (first ? value : std::max(result, value)) : result + value;
    first = false;
  }
  return largest || samples.empty() ? result : result / static_cast<float>(samples.size());
}

// `boxes` holds [batch index, x1, y1, x2, y2], or the indices are apart.
void run_roi_align(Planner& p,
                   const Operand& in,
                   const Operand& boxes,
                   const Operand& indices,
                   const Roi& roi,
                   bool largest,
                   const Operand& target) {
  p.check(roi.height > 0 && roi.width > 0, "the pooled size must be positive");
  p.check(roi.ratio >= 0 && roi.ratio <= kMostSamples,
          "samplingRatio is " + std::to_string(roi.ratio) + ", expected is a value in [0, 4096]");
  const Shape& shape = in.shape();
  p.check_shape(target, {boxes.shape()[0], shape[1], roi.height, roi.width});
  if (target.numel() == 0) return;
  p.run([=](Launch& launch) {
    const Values x = values(launch, in);
    const Values all = values(launch, boxes);
    const Values which = values(launch, indices);
    const Shape& size = in.shape();
    const size_t width = z(boxes.shape()[1]);
    const int64_t cells = roi.height * roi.width;
    Values result(z(target.numel()));
    for (int64_t r = 0; r < boxes.shape()[0]; ++r) {
      const float* const box = all.data() + z(r) * width;
      const int64_t n = check_batch(indices ? which[z(r)] : box[0], size[0]);
      for_cells(box + width - 4, roi, size[2], size[3], [&](int64_t cell, const auto& samples) {
        for (int64_t c = 0; c < size[1]; ++c) {
          const float* const image = x.data() + (n * size[1] + c) * size[2] * size[3];
          result[z((r * size[1] + c) * cells + cell)] = pooled(samples, image, largest);
        }
      });
    }
    put(launch, target, result);
  });
}

struct Box {
  float x1, y1, x2, y2;
  float area() const { return (x2 - x1) * (y2 - y1); }
};
float intersection(const Box& a, const Box& b) {
  const float wide = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float high = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  return std::max(wide, 0.0F) * std::max(high, 0.0F);
}
Box box_at(const Values& boxes, size_t i) {
  return {boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2], boxes[4 * i + 3]};
}

// Corners in any order, or a centre with width and height.
Box corners_of(const Box& box, bool centre) {
  if (centre) {
    return {box.x1 - box.x2 / 2, box.y1 - box.y2 / 2, box.x1 + box.x2 / 2, box.y1 + box.y2 / 2};
  }
  return {std::min(box.x1, box.x2), std::min(box.y1, box.y2), std::max(box.x1, box.x2),
          std::max(box.y1, box.y2)};
}

// The numbers of the boxes that stay, best first.
std::vector<size_t> suppressed(
    const std::vector<Box>& boxes, const float* scores, int64_t most, float overlap, float least) {
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::vector<size_t> kept;
  for (const size_t i : order) {
    if (static_cast<int64_t>(kept.size()) == most || scores[i] <= least) break;
    const bool alone = std::all_of(kept.begin(), kept.end(), [&](size_t k) {
      const float both = intersection(boxes[i], boxes[k]);
      const float either = boxes[i].area() + boxes[k].area() - both;
      return both <= overlap * either;
    });
    if (alone) kept.push_back(i);
  }
  return kept;
}

}  // namespace

extern "C" {

SIM_SIGNATURE(RoiAlign,
              const aclTensor* self,
              const aclTensor* rois,
              const aclTensor* batchIndices,
              const char* mode,
              int outputHeight,
              int outputWidth,
              int samplingRatio,
              float spatialScale,
              aclTensor* out) {
  return plan("aclnnRoiAlign", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF32 | kF16);
    const Operand boxes = p.input(rois, "rois", kF32 | kF16);
    const Operand indices = p.input(batchIndices, "batchIndices", kIndex);
    const std::string how = p.text(mode, "mode");
    const Operand target = p.output(out, "out", kF32 | kF16);
    p.check(how == "avg" || how == "max", "mode is " + how + ", expected is avg or max");
    p.check_rank(in, 4, 4);
    p.check_rank(boxes, 2, 2);
    p.check(boxes.shape()[1] == 4, "rois must have the shape [number, 4]");
    p.check_shape(indices, {boxes.shape()[0]});
    run_roi_align(p, in, boxes, indices,
                  {outputHeight, outputWidth, samplingRatio, spatialScale, false}, how == "max",
                  target);
  });
}
SIM_SIGNATURE(RoiAlignV2,
              const aclTensor* self,
              const aclTensor* boxes,
              int64_t pooledHeight,
              int64_t pooledWidth,
              float spatialScale,
              int64_t samplingRatio,
              bool aligned,
              aclTensor* out) {
  return plan("aclnnRoiAlignV2", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF32 | kF16);
    const Operand all = p.input(boxes, "boxes", kF32 | kF16);
    const Operand target = p.output(out, "out", kF32 | kF16);
    p.check_rank(in, 4, 4);
    p.check_rank(all, 2, 2);
    p.check(all.shape()[1] == 5, "boxes must have the shape [number, 5]");
    run_roi_align(p, in, all, {}, {pooledHeight, pooledWidth, samplingRatio, spatialScale, aligned},
                  false, target);
  });
}
SIM_SIGNATURE(RoiAlignV2Backward,
              const aclTensor* gradOutput,
              const aclTensor* boxes,
              const aclIntArray* inputShape,
              int64_t pooledHeight,
              int64_t pooledWidth,
              float spatialScale,
              int64_t samplingRatio,
              bool aligned,
              aclTensor* gradInput) {
  return plan("aclnnRoiAlignV2Backward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(gradOutput, "gradOutput", kF32 | kF16);
    const Operand all = p.input(boxes, "boxes", kF32 | kF16);
    const Shape shape = p.array(inputShape, "inputShape");
    const Operand target = p.output(gradInput, "gradInput", kF32 | kF16);
    const Roi roi{pooledHeight, pooledWidth, samplingRatio, spatialScale, aligned};
    p.check(shape.size() == 4, "inputShape must have 4 values");
    p.check_rank(all, 2, 2);
    p.check(all.shape()[1] == 5, "boxes must have the shape [number, 5]");
    p.check(roi.height > 0 && roi.width > 0, "the pooled size must be positive");
    p.check_shape(g, {all.shape()[0], shape[1], roi.height, roi.width});
    p.check_shape(target, shape);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values grads = values(launch, g);
      const Values every = values(launch, all);
      const int64_t cells = roi.height * roi.width;
      Values result(z(target.numel()));
      for (int64_t r = 0; r < all.shape()[0]; ++r) {
        const float* const box = every.data() + 5 * r;
        const int64_t n = check_batch(box[0], shape[0]);
        for_cells(box + 1, roi, shape[2], shape[3], [&](int64_t cell, const auto& samples) {
          for (int64_t c = 0; c < shape[1]; ++c) {
            const float share = grads[z((r * shape[1] + c) * cells + cell)] /
                                static_cast<float>(std::max<size_t>(samples.size(), 1));
            float* const image = result.data() + (n * shape[1] + c) * shape[2] * shape[3];
            for (const Sample& s : samples) {
              for (size_t k = 0; k < 4; ++k) image[s.places[k]] += share * s.weights[k];
            }
          }
        });
      }
      put(launch, target, result);
    });
  });
}

SIM_SIGNATURE(Iou,
              const aclTensor* bBoxes,
              const aclTensor* gtBoxes,
              const char* mode,
              float eps,
              bool aligned,
              aclTensor* overlap) {
  return plan("aclnnIou", workspaceSize, executor, [&](Planner& p) {
    const Operand a = p.input(bBoxes, "bBoxes", kF);
    const Operand b = p.input(gtBoxes, "gtBoxes", kF);
    const std::string how = p.text(mode, "mode");
    const Operand target = p.output(overlap, "overlap", kF);
    p.check(how == "iou" || how == "iof", "mode is " + how + ", expected is iou or iof");
    for (const Operand& each : {a, b}) {
      p.check_rank(each, 2, 2);
      p.check(each.shape()[1] == 4, p.name(each) + " must have the shape [number, 4]");
    }
    if (aligned) p.check_shape(b, a.shape());
    p.check_shape(target, {a.shape()[0], aligned ? 1 : b.shape()[0]});
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values ours = values(launch, a);
      const Values theirs = values(launch, b);
      Values result(z(target.numel()));
      const size_t columns = z(target.shape()[1]);
      for (size_t i = 0; i < result.size(); ++i) {
        const Box first = box_at(ours, i / columns);
        const Box second = box_at(theirs, aligned ? i : i % columns);
        const float both = intersection(first, second);
        const float whole = how == "iof" ? second.area() : first.area() + second.area() - both;
        result[i] = both / (whole + eps);
      }
      put(launch, target, result);
    });
  });
}

SIM_SIGNATURE(NonMaxSuppression,
              const aclTensor* boxes,
              const aclTensor* scores,
              aclIntArray* maxOutputBoxesPerClass,
              aclFloatArray* iouThreshold,
              aclFloatArray* scoreThreshold,
              int32_t centerPointBox,
              aclTensor* selectedIndices) {
  return plan("aclnnNonMaxSuppression", workspaceSize, executor, [&](Planner& p) {
    const Operand all = p.input(boxes, "boxes", kF32 | kF16);
    const Operand marks = p.input(scores, "scores", kF32 | kF16);
    const std::vector<int64_t> most = p.array(maxOutputBoxesPerClass, "maxOutputBoxesPerClass");
    const std::vector<float> overlap = p.array(iouThreshold, "iouThreshold");
    const std::vector<float> least = p.array(scoreThreshold, "scoreThreshold");
    const Operand target = p.output(selectedIndices, "selectedIndices", kIndex);
    p.check(most.size() == 1 && overlap.size() == 1 && least.size() == 1,
            "maxOutputBoxesPerClass, iouThreshold and scoreThreshold must have one value");
    p.check(overlap[0] >= 0 && overlap[0] <= 1, "iouThreshold must be between 0 and 1");
    p.check(centerPointBox == 0 || centerPointBox == 1,
            "centerPointBox is " + std::to_string(centerPointBox) + ", expected is 0 or 1");
    p.check_rank(all, 3, 3);
    p.check_rank(marks, 3, 3);
    const Shape& shape = marks.shape();  // batch, classes, boxes
    p.check_shape(all, {shape[0], shape[2], 4});
    p.check_rank(target, 2, 2);
    p.check(target.shape()[1] == 3, "selectedIndices must have the shape [number, 3]");
    p.run([=](Launch& launch) {
      const Values corners = values(launch, all);
      const Values score = values(launch, marks);
      const Shape& size = marks.shape();
      const size_t number = z(size[2]);
      std::vector<int64_t> rows;
      for (size_t n = 0; n < z(size[0]); ++n) {
        std::vector<Box> own;
        for (size_t i = 0; i < number; ++i) {
          own.push_back(corners_of(box_at(corners, n * number + i), centerPointBox == 1));
        }
        for (size_t c = 0; c < z(size[1]); ++c) {
          const float* const line = score.data() + (n * z(size[1]) + c) * number;
          for (const size_t kept : suppressed(own, line, most[0], overlap[0], least[0])) {
            for (const size_t value : {n, c, kept}) rows.push_back(static_cast<int64_t>(value));
          }
        }
      }
      const int64_t found = std::min(static_cast<int64_t>(rows.size()) / 3, target.shape()[0]);
      rows.resize(z(found * 3));
      store_all(get(launch, target).slice(0, 0, found), rows);
      launch.set_shape(z(target.slot), {found, 3});
    });
  });
}
}
