#include "mindtorch/dispatch/trace/trace.h"

#include <cstring>

namespace mindtorch::dispatch {
namespace {

template <typename T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  // memcmp takes no null pointers, which empty lists may have.
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <typename T>
bool agree(const std::vector<T>& a, const std::vector<T>& b, size_t from) {
  return a.size() <= b.size() &&
         (a.size() == from ||
          std::memcmp(a.data() + from, b.data() + from, (a.size() - from) * sizeof(T)) == 0);
}

class Hash {
 public:
  explicit Hash(uint64_t seed) : state_(seed) {}
  void add(uint64_t value) { state_ = (state_ ^ value) * 0x9E3779B97F4A7C15u; }
  uint64_t value() const { return state_ ^ (state_ >> 32); }

 private:
  uint64_t state_;
};

}  // namespace

void Trace::append(const Trace& other, const Lengths& end) {
  const auto extend = [](auto& list, const auto& from, size_t length) {
    list.insert(list.end(), from.begin() + static_cast<ptrdiff_t>(list.size()),
                from.begin() + static_cast<ptrdiff_t>(length));
  };
  extend(ops, other.ops, end.ops);
  extend(params, other.params, end.ops);
  extend(tensor_ids, other.tensor_ids, end.tensor_ids);
  extend(tensors, other.tensors, end.tensors);
  extend(storages, other.storages, end.storages);
  extend(arguments, other.arguments, end.arguments);
  extend(param_bits, other.param_bits, end.arguments);
  extend(payload, other.payload, end.payload);
  extend(dims, other.dims, end.dims);
}

bool Trace::agrees_since(const Lengths& before, const Trace& other) const {
  return agree(ops, other.ops, before.ops) &&
         agree(tensor_ids, other.tensor_ids, before.tensor_ids) &&
         agree(tensors, other.tensors, before.tensors) &&
         agree(storages, other.storages, before.storages) &&
         agree(arguments, other.arguments, before.arguments) &&
         agree(payload, other.payload, before.payload) && agree(dims, other.dims, before.dims);
}

void Trace::clear() {
  ops.clear();
  tensor_ids.clear();
  tensors.clear();
  storages.clear();
  arguments.clear();
  payload.clear();
  dims.clear();
  numbers.clear();
  params.clear();
  param_bits.clear();
}

bool Trace::operator==(const Trace& other) const {
  return same_bytes(ops, other.ops) && same_bytes(tensor_ids, other.tensor_ids) &&
         same_bytes(tensors, other.tensors) && same_bytes(storages, other.storages) &&
         same_bytes(arguments, other.arguments) && same_bytes(payload, other.payload) &&
         same_bytes(dims, other.dims);
}

uint64_t Trace::hash() const {
  Hash hash(hash_of_ops());
  for (const int64_t dim : dims) hash.add(static_cast<uint64_t>(dim));
  for (const Argument& argument : arguments) hash.add(argument.bits);
  return hash.value();
}

uint64_t Trace::hash_of_ops() const {
  Hash hash(ops.size());
  for (const OpRecord& op : ops) hash.add(reinterpret_cast<uintptr_t>(op.op));
  hash.add(tensor_ids.size() << 32 | tensors.size());
  return hash.value();
}

std::string Trace::describe(uint32_t tensor) const {
  const TensorRecord& record = tensors[tensor];
  return mindtorch::detail::concat(name(record.dtype), to_string(sizes(record)));
}

}  // namespace mindtorch::dispatch
