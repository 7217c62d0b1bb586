#include "mindtorch/base/error.h"

namespace mindtorch::detail {

void assertion_failed(const char* condition, const char* file, int line) {
  MT_THROW(RuntimeError, "mindtorch internal error: ", condition, " is false at ", file, ":", line,
           ". This is a bug in mindtorch; please report it.");
}

}  // namespace mindtorch::detail
