#pragma once

#include <string>

namespace mindtorch::testing {

// The text of the `Class` that the body throws; other exceptions pass and fail the test.
template <typename Class, typename Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Class& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace mindtorch::testing
