// Elements chosen by index tensors.
#include "simulator/ascend/ops/indexing.h"

using namespace sim;

namespace {

// One index tensor for each of the first dims; a bool one stands for as many as it has dims. One
// without elements, whatever its dtype, leaves its dim whole.
struct IndexPlan {
  std::vector<Operand> indices;
  std::vector<int64_t> dims;  // first dim of self that each one names; -1: it is empty

  bool whole() const {
    return std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; });
  }
};

IndexPlan plan_indices(Planner& p, const Operand& self, const aclTensorList* list) {
  IndexPlan result;
  result.indices = p.inputs(list, "indices", kAny);
  int64_t dim = 0;
  for (const Operand& index : result.indices) {
    if (index.numel() == 0) {
      result.dims.push_back(-1);
      ++dim;
      continue;
    }
    p.check_dtype(index, kIndex | kBool);
    const bool mask = index.dtype() == ACL_BOOL;
    result.dims.push_back(dim);
    for (int64_t d = 0; mask && d < index.rank(); ++d) {
      p.check(dim + d < self.rank() && index.shape()[static_cast<size_t>(d)] ==
                                           self.shape()[static_cast<size_t>(dim + d)],
              p.name(index) + " is a mask whose shape does not fit self");
    }
    dim += mask ? index.rank() : 1;
  }
  p.check(dim <= self.rank(), "indices names more dims than self has");
  return result;
}

// Splits a mask into one index list for each of its dims.
std::vector<View> split_mask(const View& mask, std::vector<std::vector<int64_t>>& store) {
  const auto hits = load_all<int64_t>(mask);
  std::vector<std::vector<int64_t>> places(static_cast<size_t>(mask.rank()));
  for (size_t i = 0; i < hits.size(); ++i) {
    if (hits[i] == 0) continue;
    auto rest = static_cast<int64_t>(i);
    for (int64_t d = mask.rank(); d-- > 0;) {
      places[static_cast<size_t>(d)].push_back(rest % mask.size(d));
      rest /= mask.size(d);
    }
  }
  std::vector<View> views;
  for (auto& place : places) {
    store.push_back(std::move(place));
    views.push_back(contiguous_view(store.back().data(), ACL_INT64,
                                    {static_cast<int64_t>(store.back().size())}));
  }
  return views;
}

// The elements that the indices choose, as a list of byte offsets in the order of the result, and
// the result's shape.
std::vector<int64_t> chosen(const Launch& launch,
                            const View& self,
                            const IndexPlan& plan,
                            Shape* shape) {
  std::vector<std::vector<int64_t>> store;
  store.reserve(64);
  std::vector<std::pair<int64_t, View>> named;  // dim of self, its indices
  for (size_t i = 0; i < plan.indices.size(); ++i) {
    if (plan.dims[i] < 0) continue;
    const View& view = get(launch, plan.indices[i]);
    if (view.dtype == ACL_BOOL) {
      int64_t dim = plan.dims[i];
      for (const View& part : split_mask(view, store)) named.emplace_back(dim++, part);
    } else {
      named.emplace_back(plan.dims[i], view);
    }
  }
  Shape broadcast;
  for (const auto& [dim, view] : named) {
    Shape next(std::max(broadcast.size(), view.shape.size()), 1);
    for (size_t i = 0; i < next.size(); ++i) {
      const int64_t a = i < broadcast.size() ? broadcast[broadcast.size() - 1 - i] : 1;
      const int64_t b = i < view.shape.size() ? view.shape[view.shape.size() - 1 - i] : 1;
      if (a != b && a != 1 && b != 1) throw DeviceFault{507015, "indices do not broadcast"};
      next[next.size() - 1 - i] = a == 1 ? b : a;
    }
    broadcast = next;
  }
  // Neighbouring indexed dims: the result's place is theirs; else it comes first.
  bool together = true;
  for (size_t i = 1; i < named.size(); ++i) {
    together = together && named[i].first == named[i - 1].first + 1;
  }
  const int64_t place = named.empty() || !together ? 0 : named[0].first;
  View rest{nullptr, self.dtype, {}, {}};  // dims that stay
  for (int64_t d = 0; d < self.rank(); ++d) {
    const bool indexed = std::any_of(named.begin(), named.end(),
                                     [&](const auto& entry) { return entry.first == d; });
    if (indexed) continue;
    rest.shape.push_back(self.size(d));
    rest.strides.push_back(self.stride(d));
  }
  const int64_t hits = count(broadcast);
  std::vector<int64_t> starts(static_cast<size_t>(hits));
  for (const auto& [dim, view] : named) {
    std::vector<int64_t> at(static_cast<size_t>(hits));
    load(view.expand(broadcast), 0, hits, at.data());
    for (size_t i = 0; i < at.size(); ++i) {
      starts[i] += wrap(at[i], self.size(dim)) * self.stride(dim) * self.item();
    }
  }
  *shape = rest.shape;
  const auto lead = static_cast<size_t>(together ? place : 0);
  shape->insert(shape->begin() + static_cast<int64_t>(lead), broadcast.begin(), broadcast.end());
  const Shape before(rest.shape.begin(), rest.shape.begin() + static_cast<int64_t>(lead));
  const int64_t outer = count(before);
  const int64_t inner = outer == 0 ? 0 : rest.numel() / std::max<int64_t>(outer, 1);
  std::vector<int64_t> offsets;
  offsets.reserve(static_cast<size_t>(outer * hits * inner));
  for (int64_t a = 0; a < outer; ++a) {
    for (const int64_t start : starts) {
      for (int64_t b = 0; b < inner; ++b) offsets.push_back(start + rest.offset_of(a * inner + b));
    }
  }
  return offsets;
}

aclnnStatus gather_rows(const char* op,
                        const aclTensor* self,
                        const char* self_name,
                        int64_t dim,
                        const aclTensor* index,
                        const char* index_name,
                        const aclTensor* out,
                        bool any_rank,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, self_name, kAny);
    const Operand place = p.input(index, index_name, kIndex);
    const Operand target = p.output(out, "out", kAny);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    if (!any_rank) p.check_rank(place, 0, 1);
    check_same_dtype(p, target, in);
    Shape shape;
    if (in.rank() == 0) {
      shape = any_rank ? place.shape() : Shape{};
    } else if (any_rank) {
      shape.assign(in.shape().begin(), in.shape().begin() + at);
      shape.insert(shape.end(), place.shape().begin(), place.shape().end());
      shape.insert(shape.end(), in.shape().begin() + at + 1, in.shape().end());
    } else {
      shape = with_size(in.shape(), at, place.numel());
    }
    p.check_shape(target, shape);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View from = at_least_1d(get(launch, in));
      // The dims of `index` as one.
      View to = get(launch, target);
      const Shape flat = with_size(from.shape, at, place.numel());
      const bool direct = to.contiguous();
      std::vector<char> scratch;
      View rows = to;
      if (direct) {
        rows = contiguous_view(to.data, to.dtype, flat);
      } else {
        scratch.resize(static_cast<size_t>(to.numel() * to.item()));
        rows = contiguous_view(scratch.data(), to.dtype, flat);
      }
      const auto indices = load_indices(get(launch, place), from.size(at));
      for (size_t i = 0; i < indices.size(); ++i) {
        copy_elements(rows.select(at, static_cast<int64_t>(i)), from.select(at, indices[i]));
      }
      if (!direct) copy_elements(to, contiguous_view(scratch.data(), to.dtype, to.shape));
    });
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(
    IndexSelect, const aclTensor* self, int64_t dim, const aclTensor* index, aclTensor* out) {
  return gather_rows("aclnnIndexSelect", self, "self", dim, index, "index", out, false,
                     workspaceSize, executor);
}

SIM_SIGNATURE(
    GatherV2, const aclTensor* self, int64_t dim, const aclTensor* index, aclTensor* out) {
  return gather_rows("aclnnGatherV2", self, "self", dim, index, "index", out, true, workspaceSize,
                     executor);
}

SIM_SIGNATURE(Embedding, const aclTensor* weight, const aclTensor* indices, const aclTensor* out) {
  return gather_rows("aclnnEmbedding", weight, "weight", 0, indices, "indices", out, true,
                     workspaceSize, executor);
}

SIM_SIGNATURE(Index, const aclTensor* self, const aclTensorList* indices, aclTensor* out) {
  return plan("aclnnIndex", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    const IndexPlan places = plan_indices(p, in, indices);
    const Operand target = p.output(out, "out", kAny);
    check_same_dtype(p, target, in);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& from = get(launch, in);
      const View& to = get(launch, target);
      Shape shape;
      const auto offsets = chosen(launch, from, places, &shape);
      if (shape != to.shape) throw DeviceFault{507015, "out has not the shape of the result"};
      Cursor cursor(to);
      for (const int64_t offset : offsets) {
        std::memcpy(cursor.get(), from.data + offset, static_cast<size_t>(to.item()));
        cursor.next();
      }
    });
  });
}

SIM_SIGNATURE(IndexPutImpl,
              aclTensor* selfRef,
              const aclTensorList* indices,
              const aclTensor* values,
              const bool accumulate,
              const bool) {
  return plan("aclnnIndexPutImpl", workspaceSize, executor, [&](Planner& p) {
    const Operand self = p.inout(selfRef, "selfRef", kAll);
    const IndexPlan places = plan_indices(p, self, indices);
    const Operand source = p.input(values, "values", kAll);
    check_same_dtype(p, source, self);
    if (self.numel() == 0 || source.numel() == 0 || places.whole()) return;
    p.run([=](Launch& launch) {
      const View& to = get(launch, self);
      Shape shape;
      const auto offsets = chosen(launch, to, places, &shape);
      const View from = get(launch, source).expand(shape);
      for (size_t i = 0; i < offsets.size(); ++i) {
        put(element(to, offsets[i]), element(from, from.offset_of(static_cast<int64_t>(i))),
            accumulate ? Reduce::kAdd : Reduce::kReplace);
      }
    });
  });
}

SIM_SIGNATURE(
    Gather, const aclTensor* self, const int64_t dim, const aclTensor* index, aclTensor* out) {
  return plan("aclnnGather", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    const Operand place = p.input(index, "index", kIndex);
    const Operand target = p.output(out, "out", kAny);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    check_same_dtype(p, target, in);
    check_along(p, in, place, at);
    p.check_shape(target, place.shape());
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View from = at_least_1d(get(launch, in));
      const auto offsets = along(from, at_least_1d(get(launch, place)), at);
      Cursor cursor(get(launch, target));
      for (const int64_t offset : offsets) {
        std::memcpy(cursor.get(), from.data + offset, static_cast<size_t>(from.item()));
        cursor.next();
      }
    });
  });
}

SIM_SIGNATURE(GatherNd, const aclTensor* self, const aclTensor* indices, bool, aclTensor* out) {
  return plan("aclnnGatherNd", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    const Operand place = p.input(indices, "indices", kIndex);
    const Operand target = p.output(out, "out", kAny);
    check_same_dtype(p, target, in);
    p.check_rank(in, 1, 8);
    p.check_rank(place, 1, 8);
    const int64_t depth = place.shape().back();
    p.check(depth <= in.rank(), "indices names more dims than self has");
    Shape shape(place.shape().begin(), place.shape().end() - 1);
    shape.insert(shape.end(), in.shape().begin() + depth, in.shape().end());
    p.check_shape(target, shape);
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto indices_ = load_all<int64_t>(get(launch, place));
      const View& from = get(launch, in);
      const int64_t n = depth == 0 ? 1 : place.numel() / depth;
      Cursor cursor(get(launch, target));
      for (int64_t i = 0; i < n; ++i) {
        View one = from;
        for (int64_t d = 0; d < depth; ++d) {
          one = one.select(0, wrap(indices_[static_cast<size_t>(i * depth + d)], from.size(d)));
        }
        Cursor element_at(one);
        for (int64_t k = 0; k < one.numel(); ++k, element_at.next(), cursor.next()) {
          std::memcpy(cursor.get(), element_at.get(), static_cast<size_t>(one.item()));
        }
      }
    });
  });
}

SIM_SIGNATURE(Take, const aclTensor* self, const aclTensor* index, aclTensor* out) {
  return plan("aclnnTake", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    const Operand place = p.input(index, "index", kIndex);
    const Operand target = p.output(out, "out", kAny);
    check_same_dtype(p, target, in);
    p.check_shape(target, place.shape());
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& from = get(launch, in);
      Cursor cursor(get(launch, target));
      for (const int64_t at : load_indices(get(launch, place), in.numel())) {
        std::memcpy(cursor.get(), from.data + at * from.item(), static_cast<size_t>(from.item()));
        cursor.next();
      }
    });
  });
}

SIM_SIGNATURE(InplacePut,
              aclTensor* selfRef,
              const aclTensor* index,
              const aclTensor* source,
              bool accumulate) {
  return plan("aclnnInplacePut", workspaceSize, executor, [&](Planner& p) {
    const Operand self = p.inout(selfRef, "selfRef", kAll);
    const Operand place = p.input(index, "index", kIndex);
    const Operand from = p.input(source, "source", kAll);
    check_same_dtype(p, from, self);
    p.check(from.numel() == place.numel(), "source must have as many elements as index");
    if (place.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& to = get(launch, self);
      const auto indices = load_indices(get(launch, place), self.numel());
      for (size_t i = 0; i < indices.size(); ++i) {
        put(element(to, to.offset_of(indices[i])),
            element(get(launch, from), static_cast<int64_t>(i) * to.item()),
            accumulate ? Reduce::kAdd : Reduce::kReplace);
      }
    });
  });
}
}
