#include "mindtorch/tensor/captured_draws.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "mindtorch/base/error.h"
#include "mindtorch/driver/device_row.h"
#include "mindtorch/runtime/copy.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/graph.h"

namespace mindtorch {
namespace {

using Place = OffsetGenerator::Place;
static_assert(sizeof(Place) == 2 * sizeof(int64_t));

// Memory for places, in blocks that stay. Not in a graph's pool: its own work, earlier than what
// reads the place, may have used the same memory. Nor of the caching allocator, of which a graph
// that stays would keep a whole segment.
class PlaceMemory {
 public:
  // Never destroyed: at exit the device may be gone before.
  static PlaceMemory& of(runtime::DeviceRuntime& runtime) {
    static std::mutex mutex;
    static auto& all = *new std::map<runtime::DeviceRuntime*, PlaceMemory>;
    const std::lock_guard lock(mutex);
    return all[&runtime];
  }

  void* take(runtime::DeviceRuntime& runtime) {
    constexpr size_t kPlaces = 256;
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      auto* const block =
          static_cast<char*>(runtime.driver().allocate(runtime.device(), kPlaces * sizeof(Place)));
      MT_CHECK(block != nullptr, RuntimeError, runtime.name(), " has no memory for a graph");
      for (size_t i = kPlaces; i-- > 0;) free_.push_back(block + i * sizeof(Place));
    }
    void* const place = free_.back();
    free_.pop_back();
    return place;
  }
  void give_back(void* place) {
    const std::lock_guard lock(mutex_);
    free_.push_back(place);
  }

 private:
  std::mutex mutex_;
  std::vector<void*> free_;
};

// All that one graph draws from one generator.
class CapturedDraws final : public runtime::ReplayInput {
 public:
  CapturedDraws(std::shared_ptr<OffsetGenerator> generator, runtime::DeviceRuntime& runtime)
      : generator_(std::move(generator)),
        runtime_(runtime),
        memory_(PlaceMemory::of(runtime)),
        place_(memory_.take(runtime)) {}
  ~CapturedDraws() override { memory_.give_back(place_); }

  bool is_of(const OffsetGenerator& generator) const { return generator_.get() == &generator; }

  CapturedPlace draw(Device device, uint64_t count) {
    const Storage storage = StorageImpl::borrow(place_, sizeof(Place), device, nullptr, nullptr);
    const auto number = [&](int64_t index) {
      return Tensor::over(storage, DType::kInt64, IntList(kOne), IntList(kOne), index);
    };
    return {number(0), number(1), std::exchange(count_, count_ + count)};
  }

  void prepare() override {
    last_ = generator_->advance(count_);
    try {
      runtime::copy_to_device(runtime_, place_, &last_, sizeof(last_), true);
    } catch (...) {
      cancel();
      throw;
    }
  }
  void cancel() noexcept override { generator_->take_back(last_, count_); }

 private:
  static constexpr int64_t kOne[] = {1};

  const std::shared_ptr<OffsetGenerator> generator_;
  runtime::DeviceRuntime& runtime_;
  PlaceMemory& memory_;
  void* const place_;  // on the device; written before the graph runs
  uint64_t count_ = 0;
  Place last_{};
};

}  // namespace

CapturedPlace draw_captured(OffsetGenerator& generator,
                            runtime::Stream stream,
                            Device device,
                            uint64_t count) {
  runtime::Graph* const graph = runtime::Graph::capturing(stream);
  const auto kept = std::dynamic_pointer_cast<OffsetGenerator>(generator.weak_from_this().lock());
  MT_CHECK(graph != nullptr && kept != nullptr, RuntimeError,
           "Random numbers can be captured on the stream that the capture of the ",
           stream.runtime().driver().row().title, " graph began on only.");
  for (const auto& input : graph->inputs()) {
    auto* const draws = dynamic_cast<CapturedDraws*>(input.get());
    if (draws != nullptr && draws->is_of(generator)) return draws->draw(device, count);
  }
  auto draws = std::make_shared<CapturedDraws>(kept, stream.runtime());
  graph->add(draws);
  return draws->draw(device, count);
}

}  // namespace mindtorch
