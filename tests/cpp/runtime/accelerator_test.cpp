#include "mindtorch/runtime/accelerator.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <set>
#include <string>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/copy.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::accelerator;
using runtime::find_accelerator;
using runtime::register_driver;
using runtime::runtime_for;

// Runs `check` in a forked child; true if it returned true there.
bool in_child(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const RuntimeError& error) {
    return std::string(error.what()) ==
           "Cannot re-initialize FAKE in forked subprocess. To use FAKE with multiprocessing, "
           "you must use the 'spawn' start method";
  }
  return false;
}

class AcceleratorTest : public RuntimeTest {};

TEST_F(AcceleratorTest, RuntimesAreMadeAtFirstUse) {
  EXPECT_FALSE(accelerator->initialized());
  EXPECT_EQ(accelerator->find_runtime(0), nullptr);
  DeviceRuntime& first = accelerator->runtime(0);
  EXPECT_TRUE(accelerator->initialized());
  EXPECT_EQ(&first, &accelerator->runtime(0));
  EXPECT_EQ(accelerator->find_runtime(0), &first);
  EXPECT_EQ(accelerator->find_runtime(1), nullptr);
  EXPECT_EQ(first.name(), "fake:0");
  EXPECT_EQ(fake.fallible_calls(), 0);
  for (const int bad : {-1, 2, 64, 1 << 20}) {
    EXPECT_THROW(accelerator->runtime(bad), RuntimeError) << bad;
  }
}

// What is registered stays: each run of a test needs a name of its own.
const char* new_kind() {
  static int count = 0;
  return (new std::string("registered " + std::to_string(++count)))->c_str();
}

TEST(AcceleratorRegistry, DriversAreFoundByKind) {
  const char* kind = new_kind();
  EXPECT_EQ(find_accelerator(kind), nullptr);
  EXPECT_THROW(accelerator(kind), RuntimeError);
  EXPECT_THROW(runtime_for(kind, 0), RuntimeError);
  const FakeOptions options{.kind = kind, .device_count = 2, .auto_finish = true};
  runtime::Accelerator& made = register_driver(std::make_unique<FakeDriver>(options));
  EXPECT_EQ(find_accelerator(kind), &made);
  EXPECT_EQ(&runtime_for(kind, 1), &made.runtime(1));
  EXPECT_THROW(runtime_for(kind, 2), RuntimeError);
  EXPECT_THROW(register_driver(std::make_unique<FakeDriver>(options)), RuntimeError);
}

TEST(AcceleratorRegistry, EveryDeviceAddsItsVariables) {
  FakeOptions options{.kind = new_kind()};
  static constexpr FlagOption kFast{"REGISTERED_FAST", false, "Whether this device is fast."};
  static constexpr const Option* kVariables[] = {&kFast};
  options.row.variables = kVariables;
  register_driver(std::make_unique<FakeDriver>(options));
  std::set<std::string> names;
  for (const Option* option : runtime::all_options()) {
    EXPECT_TRUE(names.insert(option->name).second) << option->name;
  }
  for (const char* name : {"REGISTERED_FAST", "MINDTORCH_CPU_JIT", "PYTORCH_ALLOC_CONF"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(AcceleratorRegistry, ThingsLeftAtExitDoNoHarm) {
  // Static objects destroyed after main, in an order nobody controls.
  static Event event;
  static runtime::Allocation block;
  static runtime::Accelerator& made = register_driver(
      std::make_unique<FakeDriver>(FakeOptions{.kind = new_kind(), .auto_finish = true}));
  struct Last {
    ~Last() {
      made.pinned().release(block);
      made.runtime(0).default_stream().defer([](void*) {}, nullptr);
      made.runtime(0).synchronize();
    }
  };
  static Last last;
  event.record(made.runtime(0).pool_stream());
  block = made.pinned().allocate(100);
  made.pinned().record_use(block.data, made.runtime(0).default_stream());
}

TEST_F(AcceleratorTest, AChildOfAProcessThatUsedTheDriverIsRefused) {
  DeviceRuntime& used = device(0);
  const Stream stream = used.pool_stream();
  auto* event = new Event(stream.record_event());
  const runtime::Allocation block = accelerator->pinned().allocate(100);
  char host[4] = {};
  EXPECT_TRUE(in_child([&] {
    const bool all =
        refused([&] { accelerator->runtime(0); }) && refused([&] { accelerator->runtime(1); }) &&
        refused([&] { used.synchronize(); }) && refused([&] { used.pool_stream(); }) &&
        refused([&] { stream.synchronize(); }) && refused([&] { (void)stream.query(); }) &&
        refused([&] { (void)stream.record_event(); }) && refused([&] { event->synchronize(); }) &&
        refused([&] { accelerator->pinned(); }) &&
        refused([&] { runtime::copy_to_device(used, host, host, 4); }) &&
        refused([&] { runtime::set_current_device(*accelerator, 1); });
    const auto calls = [&] {
      return fake.count(Call::destroy_event) + fake.count(Call::release_pinned) +
             fake.count(Call::destroy_stream) + fake.count(Call::wait_device);
    };
    const int64_t before = calls();
    delete event;  // the child drops what it inherited, without the driver
    stream.defer([](void*) { std::abort(); }, nullptr);
    accelerator.reset();
    return all && calls() == before && fake.device_count() == 2;
  }));
  delete event;
  accelerator->pinned().release(block);
  used.synchronize();  // the parent goes on
}

TEST_F(AcceleratorTest, AChildOfAProcessThatOnlyKnewTheDriverMayUseIt) {
  EXPECT_TRUE(in_child([&] {
    const Stream stream = device().pool_stream();
    stream.synchronize();
    const runtime::Allocation block = accelerator->pinned().allocate(100);
    accelerator->pinned().release(block);
    return accelerator->initialized();
  }));
  EXPECT_FALSE(accelerator->initialized());
}

TEST_F(AcceleratorTest, InAChildTheDriverIsNotInitialized) {
  device();
  EXPECT_TRUE(in_child([&] { return !accelerator->initialized() && accelerator->forked(); }));
}

}  // namespace
}  // namespace mindtorch::test
