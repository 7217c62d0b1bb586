// Tensors from C++: the names and rules of the Python package, with types.
#include <cstdint>
#include <iostream>

#include "mindtorch/mindtorch.h"

using mindtorch::DType;
using mindtorch::Tensor;

namespace {

// Elements of a small matrix, row by row. data<T>() is the memory itself; a view may jump in it,
// so ask for contiguous memory first.
void print(const char* label, const Tensor& matrix) {
  const Tensor rows = matrix.contiguous();
  const float* element = rows.data<float>();
  std::cout << label << '\n';
  for (int64_t row = 0; row < rows.size(0); ++row) {
    for (int64_t column = 0; column < rows.size(1); ++column) std::cout << ' ' << *element++;
    std::cout << '\n';
  }
}

}  // namespace

int main() {
  // Creation and arithmetic: a free function, an operator and a method are the same op.
  const Tensor a = mindtorch::arange(6, DType::kFloat32).view({2, 3});
  const Tensor b = mindtorch::ones({3});
  print("a", a);
  print("mindtorch::add(a, b)", mindtorch::add(a, b));
  print("a + b * 10", a + b * 10);
  print("a.exp()", a.exp());

  // A view shares memory with its base: writing through one changes the other.
  const Tensor turned = a.t();
  turned.mul_(-1);
  print("a, after a.t().mul_(-1)", a);

  // Matrix product and reductions.
  print("a @ a.t()", mindtorch::matmul(a, turned));
  std::cout << "a.sum() = " << a.sum().item().to_double() << '\n';

  // Mistakes are exceptions with torch's texts.
  try {
    mindtorch::add(a, mindtorch::ones({4}));
  } catch (const mindtorch::Error& error) {
    std::cout << "error: " << error.what() << '\n';
  }
}
