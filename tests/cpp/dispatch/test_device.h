#pragma once

#include <atomic>
#include <memory>

#include "mindtorch/ops/registry.h"
#include "tests/cpp/support/fake_driver.h"

namespace mindtorch::test {

// A device without vendor code, under the name "cuda": memory and streams are those of a scripted
// driver, kernels compute on the host what the CPU's do, on the launch's stream. It has a pointwise
// engine and a fusion engine of its own, with small limits, and of row functions
// only sums over leading dims. Of itself it states dtypes that no other device has in this choice,
// and its attention keeps other notes.
class TestDevice {
 public:
  static TestDevice& instance();

  static constexpr DeviceType kType = DeviceType::kCuda;
  // All that its tensors can be of.
  static constexpr DTypeSet kDTypes = bit(DType::kBool) | bit(DType::kUInt8) | bit(DType::kInt32) |
                                      bit(DType::kInt64) | bit(DType::kFloat16) |
                                      bit(DType::kFloat32) | bit(DType::kComplex64) |
                                      bit(DType::kUInt16) | bit(DType::kFloat8E5M2);
  static constexpr size_t kMaxSteps = 6;
  static constexpr size_t kMaxInputs = 7;
  static constexpr size_t kMaxStores = 16;

  FakeDriver& driver() { return *driver_; }
  ops::Registry& registry();
  // Runs a group on the host, on the launch's stream.
  static std::shared_ptr<const ops::FusedProgram> program(const ops::FusedGroup& group);

  // How often each part of the device was used.
  std::atomic<int> kernels{0};
  std::atomic<int> pointwise{0};
  std::atomic<int> groups{0};
  std::atomic<size_t> largest_group{0};
  std::atomic<int> foreign_notes{0};  // rows that its backward attention did not know again

 private:
  TestDevice();
  FakeDriver* driver_;
};

// Takes an engine off the device, for the length of a test.
class WithoutPointwiseEngine {
 public:
  WithoutPointwiseEngine();
  ~WithoutPointwiseEngine();

 private:
  const ops::PointwiseFn engine_;
  const ops::FusionEngine* const fusion_;
};

// Takes the pointwise engine off the device, but not the fusion engine, for the length of a test.
class WithFusionEngineOnly {
 public:
  WithFusionEngineOnly();
  ~WithFusionEngineOnly();

 private:
  const ops::PointwiseFn engine_;
};

// Gives the device another fusion engine, for the length of a test.
class WithFusionEngine {
 public:
  explicit WithFusionEngine(const ops::FusionEngine& engine);
  ~WithFusionEngine();

 private:
  const ops::FusionEngine* const before_;
};

}  // namespace mindtorch::test
