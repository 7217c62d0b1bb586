#include "mindtorch/dispatch/recording.h"

#include <cstring>

namespace mindtorch::dispatch {
namespace {

template <typename T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <typename T>
bool agree(const std::vector<T>& a, const std::vector<T>& b, size_t from) {
  return a.size() <= b.size() &&
         std::memcmp(a.data() + from, b.data() + from, (a.size() - from) * sizeof(T)) == 0;
}

}  // namespace

void Recording::append(const Recording& other, const Lengths& end) {
  const auto extend = [](auto& list, const auto& from, size_t length) {
    list.insert(list.end(), from.begin() + static_cast<ptrdiff_t>(list.size()),
                from.begin() + static_cast<ptrdiff_t>(length));
  };
  extend(ops, other.ops, end.ops);
  extend(params, other.params, end.ops);
  extend(links, other.links, end.links);
  extend(tensors, other.tensors, end.tensors);
  extend(storages, other.storages, end.storages);
  extend(values, other.values, end.values);
  extend(scalars, other.scalars, end.values);
  extend(dims, other.dims, end.dims);
}

bool Recording::agrees_since(const Lengths& before, const Recording& other) const {
  return agree(ops, other.ops, before.ops) && agree(links, other.links, before.links) &&
         agree(tensors, other.tensors, before.tensors) &&
         agree(storages, other.storages, before.storages) &&
         agree(values, other.values, before.values) && agree(dims, other.dims, before.dims);
}

void Recording::clear() {
  ops.clear();
  links.clear();
  tensors.clear();
  storages.clear();
  values.clear();
  dims.clear();
  numbers.clear();
  params.clear();
  scalars.clear();
}

bool Recording::operator==(const Recording& other) const {
  return same_bytes(ops, other.ops) && same_bytes(links, other.links) &&
         same_bytes(tensors, other.tensors) && same_bytes(storages, other.storages) &&
         same_bytes(values, other.values) && same_bytes(dims, other.dims);
}

uint64_t Recording::hash() const {
  uint64_t hash = ops.size();
  const auto mix = [&](uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15u; };
  for (const OpRecord& op : ops) mix(reinterpret_cast<uintptr_t>(op.op));
  mix(links.size() << 32 | tensors.size());
  for (const int64_t dim : dims) mix(static_cast<uint64_t>(dim));
  return hash ^ (hash >> 32);
}

std::string Recording::describe(uint32_t tensor) const {
  const TensorRecord& record = tensors[tensor];
  return mindtorch::detail::concat(name(record.dtype), to_string(sizes(record)));
}

}  // namespace mindtorch::dispatch
