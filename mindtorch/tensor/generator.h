#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/device.h"
#include "mindtorch/tensor/mt19937.h"

namespace mindtorch {

// The source of a device's random numbers. Shared: all that draw, save or seed hold a
// GeneratorPtr to the same object. Every member function may be called from any thread; a fill
// holds mutex() from its first number to its last, so that one seed gives one result.
//
// A kind of device adds its kind of generator by deriving from this class. Ops pass Generator&
// along and only the device's own kernels look inside.
class MT_API Generator : public std::enable_shared_from_this<Generator> {
 public:
  // What a new generator starts from, and what torch's default generator starts from.
  static constexpr uint64_t kDefaultSeed = 67280421310721;

  explicit Generator(Device device) : device_(device) {}
  virtual ~Generator() = default;
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  Device device() const { return device_; }
  std::mutex& mutex() const { return mutex_; }

  // Starts over from `seed`. A negative Python seed arrives here as its two's complement, which is
  // torch's rule.
  void manual_seed(uint64_t seed);
  // Starts over from a seed that the system picks, and returns it.
  uint64_t seed();
  // The seed it last started over from.
  uint64_t initial_seed() const;

  // Everything the numbers to come depend on, in torch's format for this kind of device.
  std::vector<uint8_t> get_state() const;
  // Throws RuntimeError where the bytes are no such state; the generator is then unchanged.
  void set_state(std::span<const uint8_t> state);
  // A generator of its own that goes on with the same numbers.
  std::shared_ptr<Generator> clone() const;

 protected:
  // Called with the mutex held.
  virtual void seed_locked(uint64_t seed) = 0;
  virtual uint64_t initial_seed_locked() const = 0;
  virtual std::vector<uint8_t> get_state_locked() const = 0;
  virtual void set_state_locked(std::span<const uint8_t> state) = 0;
  virtual std::shared_ptr<Generator> clone_locked() const = 0;

 private:
  Device device_;
  mutable std::mutex mutex_;
};

using GeneratorPtr = std::shared_ptr<Generator>;

// Gives torch's numbers for torch's seeds. Its state is torch's, byte for byte: 5056 of them.
class MT_API CpuGenerator final : public Generator {
 public:
  explicit CpuGenerator(uint64_t seed = kDefaultSeed);

  // Throws torch's RuntimeError for a generator of another device.
  static CpuGenerator& from(Generator& generator);

  uint32_t random32();
  uint64_t random64();

  // What kernels draw from. The Box-Muller method makes normals in pairs; the second of a pair
  // waits here. No distribution draws single floats now, but saved states have the place.
  struct Source {
    Mt19937 engine;
    std::optional<double> next_double_normal;
    std::optional<float> next_float_normal;
  };
  // Exclusive use of the source for as long as this object lives.
  class Lock {
   public:
    explicit Lock(CpuGenerator& generator)
        : lock_(generator.mutex()), source_(&generator.source_) {}
    Source& operator*() const { return *source_; }
    Source* operator->() const { return source_; }

   private:
    std::lock_guard<std::mutex> lock_;
    Source* source_;
  };

 private:
  void seed_locked(uint64_t seed) override;
  uint64_t initial_seed_locked() const override { return seed_; }
  std::vector<uint8_t> get_state_locked() const override;
  void set_state_locked(std::span<const uint8_t> state) override;
  std::shared_ptr<Generator> clone_locked() const override;

  uint64_t seed_;
  Source source_;
};

// An accelerator's: a seed, and how far the program has drawn from it. The device's own ops make
// numbers of the two. Its state is torch's for such devices: seed and offset, 8 bytes each.
class MT_API OffsetGenerator final : public Generator {
 public:
  explicit OffsetGenerator(Device device, uint64_t seed = kDefaultSeed)
      : Generator(device), place_{seed, 0} {}

  // Throws torch's RuntimeError for a generator of another kind of device.
  static OffsetGenerator& from(Generator& generator, DeviceType type);

  struct Place {
    uint64_t seed;
    uint64_t offset;
  };
  // Where to draw from; who draws next begins `count` further.
  Place advance(uint64_t count);
  // Nothing was drawn there after all. Somebody who has drawn since keeps what he has.
  void take_back(Place place, uint64_t count) noexcept;

 private:
  void seed_locked(uint64_t seed) override { place_ = {seed, 0}; }
  uint64_t initial_seed_locked() const override { return place_.seed; }
  std::vector<uint8_t> get_state_locked() const override;
  void set_state_locked(std::span<const uint8_t> state) override;
  std::shared_ptr<Generator> clone_locked() const override;

  Place place_;
};

// A generator for this device, of the kind it needs.
MT_API GeneratorPtr make_generator(Device device, uint64_t seed = Generator::kDefaultSeed);

// What ops on a device draw from when they are given no generator.
MT_API const GeneratorPtr& default_cpu_generator();
// `device` has an index if it is an accelerator.
MT_API const GeneratorPtr& default_generator(Device device);
// Starts over the default generators of all devices, also of those that are first used later.
MT_API void seed_default_generators(uint64_t seed);

}  // namespace mindtorch
