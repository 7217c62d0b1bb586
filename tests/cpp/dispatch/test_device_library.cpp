// The test device in a library, for Python: torch.ops.load_library("libtest_device.so").
#include "mindtorch/ops/extension.h"
#include "tests/cpp/dispatch/test_device.h"

MINDTORCH_LIBRARY(test_device, ops) {
  static_cast<void>(ops);  // it has no ops of its own
  mindtorch::test::TestDevice::instance();
}
