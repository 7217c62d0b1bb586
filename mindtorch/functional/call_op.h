#pragma once

#include <atomic>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include "mindtorch/dispatch/dispatcher.h"

// What the generated functions of functions.cpp share, so that each of them only boxes its
// arguments.
namespace mindtorch::functional {

// An op that is looked up at its first call. Initialised by the compiler: no lock to pass later.
class LazyOp {
 public:
  constexpr explicit LazyOp(const char* name) : name_(name) {}

  const ops::Op& get() {
    const ops::Op* op = op_.load(std::memory_order_acquire);
    return MT_LIKELY(op != nullptr) ? *op : find();
  }

 private:
  [[gnu::cold, gnu::noinline]] const ops::Op& find() {
    const ops::Op& op = ops::registry().at(name_);
    op_.store(&op, std::memory_order_release);
    return op;
  }

  const char* name_;
  std::atomic<const ops::Op*> op_{nullptr};
};

// Reads an op's results as the type that a function returns.
template <typename Result>
struct Unpack;

template <>
struct Unpack<Tensor> {
  static Tensor from(ops::Outputs& results) { return std::move(results.tensors[0]); }
};
template <>
struct Unpack<std::vector<Tensor>> {
  static std::vector<Tensor> from(ops::Outputs& results) {
    return {std::make_move_iterator(results.tensors.begin()),
            std::make_move_iterator(results.tensors.end())};
  }
};
template <typename... T>
struct Unpack<std::tuple<T...>> {
  static std::tuple<T...> from(ops::Outputs& results) {
    return [&]<size_t... I>(std::index_sequence<I...>) -> std::tuple<T...> {
      return {std::move(results.tensors[I])...};
    }(std::index_sequence_for<T...>{});
  }
};
template <>
struct Unpack<Scalar> {
  static Scalar from(ops::Outputs& results) { return results.scalar; }
};
template <>
struct Unpack<int64_t> {
  static int64_t from(ops::Outputs& results) { return results.scalar.to_int(); }
};
template <>
struct Unpack<bool> {
  static bool from(ops::Outputs& results) { return results.scalar.to_bool(); }
};
template <>
struct Unpack<double> {
  static double from(ops::Outputs& results) { return results.scalar.to_double(); }
};

template <typename Result>
[[gnu::noinline]] Result call_op(LazyOp& op, ops::Args args) {
  ops::Outputs results;
  dispatch::call(op.get(), args, results);
  return Unpack<Result>::from(results);
}

}  // namespace mindtorch::functional
