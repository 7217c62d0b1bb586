// A program outside the repository: only installed headers, only exported symbols.
#include <iostream>

#include "mindtorch/base/error.h"
#include "mindtorch/functional/functions.h"

int main() {
  const mindtorch::Tensor ones = mindtorch::ones({2, 3});
  const mindtorch::Tensor product = mindtorch::matmul(mindtorch::add(ones, ones), ones.t());
  if (product.size(0) != 2 || product.sum().item().to_double() != 24.0) {
    std::cerr << "a matrix product went wrong\n";
    return 1;
  }
  try {
    mindtorch::add(ones, mindtorch::ones({4}));
  } catch (const mindtorch::RuntimeError& error) {
    std::cout << error.what() << '\n';
    return 0;
  }
  std::cerr << "shapes that do not broadcast were accepted\n";
  return 1;
}
