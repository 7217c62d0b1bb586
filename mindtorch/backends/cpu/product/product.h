#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/gemm.h"
#include "mindtorch/tensor/float16.h"

// Note [Products by tiles]
// A tile of c, as many sums as the registers hold, is computed from a few rows of a, whose elements
// are broadcast one by one, and a panel of b, whose rows fill two vectors. Panels are packed so
// that a tile reads b in order; rows of a are copied to lie close together. Both are read as they
// lie where a copy would cost more than it saves. Elements of 16 bits are widened by the copying.
// The rows of a stay in the first cache while all panels of a block pass; the panels stay in the
// second while all rows of a block pass. Note [Division of products] tells how threads share that.
//
// Panels that several blocks need are packed once, by the first thread that wants one: it marks the
// panel, and others wait only if they want the same panel while it is being packed. Blocks side by
// side begin with different panels, so that they rarely do, and no thread waits for all others.
namespace mindtorch::cpu::product {

// c = alpha * a @ b + beta * addend for `batch` products whose matrices lie *_batch elements apart.
// No size is 0. `addend` may be c; without data there is none.
struct Problem {
  int64_t batch;
  int64_t m;
  int64_t n;
  int64_t k;
  ConstMatrix a;
  int64_t a_batch;
  ConstMatrix b;
  int64_t b_batch;
  Matrix c;
  int64_t c_batch;
  ConstMatrix addend;
  int64_t addend_batch;
  double alpha;
  double beta;
};

template <typename S>  // float, double, Half, BFloat16
void multiply(const Problem& problem);

}  // namespace mindtorch::cpu::product
