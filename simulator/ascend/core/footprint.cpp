#include "simulator/ascend/core/footprint.h"

#include <algorithm>
#include <utility>

#include "simulator/ascend/core/checks.h"

namespace sim {

namespace {
// The dimensions that are left after those of one element are dropped, negative strides turned
// round, and what lies without gaps merged into the run.
struct Layout {
  char* data = nullptr;
  size_t run = 0;                                // bytes; 0: empty
  std::vector<std::pair<int64_t, size_t>> dims;  // stride and size, outermost first
};
}  // namespace

static Layout layout_of(const Access& access) {
  Layout layout{access.data, access.bytes, {}};
  for (size_t i = 0; i < access.shape.size(); ++i) {
    const int64_t size = access.shape[i];
    int64_t stride = access.strides[i];
    if (size == 0) return {};
    if (size == 1 || stride == 0) continue;
    if (stride < 0) {
      layout.data += stride * (size - 1);
      stride = -stride;
    }
    layout.dims.emplace_back(stride, static_cast<size_t>(size));
  }
  std::sort(layout.dims.begin(), layout.dims.end(), std::greater<>());
  while (!layout.dims.empty() && static_cast<size_t>(layout.dims.back().first) == layout.run) {
    layout.run *= layout.dims.back().second;
    layout.dims.pop_back();
  }
  return layout;
}

static void visit_runs(const Layout& layout,
                       size_t dim,
                       char* at,
                       const std::function<void(char*, char*)>& visit) {
  if (dim == layout.dims.size()) {
    visit(at, at + layout.run);
    return;
  }
  for (size_t i = 0; i < layout.dims[dim].second; ++i) {
    visit_runs(layout, dim + 1, at, visit);
    at += layout.dims[dim].first;
  }
}

void for_each_run(const Access& access, const std::function<void(char*, char*)>& visit) {
  const Layout layout = layout_of(access);
  if (layout.run) visit_runs(layout, 0, layout.data, visit);
}

size_t count_runs(const Access& access) {
  const Layout layout = layout_of(access);
  if (!layout.run) return 0;
  size_t runs = 1;
  for (const auto& [_, size] : layout.dims) runs *= size;
  return runs;
}

// Only what may lie in the range is looked at: whole inner dimensions are left out, or found in it.
static bool reaches(
    const Layout& layout, size_t dim, const char* at, const char* begin, const char* end) {
  const char* last = at + layout.run;
  for (size_t i = dim; i < layout.dims.size(); ++i) {
    last += layout.dims[i].first * static_cast<int64_t>(layout.dims[i].second - 1);
  }
  if (last <= begin || end <= at) return false;
  // Its first or its last byte is in the range, or nothing is left but one run, which meets it.
  if (at >= begin || last <= end || dim == layout.dims.size()) return true;
  for (size_t i = 0; i < layout.dims[dim].second; ++i, at += layout.dims[dim].first) {
    if (reaches(layout, dim + 1, at, begin, end)) return true;
  }
  return false;
}

bool reaches(const Access& access, const char* begin, const char* end) {
  const Layout layout = layout_of(access);
  return layout.run && begin < end && reaches(layout, 0, layout.data, begin, end);
}

bool is_dense(const Access& access) { return access.shape.empty() || count_runs(access) == 1; }

Range range_of(const Access& access) {
  if (access.shape.empty()) {
    if (!access.bytes) return {};
    return {access.data, access.data + access.bytes};
  }
  const Layout layout = layout_of(access);
  if (!layout.run) return {};
  char* end = layout.data + layout.run;
  for (const auto& [stride, size] : layout.dims) end += stride * static_cast<int64_t>(size - 1);
  return {layout.data, end};
}

bool overlap(const Access& a, const Access& b) {
  const Range x = range_of(a);
  const Range y = range_of(b);
  if (!x.begin || !y.begin || x.end <= y.begin || y.end <= x.begin) return false;
  if (is_dense(a) && is_dense(b)) return true;
  // Beyond this the answer would take too long; a race may then be missed, none is invented.
  constexpr size_t kMostRuns = size_t{1} << 18;
  if (count_runs(a) > kMostRuns || count_runs(b) > kMostRuns) return false;
  std::vector<Range> runs[2];
  for_each_run(a, [&](char* begin, char* end) { runs[0].push_back({begin, end}); });
  for_each_run(b, [&](char* begin, char* end) { runs[1].push_back({begin, end}); });
  for (auto& list : runs) {
    std::sort(list.begin(), list.end(),
              [](const Range& p, const Range& q) { return p.begin < q.begin; });
  }
  size_t i = 0;
  size_t j = 0;
  while (i < runs[0].size() && j < runs[1].size()) {
    const Range& p = runs[0][i];
    const Range& q = runs[1][j];
    if (p.begin < q.end && q.begin < p.end) return true;
    if (p.end <= q.begin) {
      ++i;
    } else {
      ++j;
    }
  }
  return false;
}

}  // namespace sim
