// Sums of products over named dims, outer products, distances between rows, scaled rows.
#include <map>

#include "simulator/ascend/ops/indexing.h"
#include "simulator/ascend/ops/rows.h"

using namespace sim;

namespace {

constexpr Types kReal = kF | kI | kF64 | kBool;

// out = beta * self + alpha * vec1 vec2^T. A factor left out is 1.
aclnnStatus outer_sum(const char* op,
                      const aclTensor* self,
                      bool in_place,
                      const aclTensor* vec1,
                      const aclTensor* vec2,
                      const aclScalar* beta,
                      const aclScalar* alpha,
                      const aclTensor* out,
                      uint64_t* workspace_size,
                      aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand start = in_place ? p.inout(self, "selfRef", kReal) : p.input(self, "self", kReal);
    const Operand a = p.input(vec1, "vec1", kReal);
    const Operand b = p.input(vec2, "vec2", kReal);
    aclScalar one;
    one.dtype = ACL_BOOL;
    one.bytes[0] = 1;
    const aclScalar by = beta == nullptr ? one : p.scalar(beta, "betaOptional");
    const aclScalar times = alpha == nullptr ? one : p.scalar(alpha, "alphaOptional");
    const Operand target = in_place ? start : p.output(out, "out", kReal);
    p.check_rank(a, 1, 1);
    p.check_rank(b, 1, 1);
    const Shape shape{a.numel(), b.numel()};
    p.check_shape(target, p.broadcast(start.shape(), shape, "self and the product"));
    p.check_shape(target, shape);
    const DType compute = promote(p.promoted(a, b), start.dtype());
    p.check(compute != ACL_DT_UNDEFINED, "self, vec1 and vec2 have dtypes that do not promote");
    p.check_cast(compute, target);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      with_real(compute, [&](auto zero) {
        using C = decltype(zero);
        const C first = scalar_as<C>(by);
        const C second = scalar_as<C>(times);
        const auto f = [&](C x, C y, C z) {
          const C product = mul(second, mul(y, z));
          return first == C{} ? product : add(mul(first, x), product);
        };
        map_elements<C>(get(launch, target), f, get(launch, start), get(launch, a).unsqueeze(1),
                        get(launch, b));
      });
    });
  });
}

// An equation: the letters of each input's dims, then of the output's.
struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

Equation parse(Planner& p, const std::string& given) {
  std::string text;
  for (const char c : given) {
    if (c != ' ') text += c;
  }
  const size_t arrow = text.find("->");
  Equation result;
  std::map<char, int> times;
  std::string part;
  for (const char c : text.substr(0, arrow) + ",") {
    if (c == ',') {
      result.inputs.push_back(part);
      part.clear();
      continue;
    }
    p.check(std::isalpha(static_cast<unsigned char>(c)) != 0,
            "equation has the letter '" + std::string(1, c) + "', simulated are letters of dims");
    part += c;
    ++times[c];
  }
  if (arrow != std::string::npos) {
    result.output = text.substr(arrow + 2);
    for (const char c : result.output) {
      p.check(times.contains(c), "equation gives a dim to the output that no input has");
    }
  } else {
    for (const auto& [letter, n] : times) {
      if (n == 1) result.output += letter;
    }
  }
  return result;
}

// Rows whose norm is above the limit shrink to it.
struct Renorm {
  double order;
  double limit;

  template <class C>
  void operator()(std::vector<C>& row) const {
    double sum = 0;
    for (const C value : row) {
      const double size = std::abs(static_cast<double>(value));
      sum = std::isinf(order) ? std::max(sum, size)
            : order == 0      ? sum + (size != 0 ? 1 : 0)
                              : sum + std::pow(size, order);
    }
    if (!std::isinf(order) && order != 0) sum = std::pow(sum, 1 / order);
    if (sum <= limit) return;
    for (C& value : row) value = static_cast<C>(static_cast<double>(value) * limit / (sum + 1e-7));
  }
};

aclnnStatus renorm(const char* op,
                   const aclTensor* self,
                   bool in_place,
                   const aclScalar* order,
                   int64_t dim,
                   const aclScalar* limit,
                   const aclTensor* out,
                   uint64_t* workspace_size,
                   aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = in_place ? p.inout(self, "selfRef", kF) : p.input(self, "self", kF);
    const Renorm f{p.scalar(order, "p").real(), p.scalar(limit, "maxNorm").real()};
    const Operand target = in_place ? in : p.output(out, "out", kF);
    p.check(f.order >= 0, "p must not be negative");
    p.check(f.limit >= 0, "maxNorm is negative");
    p.check_rank(in, 2, 8);
    p.check_shape(target, in.shape());
    const int64_t at = p.dim(dim, in.rank(), "dim");
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      for (int64_t i = 0; i < in.shape()[static_cast<size_t>(at)]; ++i) {
        auto row = load_all<float>(get(launch, in).select(at, i));
        f(row);
        store_all(get(launch, target).select(at, i), row);
      }
    });
  });
}

double distance(const std::vector<double>& x, size_t a, size_t b, size_t size, double order) {
  double sum = 0;
  for (size_t k = 0; k < size; ++k) {
    const double gap = std::abs(x[a * size + k] - x[b * size + k]);
    if (std::isinf(order)) {
      sum = std::max(sum, gap);
    } else {
      sum += order == 0 ? (gap != 0 ? 1 : 0) : std::pow(gap, order);
    }
  }
  return order == 0 || std::isinf(order) ? sum : std::pow(sum, 1 / order);
}

void distances(Planner& p, const aclTensor* self, double order, const aclTensor* out) {
  const Operand in = p.input(self, "self", kF | kF64);
  const Operand target = p.output(out, "out", kF | kF64);
  p.check_rank(in, 2, 2);
  p.check(order >= 0, "p is negative");
  const int64_t n = in.shape()[0];
  p.check_shape(target, {count({n, n - 1}) / 2});
  if (target.numel() == 0) return;
  p.run([=](Launch& launch) {
    const auto x = load_all<double>(get(launch, in));
    const auto rows = static_cast<size_t>(n);
    std::vector<double> result;
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = i + 1; j < rows; ++j) {
        result.push_back(distance(x, i, j, x.size() / rows, order));
      }
    }
    store_all(get(launch, target), result);
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(Addr,
              const aclTensor* self,
              const aclTensor* vec1,
              const aclTensor* vec2,
              const aclScalar* betaOptional,
              const aclScalar* alphaOptional,
              aclTensor* out) {
  return outer_sum("aclnnAddr", self, false, vec1, vec2, betaOptional, alphaOptional, out,
                   workspaceSize, executor);
}
SIM_SIGNATURE(InplaceAddr,
              aclTensor* selfRef,
              const aclTensor* vec1,
              const aclTensor* vec2,
              const aclScalar* betaOptional,
              const aclScalar* alphaOptional) {
  return outer_sum("aclnnInplaceAddr", selfRef, true, vec1, vec2, betaOptional, alphaOptional,
                   nullptr, workspaceSize, executor);
}

SIM_SIGNATURE(Einsum, const aclTensorList* tensors, const char* equation, aclTensor* output) {
  return plan("aclnnEinsum", workspaceSize, executor, [&](Planner& p) {
    const Types types = kF | kI16 | kIndex | kU;
    const std::vector<Operand> in = p.inputs(tensors, "tensors", types);
    const Equation letters = parse(p, p.text(equation, "equation"));
    const Operand target = p.output(output, "output", types);
    p.check(!in.empty() && letters.inputs.size() == in.size(),
            "equation must name the dims of each of tensors");
    std::map<char, int64_t> sizes;
    for (size_t i = 0; i < in.size(); ++i) {
      check_same_dtype(p, in[i], target);
      p.check(static_cast<int64_t>(letters.inputs[i].size()) == in[i].rank(),
              "equation must name each dim of " + p.name(in[i]));
      for (size_t d = 0; d < letters.inputs[i].size(); ++d) {
        const auto [found, fresh] = sizes.emplace(letters.inputs[i][d], in[i].shape()[d]);
        p.check(fresh || found->second == in[i].shape()[d],
                "equation gives one letter to dims of different size");
      }
    }
    // The whole space: the output's dims, then those that are summed over.
    std::string order = letters.output;
    Shape expected;
    for (const char c : order) expected.push_back(sizes[c]);
    Shape space = expected;
    for (const auto& [letter, size] : sizes) {
      if (order.find(letter) != std::string::npos) continue;
      order += letter;
      space.push_back(size);
    }
    p.check_shape(target, expected);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      with_real(target.dtype(), [&](auto zero) {
        using C = decltype(zero);
        std::vector<C> product(static_cast<size_t>(count(space)), C(1));
        for (size_t i = 0; i < in.size(); ++i) {
          const View& view = get(launch, in[i]);
          View spread{view.data, view.dtype, space, Shape(space.size(), 0)};
          for (size_t d = 0; d < letters.inputs[i].size(); ++d) {
            spread.strides[order.find(letters.inputs[i][d])] += view.strides[d];
          }
          const auto values = load_all<C>(spread);
          for (size_t k = 0; k < product.size(); ++k) product[k] = mul(product[k], values[k]);
        }
        const size_t each = product.size() / static_cast<size_t>(target.numel());
        std::vector<C> sums;
        for (size_t k = 0; k < static_cast<size_t>(target.numel()); ++k) {
          const auto first = product.begin() + static_cast<int64_t>(k * each);
          sums.push_back(sum_of(std::vector<C>(first, first + static_cast<int64_t>(each))));
        }
        store_all(get(launch, target), sums);
      });
    });
  });
}

SIM_SIGNATURE(Trace, const aclTensor* self, aclTensor* out) {
  return plan("aclnnTrace", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kReal | kC);
    const Operand target = p.output(out, "out", kReal | kC);
    p.check_rank(in, 2, 2);
    p.check(target.numel() == 1, "out must have one element");
    p.check_cast(in.dtype(), target);
    p.run([=](Launch& launch) {
      const View& view = get(launch, in);
      const View line{view.data,
                      view.dtype,
                      {std::min(view.size(0), view.size(1))},
                      {view.stride(0) + view.stride(1)}};
      with_compute(in.dtype(), [&](auto zero) {
        const auto sum = sum_of(load_all<decltype(zero)>(line));
        store(get(launch, target), 0, 1, &sum);
      });
    });
  });
}

SIM_SIGNATURE(
    LinalgCross, const aclTensor* self, const aclTensor* other, int64_t dim, aclTensor* out) {
  return plan("aclnnLinalgCross", workspaceSize, executor, [&](Planner& p) {
    const Types types = (kReal | kC) & ~kBool;
    const Operand a = p.input(self, "self", types);
    const Operand b = p.input(other, "other", types);
    const Operand target = p.output(out, "out", types);
    p.check(a.rank() == b.rank(), "self and other must have one number of dims");
    p.check_rank(a, 1, 8);
    const Shape shape = p.broadcast(a.shape(), b.shape(), "self and other");
    const int64_t at = p.dim(dim, a.rank(), "dim");
    p.check(size_at(a, at) == 3 && size_at(b, at) == 3, "self and other must have size 3 at dim");
    p.check_shape(target, shape);
    const DType compute = p.promoted(a, b);
    p.check_cast(compute, target);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View x = get(launch, a).expand(shape);
      const View y = get(launch, b).expand(shape);
      with_compute(compute, [&](auto zero) {
        using C = decltype(zero);
        for (int64_t i = 0; i < 3; ++i) {
          const int64_t j = (i + 1) % 3;
          const int64_t k = (i + 2) % 3;
          map_elements<C>(
              get(launch, target).select(at, i),
              [](C xj, C yk, C xk, C yj) { return sub(mul(xj, yk), mul(xk, yj)); }, x.select(at, j),
              y.select(at, k), x.select(at, k), y.select(at, j));
        }
      });
    });
  });
}

SIM_SIGNATURE(PdistForward, const aclTensor* self, const aclScalar* pScalar, aclTensor* out) {
  return plan("aclnnPdistForward", workspaceSize, executor,
              [&](Planner& p) { distances(p, self, p.scalar(pScalar, "pScalar").real(), out); });
}
SIM_SIGNATURE(Pdist, const aclTensor* self, float p, aclTensor* out) {
  return plan("aclnnPdist", workspaceSize, executor,
              [&](Planner& planner) { distances(planner, self, double{p}, out); });
}

SIM_SIGNATURE(Renorm,
              const aclTensor* self,
              const aclScalar* p,
              int64_t dim,
              const aclScalar* maxNorm,
              aclTensor* out) {
  return renorm("aclnnRenorm", self, false, p, dim, maxNorm, out, workspaceSize, executor);
}
SIM_SIGNATURE(
    InplaceRenorm, aclTensor* selfRef, const aclScalar* p, int64_t dim, const aclScalar* maxNorm) {
  return renorm("aclnnInplaceRenorm", selfRef, true, p, dim, maxNorm, nullptr, workspaceSize,
                executor);
}
SIM_SIGNATURE(EmbeddingRenorm,
              aclTensor* selfRef,
              const aclTensor* indices,
              double maxNorm,
              double normType) {
  return plan("aclnnEmbeddingRenorm", workspaceSize, executor, [&](Planner& p) {
    const Operand self = p.inout(selfRef, "selfRef", kF);
    const Operand place = p.input(indices, "indices", kIndex);
    p.check_rank(self, 2, 2);
    p.check(normType >= 0, "normType must not be negative");
    p.check(maxNorm >= 0, "maxNorm is negative");
    if (self.numel() == 0 || place.numel() == 0) return;
    p.run([=](Launch& launch) {
      auto rows = load_indices(get(launch, place), self.shape()[0]);
      std::sort(rows.begin(), rows.end());
      rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
      for (const int64_t i : rows) {
        auto row = load_all<float>(get(launch, self).select(0, i));
        Renorm{normType, maxNorm}(row);
        store_all(get(launch, self).select(0, i), row);
      }
    });
  });
}
}
