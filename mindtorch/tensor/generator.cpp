#include "mindtorch/tensor/generator.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <type_traits>
#include <utility>

#include "mindtorch/base/error.h"

namespace mindtorch {

void Generator::manual_seed(uint64_t seed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  seed_locked(seed);
}

uint64_t Generator::seed() {
  std::random_device device;
  const uint64_t high = device();
  // 53 bits, so that the seed survives languages whose only number is a double.
  const uint64_t seed = (high << 32 | device()) & ((uint64_t{1} << 53) - 1);
  manual_seed(seed);
  return seed;
}

uint64_t Generator::initial_seed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return initial_seed_locked();
}

std::vector<uint8_t> Generator::get_state() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return get_state_locked();
}

void Generator::set_state(std::span<const uint8_t> state) {
  const std::lock_guard<std::mutex> lock(mutex_);
  set_state_locked(state);
}

std::shared_ptr<Generator> Generator::clone() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return clone_locked();
}

namespace {

// The layout of torch's saved CPU state. The engine's 32-bit words lie in 64-bit places.
struct SavedState {
  uint64_t seed;
  int32_t left;
  int32_t seeded;
  uint64_t next;
  uint64_t words[Mt19937::kStateWords];
  double unused_normal_x;
  double next_double_normal;
  double unused_normal_rho;
  int32_t has_next_double_normal;
  int32_t padding;
  float next_float_normal;
  uint8_t has_next_float_normal;
  uint8_t more_padding[3];
};
static_assert(sizeof(SavedState) == 5056 && std::is_trivially_copyable_v<SavedState>);

}  // namespace

CpuGenerator::CpuGenerator(uint64_t seed)
    : Generator(DeviceType::kCpu), seed_(seed), source_{Mt19937(seed), {}, {}} {}

CpuGenerator& CpuGenerator::from(Generator& generator) {
  MT_CHECK(generator.device().is_cpu(), RuntimeError,
           "Expected a 'cpu' device type for generator but found '", name(generator.device().type),
           "'");
  return static_cast<CpuGenerator&>(generator);
}

uint32_t CpuGenerator::random32() { return Lock(*this)->engine.next32(); }

uint64_t CpuGenerator::random64() { return Lock(*this)->engine.next64(); }

void CpuGenerator::seed_locked(uint64_t seed) {
  seed_ = seed;
  source_ = Source{Mt19937(seed), {}, {}};
}

std::vector<uint8_t> CpuGenerator::get_state_locked() const {
  const Mt19937::State& engine = source_.engine.state();
  SavedState saved{};
  saved.seed = seed_;
  saved.left = engine.left;
  saved.seeded = 1;
  saved.next = engine.next;
  std::copy(engine.words.begin(), engine.words.end(), saved.words);
  saved.next_double_normal = source_.next_double_normal.value_or(0);
  saved.has_next_double_normal = source_.next_double_normal.has_value();
  saved.next_float_normal = source_.next_float_normal.value_or(0);
  saved.has_next_float_normal = source_.next_float_normal.has_value();

  std::vector<uint8_t> bytes(sizeof(saved));
  std::memcpy(bytes.data(), &saved, sizeof(saved));
  return bytes;
}

void CpuGenerator::set_state_locked(std::span<const uint8_t> state) {
  SavedState saved;
  MT_CHECK(state.size() == sizeof(saved), RuntimeError, "Expected a CPUGeneratorImplState of size ",
           sizeof(saved), " but found the input RNG state size to be ", state.size());
  std::memcpy(&saved, state.data(), sizeof(saved));

  Mt19937::State engine;
  std::transform(std::begin(saved.words), std::end(saved.words), engine.words.begin(),
                 [](uint64_t word) { return static_cast<uint32_t>(word); });
  engine.left = saved.left;
  engine.next = static_cast<uint32_t>(saved.next);
  const bool is_valid =
      saved.seeded != 0 && saved.next <= Mt19937::kStateWords && source_.engine.set_state(engine);
  MT_CHECK(is_valid, RuntimeError, "Invalid mt19937 state");
  seed_ = saved.seed;
  source_.next_double_normal.reset();
  source_.next_float_normal.reset();
  if (saved.has_next_double_normal != 0) source_.next_double_normal = saved.next_double_normal;
  if (saved.has_next_float_normal != 0) source_.next_float_normal = saved.next_float_normal;
}

std::shared_ptr<Generator> CpuGenerator::clone_locked() const {
  auto copy = std::make_shared<CpuGenerator>(seed_);
  copy->source_ = source_;
  return copy;
}

OffsetGenerator& OffsetGenerator::from(Generator& generator, DeviceType type) {
  MT_CHECK(generator.device().type == type, RuntimeError, "Expected a '", name(type),
           "' device type for generator but found '", name(generator.device().type), "'");
  return static_cast<OffsetGenerator&>(generator);
}

OffsetGenerator::Place OffsetGenerator::advance(uint64_t count) {
  const std::lock_guard<std::mutex> lock(mutex());
  const Place now = place_;
  place_.offset += count;
  return now;
}

void OffsetGenerator::take_back(Place place, uint64_t count) noexcept {
  const std::lock_guard<std::mutex> lock(mutex());
  const bool is_last = place_.seed == place.seed && place_.offset == place.offset + count;
  if (is_last) place_ = place;
}

std::vector<uint8_t> OffsetGenerator::get_state_locked() const {
  std::vector<uint8_t> bytes(sizeof(place_));
  std::memcpy(bytes.data(), &place_, sizeof(place_));
  return bytes;
}

void OffsetGenerator::set_state_locked(std::span<const uint8_t> state) {
  MT_CHECK(state.size() == sizeof(place_), RuntimeError, "RNG state is wrong size");
  std::memcpy(&place_, state.data(), sizeof(place_));
}

std::shared_ptr<Generator> OffsetGenerator::clone_locked() const {
  auto copy = std::make_shared<OffsetGenerator>(device(), place_.seed);
  copy->place_ = place_;
  return copy;
}

GeneratorPtr make_generator(Device device, uint64_t seed) {
  if (device.is_cpu()) return std::make_shared<CpuGenerator>(seed);
  MT_CHECK(!device.is_meta(), RuntimeError, "Device type ", device.str(),
           " is not supported for torch.Generator() api.");
  return std::make_shared<OffsetGenerator>(device, seed);
}

namespace {

// The default generators of accelerators, made at first use.
struct DefaultGenerators {
  std::mutex mutex;
  uint64_t seed = Generator::kDefaultSeed;  // of those not made yet
  std::map<std::pair<DeviceType, int>, GeneratorPtr> made;
};

DefaultGenerators& default_generators() {
  static auto& generators = *new DefaultGenerators;  // outlives what draws at exit
  return generators;
}

}  // namespace

const GeneratorPtr& default_cpu_generator() {
  static const GeneratorPtr generator = std::make_shared<CpuGenerator>();
  return generator;
}

const GeneratorPtr& default_generator(Device device) {
  if (device.is_cpu()) return default_cpu_generator();
  DefaultGenerators& all = default_generators();
  const std::lock_guard<std::mutex> lock(all.mutex);
  GeneratorPtr& generator = all.made[{device.type, device.index}];
  if (generator == nullptr) generator = make_generator(device, all.seed);
  return generator;
}

void seed_default_generators(uint64_t seed) {
  default_cpu_generator()->manual_seed(seed);
  DefaultGenerators& all = default_generators();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.seed = seed;
  for (const auto& [device, generator] : all.made) generator->manual_seed(seed);
}

}  // namespace mindtorch
