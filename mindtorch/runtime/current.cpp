// The current stream and device of a thread: see stream.h.
#include <cstdint>
#include <cstdlib>
#include <new>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/hooks.h"
#include "mindtorch/runtime/stream.h"

namespace mindtorch::runtime {
namespace {

// Values by slot. A slot beyond the end holds the default, so that reading never allocates.
// Trivially destructible, with a guard object that empties it: a destructor of another
// thread-local that comes later still reads defaults.
template <typename Value>
struct Slots {
  Value* values = nullptr;
  uint32_t count = 0;

  Value get(uint32_t slot) const noexcept { return slot < count ? values[slot] : Value{}; }
  void set(uint32_t slot, Value value) {
    if (slot >= count) grow(slot);
    values[slot] = value;
  }
  void grow(uint32_t slot) {
    const uint32_t wanted = (slot + 8) / 8 * 8;
    auto* grown = static_cast<Value*>(std::realloc(values, wanted * sizeof(Value)));
    if (grown == nullptr) throw std::bad_alloc();
    values = grown;
    while (count < wanted) values[count++] = Value{};
  }
  void clear() noexcept {
    std::free(values);
    values = nullptr;
    count = 0;
  }
};

struct ThreadValues {
  Slots<StreamState*> streams;  // null: the default stream
  Slots<int> devices;
  bool registered = false;
  bool closed = false;
};

constinit thread_local ThreadValues t_values __attribute__((tls_model("initial-exec")));

struct ThreadValuesGuard {
  ~ThreadValuesGuard() {
    t_values.streams.clear();
    t_values.devices.clear();
    t_values.closed = true;
  }
};

// False when the thread is past its end: nothing is kept any more.
bool can_set() {
  if (t_values.closed) return false;
  if (!t_values.registered) {
    thread_local ThreadValuesGuard guard;
    (void)guard;
    t_values.registered = true;
  }
  return true;
}

}  // namespace

Stream current_stream(DeviceRuntime& runtime) noexcept {
  StreamState* state = t_values.streams.get(runtime.slot());
  return state != nullptr ? Stream(*state) : runtime.default_stream();
}

void set_current_stream(Stream stream) {
  DeviceRuntime& runtime = stream.runtime();
  if (stream == current_stream(runtime)) return;  // what is deferred goes on
  hooks().before_sync(SyncPoint::kSwitchStream);
  if (can_set()) t_values.streams.set(runtime.slot(), &stream.state());
}

int current_device(const Accelerator& accelerator) noexcept {
  return t_values.devices.get(accelerator.slot());
}

void set_current_device(Accelerator& accelerator, int device) {
  accelerator.check_device(device);
  if (device == current_device(accelerator) || !can_set()) return;
  accelerator.check_usable();
  accelerator.driver().bind_thread(device);
  t_values.devices.set(accelerator.slot(), device);
}

void set_stream(Stream stream) {
  if (!stream) return;
  set_current_device(stream.runtime().accelerator(), stream.device());
  set_current_stream(stream);
}

DeviceGuard::DeviceGuard(Accelerator& accelerator, int device)
    : accelerator_(accelerator), previous_(current_device(accelerator)) {
  if (device >= 0) set_current_device(accelerator, device);
}

DeviceGuard::~DeviceGuard() {
  if (current_device(accelerator_) == previous_ || !can_set()) return;
  t_values.devices.set(accelerator_.slot(), previous_);  // there is room: a value was set before
  if (accelerator_.find_runtime(previous_) == nullptr) return;
  try {
    accelerator_.driver().bind_thread(previous_);
  } catch (...) {  // the driver binds threads itself where it must
  }
}

StreamGuard::StreamGuard(Stream stream) {
  if (!stream) return;
  Accelerator& accelerator = stream.runtime().accelerator();
  const int device = current_device(accelerator);
  if (device != stream.device()) {
    if (DeviceRuntime* runtime = accelerator.find_runtime(device)) {
      previous_ = current_stream(*runtime);
    }
  }
  device_.emplace(accelerator, stream.device());
  const Stream replaced = current_stream(stream.runtime());
  set_current_stream(stream);
  replaced_ = replaced;
}

StreamGuard::~StreamGuard() {
  // Neither allocates: both devices' slots exist once a stream was set there, and setting the
  // default stream where none was set does nothing.
  if (replaced_) set_current_stream(replaced_);
  if (previous_) set_current_stream(previous_);
}

}  // namespace mindtorch::runtime
