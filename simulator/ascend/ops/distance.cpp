// Distances between two sets of points.
#include "simulator/ascend/ops/values.h"

using namespace sim;

namespace {

// The size of a difference in the norm of order p; -1 stands for infinity, as with CANN.
double norm_of(const std::vector<double>& gaps, double p) {
  double total = 0;
  for (const double gap : gaps) {
    const double size = std::abs(gap);
    if (std::isinf(p) || p < 0) {
      total = std::isnan(size) ? size : std::max(total, size);
    } else if (p == 0) {
      total += size != 0 ? 1 : 0;
    } else {
      total += std::pow(size, p);
    }
  }
  return std::isinf(p) || p <= 0 ? total : std::pow(total, 1 / p);
}

// How the norm changes with one part of the difference.
double slope_of(double gap, double distance, double p) {
  const double sign = gap > 0 ? 1 : gap < 0 ? -1 : 0;
  if (p == 0 || distance == 0) return 0;
  if (std::isinf(p) || p < 0) return std::abs(gap) == distance ? sign : 0;
  if (p == 1) return sign;
  return sign * std::pow(std::abs(gap) / distance, p - 1);
}

struct Points {
  Shape batch;
  int64_t rows = 0;  // of x1
  int64_t columns = 0;
  int64_t size = 0;
};

Points points_of(Planner& p, const Operand& x1, const Operand& x2) {
  p.check_rank(x1, 2, 8);
  p.check_rank(x2, 2, 8);
  const auto lead = [](const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); };
  Points points;
  points.batch = p.broadcast(lead(x1.shape()), lead(x2.shape()), "x1 and x2");
  points.rows = x1.shape()[z(x1.rank() - 2)];
  points.columns = x2.shape()[z(x2.rank() - 2)];
  points.size = x1.shape().back();
  p.check(x2.shape().back() == points.size, "x1 and x2 differ in the size of the last dim");
  return points;
}

Shape with_dims(Shape shape, int64_t a, int64_t b) {
  shape.insert(shape.end(), {a, b});
  return shape;
}

// Calls f(pair, first element of x1's row, of x2's) for all pairs, the batch broadcast.
template <class F>
void for_pairs(const Points& points, F f) {
  for (int64_t pair = 0; pair < count(points.batch) * points.rows * points.columns; ++pair) {
    const int64_t batch = pair / (points.rows * points.columns);
    const int64_t row = batch * points.rows + pair / points.columns % points.rows;
    const int64_t column = batch * points.columns + pair % points.columns;
    f(z(pair), z(row * points.size), z(column * points.size));
  }
}

struct Both {
  std::vector<double> x1, x2;
};

Both load_points(const Launch& launch, const Points& points, const Operand& x1, const Operand& x2) {
  const Shape first = with_dims(points.batch, points.rows, points.size);
  const Shape second = with_dims(points.batch, points.columns, points.size);
  return {load_all<double>(get(launch, x1).expand(first)),
          load_all<double>(get(launch, x2).expand(second))};
}

std::vector<double> gaps_of(const Both& both, size_t a, size_t b, int64_t size) {
  std::vector<double> gaps(z(size));
  for (size_t k = 0; k < gaps.size(); ++k) gaps[k] = both.x1[a + k] - both.x2[b + k];
  return gaps;
}

}  // namespace

extern "C" {

SIM_SIGNATURE(Cdist,
              const aclTensor* x1,
              const aclTensor* x2,
              float order,
              int64_t compute_mode,
              aclTensor* out) {
  return plan("aclnnCdist", workspaceSize, executor, [&](Planner& p) {
    const Operand a = p.input(x1, "x1", kF);
    const Operand b = p.input(x2, "x2", kF);
    const Operand target = p.output(out, "out", kF);
    const Points points = points_of(p, a, b);
    p.check(order >= 0 || order == -1, "p is negative");
    p.check(compute_mode >= 0 && compute_mode <= 2, "compute_mode is not one of 0 to 2");
    p.check(a.dtype() == b.dtype() && a.dtype() == target.dtype(),
            "x1, x2 and out differ in dtype");
    p.check_shape(target, with_dims(points.batch, points.rows, points.columns));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Both both = load_points(launch, points, a, b);
      std::vector<double> result(z(target.numel()));
      for_pairs(points, [&](size_t pair, size_t i, size_t j) {
        result[pair] = norm_of(gaps_of(both, i, j, points.size), double{order});
      });
      store_all(get(launch, target), result);
    });
  });
}

// Of x1 alone: the caller asks again, with the tensors changed round, for x2's.
SIM_SIGNATURE(CdistBackward,
              const aclTensor* grad,
              const aclTensor* x1,
              const aclTensor* x2,
              const aclTensor* cdist,
              float order,
              aclTensor* out) {
  return plan("aclnnCdistBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "grad", kF);
    const Operand a = p.input(x1, "x1", kF);
    const Operand b = p.input(x2, "x2", kF);
    const Operand distances = p.input(cdist, "cdist", kF);
    const Operand target = p.output(out, "out", kF);
    const Points points = points_of(p, a, b);
    const Shape pairs = with_dims(points.batch, points.rows, points.columns);
    p.check_shape(g, pairs);
    p.check_shape(distances, pairs);
    p.check_shape(target, with_dims(points.batch, points.rows, points.size));
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Both both = load_points(launch, points, a, b);
      const auto gradients = load_all<double>(get(launch, g));
      const auto sizes = load_all<double>(get(launch, distances));
      std::vector<double> result(z(target.numel()));
      for_pairs(points, [&](size_t pair, size_t i, size_t j) {
        const auto gaps = gaps_of(both, i, j, points.size);
        const bool largest = std::isinf(order) || order < 0;  // found again, without rounding
        const double size = largest ? norm_of(gaps, double{order}) : sizes[pair];
        for (size_t k = 0; k < gaps.size(); ++k) {
          result[i + k] += gradients[pair] * slope_of(gaps[k], size, double{order});
        }
      });
      store_all(get(launch, target), result);
    });
  });
}
}
