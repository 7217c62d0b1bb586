// The backend over the simulator's libraries, in this process.
#include <gtest/gtest.h>

#include <cstdlib>

#include "mindtorch/functional/functions.h"
#include "mindtorch/runtime/accelerator.h"
#include "tests/cpp/support/failing_new.h"

namespace mindtorch::test {
namespace {

// Before anybody looks for NPUs: a process chooses them once.
[[maybe_unused]] const bool kChosen = [] {
  setenv("MINDTORCH_NPU", "sim", 1);
  setenv("MINDTORCH_SIM_LIBRARY_DIR", SIMULATOR_DIR, 1);
  setenv("MINDTORCH_SIM_CHECKS", "none", 1);
  return true;
}();

class SimulatedNpu : public ::testing::Test {
 protected:
  const Device npu{DeviceType::kNpu, 0};
  Tensor a = full({4, 4}, Scalar(2.0), DType::kFloat32, npu);
  Tensor b = full({4, 4}, Scalar(3.0), DType::kFloat32, npu);
  void synchronize() { runtime::runtime_for("npu", 0).synchronize(); }
};

TEST_F(SimulatedNpu, Computes) {
  EXPECT_EQ(item(sum(mul(add(a, b), a))).to_double(), 160);
}

// What an op costs the host is lookups, addresses and one queue entry.
TEST_F(SimulatedNpu, ACallSeenBeforeTouchesNoHeap) {
  if (!testing::kCanFailNew) GTEST_SKIP() << "the sanitizer brings its own operator new";
  const auto step = [&] {
    add(a, b);
    add(a, Scalar(2.0));
    add_(a, b);
    matmul(a, b);
  };
  for (int i = 0; i < 1000; ++i) step();
  synchronize();
  for (int i = 0; i < 100; ++i) {
    testing::FailNew fail(1);
    step();
    EXPECT_FALSE(fail.failed()) << i;
  }
  synchronize();
}

}  // namespace
}  // namespace mindtorch::test
