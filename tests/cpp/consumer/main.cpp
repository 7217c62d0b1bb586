// A program outside the repository: only installed headers, only exported symbols.
#include <iostream>
#include <string>

#include "mindtorch/base/error.h"

int main() {
  try {
    throw mindtorch::ValueError("a text");
  } catch (const mindtorch::Error& error) {
    std::cout << error.what() << '\n';
    return std::string(error.what()).find("a text") == std::string::npos ? 1 : 0;
  }
}
