// Ops by name on boxes: how far they overlap, and what lies between an anchor and its box.
#include "simulator/ascend/aclop/tables.h"
#include "simulator/ascend/ops/values.h"

using namespace sim;

namespace {

struct Box {
  double x1, y1, x2, y2;

  double width() const { return x2 - x1; }
  double height() const { return y2 - y1; }
};

double overlap(const Box& a, const Box& b) {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  return std::max(width, 0.0) * std::max(height, 0.0);
}

// The smallest box around both.
Box hull(const Box& a, const Box& b) {
  return {std::min(a.x1, b.x1), std::min(a.y1, b.y1), std::max(a.x2, b.x2), std::max(a.y2, b.y2)};
}

// Boxes whose four numbers lie `apart` elements from each other, the boxes `step` elements.
Box box_at(const Values& values, size_t i, size_t apart, size_t step, bool centred) {
  const auto number = [&](size_t k) { return double{values[i * step + k * apart]}; };
  if (!centred) return {number(0), number(1), number(2), number(3)};
  return {number(0) - number(2) / 2, number(1) - number(3) / 2, number(0) + number(2) / 2,
          number(1) + number(3) / 2};
}

using Score = double (*)(const Box& box, const Box& truth, bool of_truth);

double generalized(const Box& box, const Box& truth, bool of_truth) {
  constexpr double kLeast = 1e-16;
  const double shared = overlap(box, truth);
  const double own = truth.width() * truth.height();
  const double both = box.width() * box.height() + own - shared + kLeast;
  const Box outer = hull(box, truth);
  const double around = outer.width() * outer.height();
  return shared / (of_truth ? own + kLeast : both) - (around - both) / around;
}

double by_distance(const Box& box, const Box& truth, bool of_truth) {
  constexpr double kLeast = 1e-9;
  const double shared = overlap(box, truth);
  const double own = truth.width() * (truth.height() + kLeast);
  const double both = box.width() * (box.height() + kLeast) + own - shared + kLeast;
  const Box outer = hull(box, truth);
  const double diagonal = outer.width() * outer.width() + outer.height() * outer.height() + kLeast;
  const double x = truth.x1 + truth.x2 - box.x1 - box.x2;
  const double y = truth.y1 + truth.y2 - box.y1 - box.y2;
  return shared / (of_truth ? own + kLeast : both) - (x * x + y * y) / 4 / diagonal;
}

// Of boxes [4, n] and [4, m]: of each pair [n, m], or of those with the same number [1, n].
template <Score score>
aclnnStatus score_pairs(Arguments& call) {
  const bool crossed = call.integer("is_cross", 1) != 0;
  const bool centred = call.integer("trans", 0) != 0;
  const bool of_truth = call.text("mode", "iou") == "iof";
  return plan("boxes", call.size(), call.executor(), [&](Planner& p) {
    const Operand boxes = p.input(call.input(0), "bboxes", kF32 | kF16);
    const Operand truths = p.input(call.input(1), "gtboxes", kF32 | kF16);
    const Operand out = p.output(call.output(0), "overlap", kF32 | kF16);
    for (const Operand& operand : {boxes, truths}) {
      p.check_rank(operand, 2, 2);
      p.check(operand.shape()[0] == 4, p.name(operand) + " must have four rows");
    }
    const int64_t n = boxes.shape()[1];
    const int64_t m = truths.shape()[1];
    p.check(crossed || n == m, "bboxes and gtboxes differ in number");
    p.check_shape(out, crossed ? Shape{n, m} : Shape{1, n});
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values a = values(launch, boxes);
      const Values b = values(launch, truths);
      std::vector<double> result;
      for (size_t i = 0; i < z(n); ++i) {
        for (size_t j = crossed ? 0 : i; j < (crossed ? z(m) : i + 1); ++j) {
          result.push_back(
              score(box_at(a, i, z(n), 1, centred), box_at(b, j, z(m), 1, centred), of_truth));
        }
      }
      store_all(get(launch, out), result);
    });
  });
}

// Of boxes [n, 4] and [m, 4], as [m, n]; eps makes every side longer.
aclnnStatus iou(Arguments& call) {
  const double longer = call.real("eps", 1);
  const bool of_truth = call.text("mode", "iou") == "iof";
  return plan("Iou", call.size(), call.executor(), [&](Planner& p) {
    const Operand boxes = p.input(call.input(0), "bboxes", kF32 | kF16);
    const Operand truths = p.input(call.input(1), "gtboxes", kF32 | kF16);
    const Operand out = p.output(call.output(0), "overlap", kF32 | kF16);
    for (const Operand& operand : {boxes, truths}) {
      p.check_rank(operand, 2, 2);
      p.check(operand.shape()[1] == 4, p.name(operand) + " must have four columns");
    }
    const int64_t n = boxes.shape()[0];
    p.check_shape(out, {truths.shape()[0], n});
    if (out.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values a = values(launch, boxes);
      const Values b = values(launch, truths);
      const auto area = [&](const Box& box) {
        return (box.width() + longer) * (box.height() + longer);
      };
      std::vector<double> result(z(out.numel()));
      for (size_t i = 0; i < result.size(); ++i) {
        const Box box = box_at(a, i % z(n), 1, 4, false);
        const Box truth = box_at(b, i / z(n), 1, 4, false);
        const double shared = overlap(box, truth);
        result[i] = shared / (area(truth) + (of_truth ? 0 : area(box) - shared));
      }
      store_all(get(launch, out), result);
    });
  });
}

// How the ends of the regions are meant; two ways of four are simulated.
bool is_aligned(Arguments& call) {
  const int64_t mode = call.integer("roi_end_mode", 1);
  if (mode == 0 || mode == 2) return mode == 2;
  throw Rejected{kInvalid, "roi_end_mode " + std::to_string(mode) + " is not simulated"};
}

aclnnStatus roi_align(Arguments& call) {
  return aclnnRoiAlignV2GetWorkspaceSize(
      call.input(0), call.input(1), call.integer("pooled_height", 1),
      call.integer("pooled_width", 1), static_cast<float>(call.real("spatial_scale", 1)),
      call.integer("sample_num", 2), is_aligned(call), call.output(0), call.size(),
      call.executor());
}
aclnnStatus roi_align_backward(Arguments& call) {
  return aclnnRoiAlignV2BackwardGetWorkspaceSize(
      call.input(0), call.input(1), call.array(call.integers("xdiff_shape")),
      call.integer("pooled_height", 1), call.integer("pooled_width", 1),
      static_cast<float>(call.real("spatial_scale", 1)), call.integer("sample_num", 2),
      is_aligned(call), call.output(0), call.size(), call.executor());
}

constexpr NamedOp kBoxes[] = {
    {"DIoU", score_pairs<by_distance>},
    {"GIoU", score_pairs<generalized>},
    {"Iou", iou},
    {"ROIAlign", roi_align},
    {"ROIAlignGrad", roi_align_backward},
};

}  // namespace

std::span<const NamedOp> sim::named_boxes() { return kBoxes; }
