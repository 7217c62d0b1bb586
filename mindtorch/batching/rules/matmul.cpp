// Products of matrices and vectors. matmul broadcasts the batch dim.
#include "mindtorch/batching/rule.h"
#include "mindtorch/dispatch/eager/eager.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

void check_ranks(const Call& call, size_t first, int64_t a, int64_t b) {
  MT_CHECK(call.tensor(first).dim() == a && call.tensor(first + 1).dim() == b, RuntimeError,
           call.op.schema.name, ": expected tensors of ", a, " and ", b, " dims, but got ",
           call.tensor(first).dim(), " and ", call.tensor(first + 1).dim());
}

// mm and bmm of arguments `first` and the one behind it.
Tensor product(const Call& call, size_t first, int64_t rank) {
  check_ranks(call, first, rank, rank);
  return matmul(call.value(first), call.value(first + 1));
}
Tensor matrix_vector(const Call& call, size_t first) {
  check_ranks(call, first, 2, 1);
  const Tensor vectors = call.value(first + 1);
  // One product where the matrix is the same for all samples.
  if (!call.is_batched(first)) return matmul(vectors, t(call.tensor(first)));
  return squeeze(matmul(call.value(first), unsqueeze(vectors, -1)), -1);
}

void mm(Call& call) { call.give(product(call, 0, 2)); }
void bmm(Call& call) { call.give(product(call, 0, 3)); }
void mv(Call& call) { call.give(matrix_vector(call, 0)); }
Tensor dot_of(const Tensor& a, const Tensor& b) { return sum(mul(a, b), IntList({-1})); }
void dot(Call& call) {
  check_ranks(call, 0, 1, 1);
  call.give(dot_of(call.value(0), call.value(1)));
}
void vdot(Call& call) {
  check_ranks(call, 0, 1, 1);
  call.give(dot_of(conj(call.value(0)), call.value(1)));
}

// beta * self + alpha * product, by ops on samples, which broadcast.
void add_to(Call& call, const Tensor& product) {
  const Scalar beta = call.args[3].scalar();
  const Scalar alpha = call.args[4].scalar();
  Tensor result = alpha.to_complex() == 1.0 ? product : mul(product, alpha);
  if (beta.to_complex() != 0.0) {
    const Tensor& self = call.tensor(0);
    result = add(beta.to_complex() == 1.0 ? self : mul(self, beta), result);
  }
  call.give_same(result);
}
// Nothing of the product may depend on a sample.
Tensor shown(const Call& call, const Tensor& product) {
  return call.is_batched(1) || call.is_batched(2) ? call.shown(product) : product;
}
void addmm(Call& call) { add_to(call, shown(call, product(call, 1, 2))); }
void baddbmm(Call& call) { add_to(call, shown(call, product(call, 1, 3))); }
void addmv(Call& call) {
  const bool is_same = !call.is_batched(1) && !call.is_batched(2);
  add_to(call, is_same ? mindtorch::mv(call.tensor(1), call.tensor(2))
                       : call.shown(matrix_vector(call, 1)));
}

void linear(Call& call) {
  const Tensor& bias = call.tensor(2);
  if (!call.is_batched(1) && !call.is_batched(2) && call.tensor(1).dim() == 2) {
    return call.give(mindtorch::linear(call.value(0), call.tensor(1), bias));
  }
  NewArguments args(call.args);
  args.set(2, Tensor());
  ops::Outputs made;
  dispatch::run_eager(call.op, args.get(), made);
  call.give_same(bias.defined() ? add(made.tensors[0], bias) : made.tensors[0]);
}

}  // namespace

void define_matmul(Rules& rules) {
  rules.define("mm", &mm);
  rules.define("bmm", &bmm);
  rules.define("mv", &mv);
  rules.define("dot", &dot);
  rules.define("vdot", &vdot);
  rules.define("addmm", &addmm);
  rules.define("baddbmm", &baddbmm);
  rules.define("addmv", &addmv);
  rules.define("linear", &linear);
}

}  // namespace mindtorch::batching
