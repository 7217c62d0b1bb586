#pragma once

#include <vector>

#include "simulator/ascend/ops/loops.h"

namespace sim {

// c[m,n] = alpha * a[m,k] @ b[k,n] + beta * c, all row-major and contiguous.
void gemm(int64_t m,
          int64_t n,
          int64_t k,
          float alpha,
          const float* a,
          const float* b,
          float beta,
          float* c);

// The product of two matrices of any layout.
std::vector<float> multiply(const View& a, const View& b);

}  // namespace sim
