// Elements chosen by index tensors or masks.
#include <cstring>

#include "simulator/ascend/ops/pointwise.h"

using namespace sim;

namespace {

constexpr Types kAny = kAll | only(ACL_COMPLEX32);

// Counted from the end when negative. An index outside stops the device.
int64_t wrap(int64_t index, int64_t size) {
  const int64_t at = index < 0 ? index + size : index;
  if (at < 0 || at >= size) {
    throw DeviceFault{507015, "index " + std::to_string(index) + " is out of range for size " +
                                  std::to_string(size)};
  }
  return at;
}

std::vector<int64_t> load_indices(const View& view, int64_t size) {
  auto indices = load_all<int64_t>(view);
  for (int64_t& index : indices) index = wrap(index, size);
  return indices;
}

int64_t size_at(const Operand& operand, int64_t dim) {
  return operand.rank() == 0 ? 1 : operand.shape()[static_cast<size_t>(dim)];
}

Shape with_size(const Shape& shape, int64_t dim, int64_t size) {
  Shape result = shape;
  if (!result.empty()) result[static_cast<size_t>(dim)] = size;
  return result;
}

// A view of rank 0 as one of rank 1.
View at_least_1d(const View& view) { return view.rank() == 0 ? view.unsqueeze(0) : view; }

void check_same_dtype(Planner& p, const Operand& a, const Operand& b) {
  p.check(a.dtype() == b.dtype(), p.name(a) + " must have the dtype of " + p.name(b));
}

// to = f(to, from) for each element, in the arithmetic of their dtype.
template <class F>
void combine(const View& to, const View& from, F f) {
  with_compute(to.dtype, [&](auto zero) {
    using C = decltype(zero);
    map_elements<C>(to, [&](C a, C b) { return f(a, b); }, to, from);
  });
}

enum class Reduce { kReplace = 0, kAdd = 1, kMultiply = 2 };

void put(const View& to, const View& from, Reduce how) {
  if (how == Reduce::kReplace) return cast_elements(to, from);
  if (how == Reduce::kAdd) return combine(to, from, [](auto a, auto b) { return add(a, b); });
  combine(to, from, [](auto a, auto b) { return mul(a, b); });
}

View element(const View& view, int64_t offset_bytes) {
  return View{view.data + offset_bytes, view.dtype, {}, {}};
}

// Where each element of `index` points to in `view`, along `dim`; in bytes.
std::vector<int64_t> along(const View& view, const View& index, int64_t dim) {
  const auto places = load_indices(index, view.size(dim));
  std::vector<int64_t> offsets(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t offset = 0;
    for (int64_t d = view.rank(); d-- > 0;) {
      offset += (d == dim ? places[i] : rest % index.size(d)) * view.stride(d);
      rest /= index.size(d);
    }
    offsets[i] = offset * view.item();
  }
  return offsets;
}

void check_along(Planner& p, const Operand& self, const Operand& index, int64_t dim) {
  if (index.numel() == 0) return;
  p.check(std::max<int64_t>(self.rank(), 1) == std::max<int64_t>(index.rank(), 1),
          "index must have as many dims as self");
  for (int64_t d = 0; d < index.rank(); ++d) {
    p.check(d == dim || index.shape()[static_cast<size_t>(d)] <= size_at(self, d),
            "index is larger than self at dim " + std::to_string(d));
  }
}

aclnnStatus scatter(const char* op,
                    const aclTensor* self,
                    bool in_place,
                    int64_t dim,
                    const aclTensor* index,
                    const aclTensor* src,
                    bool by_tensor,
                    const aclScalar* value,
                    int64_t reduce,
                    const aclTensor* out,
                    uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = in_place ? p.inout(self, "selfRef", kAny) : p.input(self, "self", kAny);
    const Operand place = p.input(index, "index", kIndex);
    const Operand source = by_tensor ? p.input(src, "src", kAny) : Operand{};
    aclScalar fill;
    if (!by_tensor) fill = p.scalar(value, "value");
    const Operand target = in_place ? in : p.output(out, "out", kAny);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    p.check(reduce >= 0 && reduce <= 2,
            "reduce is " + std::to_string(reduce) + ", expected is 0, 1 or 2");
    p.check_shape(target, in.shape());
    check_same_dtype(p, target, in);
    check_along(p, in, place, at);
    if (source) {
      check_same_dtype(p, source, in);
      for (int64_t d = 0; d < place.rank() && place.numel() > 0; ++d) {
        p.check(place.shape()[static_cast<size_t>(d)] <= size_at(source, d),
                "index is larger than src at dim " + std::to_string(d));
      }
    }
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View to = at_least_1d(get(launch, target));
      if (!in_place) copy_elements(to, at_least_1d(get(launch, in)));
      if (place.numel() == 0) return;
      const View where = at_least_1d(get(launch, place));
      const View scalar = contiguous_view(const_cast<char*>(fill.bytes.data()), fill.dtype, {});
      View from = source ? at_least_1d(get(launch, source)) : scalar;
      if (source) from.shape = where.shape;
      const auto offsets = along(to, where, at);
      for (size_t i = 0; i < offsets.size(); ++i) {
        const View one = source ? element(from, from.offset_of(static_cast<int64_t>(i))) : scalar;
        put(element(to, offsets[i]), one, static_cast<Reduce>(reduce));
      }
    });
  });
}

// One index tensor for each of the first dims; a bool one stands for as many as it has dims, an
// empty one leaves its dim whole.
struct Indexed {
  std::vector<int64_t> offsets;  // of the chosen sub-tensors, in elements
  View whole;                    // one of them, with the dims that no index names
};

struct IndexPlan {
  std::vector<Operand> indices;
  std::vector<int64_t> dims;  // first dim of self that each one names; -1: it is empty
};

IndexPlan plan_indices(Planner& p, const Operand& self, const aclTensorList* list) {
  IndexPlan result;
  result.indices = p.inputs(list, "indices", kIndex | kBool | kU8);
  int64_t dim = 0;
  for (const Operand& index : result.indices) {
    const bool mask = index.dtype() == ACL_BOOL || index.dtype() == ACL_UINT8;
    if (index.numel() == 0 && !mask) {
      result.dims.push_back(-1);
      ++dim;
      continue;
    }
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
    if (view.dtype == ACL_BOOL || view.dtype == ACL_UINT8) {
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

// Rows of `source` into the rows of self that `index` names.
aclnnStatus index_rows(const char* op,
                       const aclTensor* self,
                       bool in_place,
                       int64_t dim,
                       const aclTensor* index,
                       const aclTensor* source,
                       const aclScalar* alpha,
                       bool adds,
                       const aclTensor* out,
                       const char* out_name,
                       uint64_t* workspace_size,
                       aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = in_place ? p.inout(self, "selfRef", kAll) : p.input(self, "self", kAll);
    const Operand place = p.input(index, "index", kIndex);
    const Operand rows = p.input(source, "source", kAll);
    aclScalar factor;
    if (adds) factor = p.scalar(alpha, "alpha");
    const Operand target = in_place ? in : p.output(out, out_name, kAll);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    p.check_rank(place, 0, 1);
    p.check_shape(target, in.shape());
    check_same_dtype(p, target, in);
    check_same_dtype(p, rows, in);
    p.check_shape(rows, with_size(in.shape(), at, place.numel()));
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View to = at_least_1d(get(launch, target));
      if (!in_place) copy_elements(to, at_least_1d(get(launch, in)));
      const View from = at_least_1d(get(launch, rows));
      const auto indices = load_indices(get(launch, place), to.size(at));
      for (size_t i = 0; i < indices.size(); ++i) {
        const View one = to.select(at, indices[i]);
        const View row = from.select(at, static_cast<int64_t>(i));
        if (!adds) {
          copy_elements(one, row);
          continue;
        }
        with_compute(to.dtype, [&](auto zero) {
          using C = decltype(zero);
          const C times = scalar_as<C>(factor);
          map_elements<C>(one, [&](C a, C b) { return add(a, mul(times, b)); }, one, row);
        });
      }
    });
  });
}

aclnnStatus index_fill(const char* op,
                       const aclTensor* self,
                       bool in_place,
                       int64_t dim,
                       const aclIntArray* index,
                       const aclScalar* value,
                       const aclTensor* out,
                       uint64_t* workspace_size,
                       aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = in_place ? p.inout(self, "selfRef", kAll) : p.input(self, "self", kAll);
    std::vector<int64_t> places = p.array(index, "index");
    const aclScalar fill = p.scalar(value, "value");
    const Operand target = in_place ? in : p.output(out, "out", kAll);
    const int64_t at = p.dim(dim, in.rank(), "dim");
    const int64_t size = size_at(in, at);
    for (int64_t& place : places) {
      p.check(place >= -size && place < size, "index has the value " + std::to_string(place) +
                                                  ", out of range for size " +
                                                  std::to_string(size));
      if (place < 0) place += size;
    }
    p.check_shape(target, in.shape());
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View to = at_least_1d(get(launch, target));
      if (!in_place) copy_elements(to, at_least_1d(get(launch, in)));
      const View one = contiguous_view(const_cast<char*>(fill.bytes.data()), fill.dtype, {});
      for (const int64_t place : places) cast_elements(to.select(at, place), one);
    });
  });
}

aclnnStatus nonzero(const char* op,
                    const aclTensor* self,
                    const aclTensor* out,
                    bool transposed,
                    uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAll & ~kC);
    const Operand target = p.output(out, "out", kI64);
    p.check_rank(target, 2, 2);
    const int64_t rank = in.rank();
    p.check_shape(target, transposed ? Shape{rank, in.numel()} : Shape{in.numel(), rank});
    if (target.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& from = get(launch, in);
      std::vector<int64_t> hits;
      with_real(from.dtype, [&](auto zero) {
        const auto values = load_all<decltype(zero)>(from);
        for (size_t i = 0; i < values.size(); ++i) {
          if (values[i] != decltype(zero){}) hits.push_back(static_cast<int64_t>(i));
        }
      });
      const auto n = static_cast<int64_t>(hits.size());
      const Shape shape = transposed ? Shape{rank, n} : Shape{n, rank};
      const View to = contiguous_view(get(launch, target).data, ACL_INT64, shape);
      for (int64_t i = 0; i < n; ++i) {
        int64_t rest = hits[static_cast<size_t>(i)];
        for (int64_t d = rank; d-- > 0;) {
          const int64_t place = rest % from.size(d);
          rest /= from.size(d);
          store(to, transposed ? d * n + i : i * rank + d, 1, &place);
        }
      }
      launch.set_shape(static_cast<size_t>(target.slot), shape);
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
    if (self.numel() == 0) return;
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
SIM_SIGNATURE(ScatterNdUpdate,
              aclTensor* varRef,
              const aclTensor* indices,
              const aclTensor* updates) {
  return plan("aclnnScatterNdUpdate", workspaceSize, executor, [&](Planner& p) {
    const Operand self = p.inout(varRef, "varRef", kAll);
    const Operand place = p.input(indices, "indices", kIndex);
    const Operand source = p.input(updates, "updates", kAll);
    check_same_dtype(p, source, self);
    p.check_rank(place, 1, 8);
    const int64_t depth = place.shape().back();
    p.check(depth <= self.rank(), "indices names more dims than varRef has");
    Shape shape(place.shape().begin(), place.shape().end() - 1);
    shape.insert(shape.end(), self.shape().begin() + depth, self.shape().end());
    p.check_shape(source, shape);
    if (source.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto all = load_all<int64_t>(get(launch, place));
      const View& to = get(launch, self);
      const int64_t n = depth == 0 ? 1 : place.numel() / depth;
      for (int64_t i = 0; i < n; ++i) {
        View one = to;
        for (int64_t d = 0; d < depth; ++d) {
          one = one.select(0, wrap(all[static_cast<size_t>(i * depth + d)], to.size(d)));
        }
        const View from = contiguous_view(get(launch, source).data + i * one.numel() * to.item(),
                                          to.dtype, one.shape);
        copy_elements(one, from);
      }
    });
  });
}
SIM_SIGNATURE(Scatter,
              const aclTensor* self,
              int64_t dim,
              const aclTensor* index,
              const aclTensor* src,
              int64_t reduce,
              aclTensor* out) {
  return scatter("aclnnScatter", self, false, dim, index, src, true, nullptr, reduce, out,
                 workspaceSize, executor);
}
SIM_SIGNATURE(ScatterValue,
              const aclTensor* self,
              int64_t dim,
              const aclTensor* index,
              const aclScalar* value,
              int64_t reduce,
              aclTensor* out) {
  return scatter("aclnnScatterValue", self, false, dim, index, nullptr, false, value, reduce, out,
                 workspaceSize, executor);
}
SIM_SIGNATURE(InplaceScatter,
              aclTensor* selfRef,
              int64_t dim,
              const aclTensor* index,
              const aclTensor* src,
              int64_t reduce) {
  return scatter("aclnnInplaceScatter", selfRef, true, dim, index, src, true, nullptr, reduce,
                 nullptr, workspaceSize, executor);
}
SIM_SIGNATURE(InplaceScatterValue,
              aclTensor* selfRef,
              int64_t dim,
              const aclTensor* index,
              const aclScalar* value,
              int64_t reduce) {
  return scatter("aclnnInplaceScatterValue", selfRef, true, dim, index, nullptr, false, value,
                 reduce, nullptr, workspaceSize, executor);
}
SIM_SIGNATURE(ScatterAdd,
              const aclTensor* self,
              int64_t dim,
              const aclTensor* index,
              const aclTensor* src,
              aclTensor* out) {
  return scatter("aclnnScatterAdd", self, false, dim, index, src, true, nullptr, 1, out,
                 workspaceSize, executor);
}
SIM_SIGNATURE(InplaceScatterUpdate,
              aclTensor* data,
              const aclTensor* indices,
              const aclTensor* updates,
              int64_t axis) {
  return plan("aclnnInplaceScatterUpdate", workspaceSize, executor, [&](Planner& p) {
    // updates[b, ...] goes to data[b, ...] at the place along `axis` that indices[b] names first.
    const Operand self = p.inout(data, "data", kAll);
    const Operand place = p.input(indices, "indices", kIndex);
    const Operand source = p.input(updates, "updates", kAll);
    check_same_dtype(p, source, self);
    p.check_rank(source, self.rank(), self.rank());
    p.check_rank(place, 1, 2);
    p.check_rank(self, 2, 8);
    const int64_t at = p.dim(axis, self.rank(), "axis");
    if (source.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto where = load_all<int64_t>(get(launch, place));
      const View& to = get(launch, self);
      const View& from = get(launch, source);
      const bool pairs = place.rank() == 2;
      const int64_t rows = std::min<int64_t>(from.size(0), place.shape()[0]);
      for (int64_t i = 0; i < rows; ++i) {
        const auto k = static_cast<size_t>(i);
        const int64_t batch = pairs ? wrap(where[2 * k], to.size(0)) : i;
        const int64_t start = pairs ? where[2 * k + 1] : where[k];
        const int64_t length = from.size(at);
        if (start < 0 || start + length > to.size(at)) {
          throw DeviceFault{507015, "indices has a value out of range"};
        }
        copy_elements(to.select(0, batch).slice(at - 1, start, length), from.select(0, i));
      }
    });
  });
}
SIM_SIGNATURE(IndexAdd,
              const aclTensor* self,
              const int64_t dim,
              const aclTensor* index,
              const aclTensor* source,
              const aclScalar* alpha,
              aclTensor* out) {
  return index_rows("aclnnIndexAdd", self, false, dim, index, source, alpha, true, out, "out",
                    workspaceSize, executor);
}
SIM_SIGNATURE(InplaceIndexCopy,
              aclTensor* selfRef,
              int64_t dim,
              const aclTensor* index,
              const aclTensor* source) {
  return index_rows("aclnnInplaceIndexCopy", selfRef, true, dim, index, source, nullptr, false,
                    nullptr, nullptr, workspaceSize, executor);
}
SIM_SIGNATURE(IndexCopy,
              aclTensor* selfRef,
              int64_t dim,
              const aclTensor* index,
              const aclTensor* source,
              aclTensor* outRef) {
  return index_rows("aclnnIndexCopy", selfRef, false, dim, index, source, nullptr, false, outRef,
                    "outRef", workspaceSize, executor);
}
SIM_SIGNATURE(IndexFillTensor,
              const aclTensor* self,
              int64_t dim,
              const aclIntArray* index,
              const aclScalar* value,
              aclTensor* out) {
  return index_fill("aclnnIndexFillTensor", self, false, dim, index, value, out, workspaceSize,
                    executor);
}
SIM_SIGNATURE(InplaceIndexFillTensor,
              aclTensor* selfRef,
              int64_t dim,
              const aclIntArray* index,
              const aclScalar* value) {
  return index_fill("aclnnInplaceIndexFillTensor", selfRef, true, dim, index, value, nullptr,
                    workspaceSize, executor);
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
SIM_SIGNATURE(EmbeddingDenseBackward,
              const aclTensor* grad,
              const aclTensor* indices,
              uint64_t numWeights,
              uint64_t paddingIdx,
              bool scaleGradByFreq,
              const aclTensor* out) {
  return plan("aclnnEmbeddingDenseBackward", workspaceSize, executor, [&](Planner& p) {
    const Operand g = p.input(grad, "grad", kF);
    const Operand place = p.input(indices, "indices", kI | kF);
    const Operand target = p.output(out, "out", kF);
    p.check_rank(g, 1, 8);
    const int64_t width = g.shape().back();
    p.check_shape(target, {static_cast<int64_t>(numWeights), width});
    p.check(g.numel() == place.numel() * width, "grad must have a row for each of indices");
    if (target.numel() == 0) return;
    const uint64_t at = p.workspace(target.numel() * 4);
    p.run([=](Launch& launch) {
      auto* const sums = reinterpret_cast<float*>(launch.workspace(at));
      std::fill(sums, sums + target.numel(), 0.0F);
      const auto where = load_indices(get(launch, place), target.shape()[0]);
      const auto rows = load_all<float>(get(launch, g));
      std::vector<float> times(static_cast<size_t>(numWeights));
      for (const int64_t row : where) ++times[static_cast<size_t>(row)];
      for (size_t i = 0; i < where.size(); ++i) {
        if (static_cast<uint64_t>(where[i]) == paddingIdx) continue;
        const float scale = scaleGradByFreq ? 1 / times[static_cast<size_t>(where[i])] : 1;
        for (int64_t k = 0; k < width; ++k) {
          sums[where[i] * width + k] +=
              scale * rows[i * static_cast<size_t>(width) + static_cast<size_t>(k)];
        }
      }
      store(get(launch, target), 0, target.numel(), sums);
    });
  });
}

SIM_SIGNATURE(MaskedSelect, const aclTensor* self, const aclTensor* mask, aclTensor* out) {
  return plan("aclnnMaskedSelect", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAll & ~kC);
    const Operand hit = p.input(mask, "mask", kBool | kU8);
    const Operand target = p.output(out, "out", kAll & ~kC);
    check_same_dtype(p, target, in);
    p.check_rank(target, 1, 1);
    const Shape shape = p.broadcast(in.shape(), hit.shape(), "self and mask");
    p.check(target.numel() >= count(shape),
            "out must have room for " + std::to_string(count(shape)) + " elements");
    if (count(shape) == 0) return;
    p.run([=](Launch& launch) {
      const View from = get(launch, in).expand(shape);
      const View hits = get(launch, hit).expand(shape);
      char* to = get(launch, target).data;
      const auto item = static_cast<size_t>(from.item());
      Cursor value(from);
      Cursor flag(hits);
      int64_t n = 0;
      for (int64_t i = 0; i < count(shape); ++i, value.next(), flag.next()) {
        if (*flag.get() == 0) continue;
        std::memcpy(to + n++ * from.item(), value.get(), item);
      }
      launch.set_shape(static_cast<size_t>(target.slot), {n});
    });
  });
}
SIM_SIGNATURE(InplaceMaskedScatter,
              aclTensor* selfRef,
              const aclTensor* mask,
              const aclTensor* source) {
  return plan("aclnnInplaceMaskedScatter", workspaceSize, executor, [&](Planner& p) {
    const Operand self = p.inout(selfRef, "selfRef", kAll & ~kC);
    const Operand hit = p.input(mask, "mask", kBool | kU8);
    const Operand from = p.input(source, "source", kAll & ~kC);
    check_same_dtype(p, from, self);
    p.check_shape(self, p.broadcast(self.shape(), hit.shape(), "selfRef and mask"));
    if (self.numel() == 0) return;
    p.run([=](Launch& launch) {
      const View& to = get(launch, self);
      const View hits = get(launch, hit).expand(to.shape);
      const View& values = get(launch, from);
      Cursor value(to);
      Cursor flag(hits);
      int64_t n = 0;
      for (int64_t i = 0; i < to.numel(); ++i, value.next(), flag.next()) {
        if (*flag.get() == 0) continue;
        if (n == values.numel()) throw DeviceFault{507015, "source has too few elements"};
        std::memcpy(value.get(), values.data + n++ * to.item(), static_cast<size_t>(to.item()));
      }
    });
  });
}
SIM_SIGNATURE(Nonzero, const aclTensor* self, aclTensor* out) {
  return nonzero("aclnnNonzero", self, out, false, workspaceSize, executor);
}
SIM_SIGNATURE(NonzeroV2, const aclTensor* self, aclTensor* out) {
  return nonzero("aclnnNonzeroV2", self, out, true, workspaceSize, executor);
}
}
