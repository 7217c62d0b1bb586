#include "mindtorch/runtime/accelerator.h"

#include <algorithm>

#include "mindtorch/base/error.h"
#include "mindtorch/base/warning.h"
#include "mindtorch/driver/device_row.h"
#include "mindtorch/runtime/math_mode.h"

namespace mindtorch::runtime {
namespace {

uint32_t next_accelerator_slot() {
  static std::atomic<uint32_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// A list that only grows, at its head: every op looks its device up, and takes no lock for it.
struct Registry {
  struct Entry {
    Accelerator* accelerator;
    const Entry* next;
  };
  std::mutex mutex;  // registering
  std::atomic<const Entry*> first{nullptr};

  Accelerator* find(std::string_view kind) const noexcept {
    const Entry* entry = first.load(std::memory_order_acquire);
    while (entry != nullptr && kind != entry->accelerator->kind()) entry = entry->next;
    return entry == nullptr ? nullptr : entry->accelerator;
  }
};

// Neither the registry nor what is in it is ever destroyed: tensors in static storage may be freed
// after any destructor of ours, and a vendor's library may be gone by then.
Registry& registry() {
  static Registry& registry = *new Registry;
  return registry;
}

Registry& filled_registry() {
  static std::once_flag installed;
  std::call_once(installed, &install_drivers);
  return registry();
}

}  // namespace

Accelerator::Accelerator(driver::DeviceDriver& driver)
    : driver_(driver), kind_(driver.kind()), slot_(next_accelerator_slot()), pinned_(driver) {
  watch_forks();
}

Accelerator::~Accelerator() {
  if (forked()) return;
  pinned_.close();  // its events belong to the runtimes
  for (const auto& runtime : runtimes_) delete runtime.load();
}

int Accelerator::device_count() const noexcept {
  return std::min(driver_.device_count(), kMaxDevices);
}

bool Accelerator::reach_peer(int device, int peer) {
  auto& known = reach_[static_cast<size_t>(device)][static_cast<size_t>(peer)];
  if (MT_LIKELY(known.load(std::memory_order_acquire) == Reach::kYes)) return true;
  std::lock_guard lock(mutex_);
  if (known.load(std::memory_order_relaxed) == Reach::kUnknown) {
    driver::PeerAccess* const access = driver_.peer_access();
    const bool possible = access == nullptr || access->can_access(device, peer);
    // A device without such calls copies as it is.
    if (access != nullptr && possible) access->enable(device, peer);
    known.store(possible ? Reach::kYes : Reach::kNo, std::memory_order_release);
  }
  return known.load(std::memory_order_relaxed) == Reach::kYes;
}

const AllocConf& Accelerator::alloc_conf() {
  std::call_once(conf_read_, [this] {
    conf_ = AllocConf::parse(AllocConf::environment_text(driver_.row()), &warn);
    pinned_.configure({conf_.pinned_max_cached_size, conf_.pinned_max_round_threshold,
                       conf_.pinned_reserve_segment_size});
  });
  return conf_;
}

bool Accelerator::initialized() const noexcept {
  return used_in_.load(std::memory_order_relaxed) == fork_generation();
}

void Accelerator::check_device(int device) const {
  if (find_runtime(device) != nullptr) return;
  const int count = device_count();
  MT_CHECK(device >= 0 && device < count, RuntimeError, kind(), " error: invalid device ordinal ",
           device, ": there ", count == 1 ? "is " : "are ", count, " ", kind(),
           count == 1 ? " device" : " devices");
}

DeviceRuntime* Accelerator::find_runtime(int device) const noexcept {
  if (device < 0 || device >= kMaxDevices) return nullptr;
  return runtimes_[static_cast<size_t>(device)].load(std::memory_order_acquire);
}

DeviceRuntime& Accelerator::runtime(int device) {
  check_usable();
  if (DeviceRuntime* made = find_runtime(device)) return *made;
  check_device(device);
  alloc_conf();  // may warn: outside the lock
  std::lock_guard lock(mutex_);
  auto& slot = runtimes_[static_cast<size_t>(device)];
  if (DeviceRuntime* made = slot.load(std::memory_order_acquire)) return *made;
  auto made = std::make_unique<DeviceRuntime>(*this, device);
  MathMode::instance().apply(*this);
  used_in_.store(fork_generation(), std::memory_order_relaxed);
  slot.store(made.get(), std::memory_order_release);
  return *made.release();
}

PinnedPool& Accelerator::pinned() {
  check_usable();
  if (MT_UNLIKELY(!initialized())) {
    alloc_conf();
    used_in_.store(fork_generation(), std::memory_order_relaxed);
  }
  return pinned_;
}

void Accelerator::refuse_fork() const {
  const char* const title = driver_.row().title;
  MT_THROW(RuntimeError, "Cannot re-initialize ", title, " in forked subprocess. To use ", title,
           " with multiprocessing, you must use the 'spawn' start method");
}

Accelerator& register_driver(std::unique_ptr<driver::DeviceDriver> driver) {
  Registry& known = registry();
  std::lock_guard lock(known.mutex);
  MT_CHECK(known.find(driver->kind()) == nullptr, RuntimeError, "a driver for the device type ",
           driver->kind(), " is registered already");
  auto made = std::make_unique<Accelerator>(*driver);
  auto* const entry = new Registry::Entry{made.get(), known.first.load()};
  driver.release();  // lives as long as the accelerator: until the process ends
  known.first.store(entry, std::memory_order_release);
  return *made.release();
}

Accelerator* find_accelerator(std::string_view kind) noexcept {
  return filled_registry().find(kind);
}

std::vector<Accelerator*> accelerators() {
  std::vector<Accelerator*> all;
  const Registry::Entry* entry = filled_registry().first.load(std::memory_order_acquire);
  for (; entry != nullptr; entry = entry->next) all.push_back(entry->accelerator);
  std::ranges::reverse(all);
  return all;
}

std::vector<const Option*> all_options() {
  std::vector<const Option*> all;
  for (const Accelerator* accelerator : accelerators()) {
    const auto variables = accelerator->driver().row().variables;
    all.insert(all.end(), variables.begin(), variables.end());
  }
  const auto common = common_options();
  all.insert(all.end(), common.begin(), common.end());
  return all;
}

Accelerator& accelerator(std::string_view kind) {
  Accelerator* found = find_accelerator(kind);
  MT_CHECK(found != nullptr, RuntimeError, "no driver is registered for the device type ", kind);
  return *found;
}

DeviceRuntime& runtime_for(std::string_view kind, int device) {
  return accelerator(kind).runtime(device);
}

}  // namespace mindtorch::runtime
