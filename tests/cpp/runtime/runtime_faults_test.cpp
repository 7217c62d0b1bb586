// A fault at every driver call in turn: no crash, no leak, nothing reused early, still usable.
#include <gtest/gtest.h>

#include <cstring>
#include <exception>
#include <functional>
#include <vector>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/copy.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::Allocation;

// A program that uses everything this layer offers. Every step may fail on its own.
class Program {
 public:
  Program(FakeDriver& fake, Accelerator& accelerator) : fake_(fake), accelerator_(accelerator) {}

  // Returns how many steps failed.
  int run() {
    streams();
    events();
    deferred();
    copies();
    for (int i = 0; i < 2; ++i) {
      step([&] { accelerator_.runtime(i).synchronize(); });
    }
    return failed_;
  }

  int released() const { return released_; }
  int pushed() const { return pushed_; }

 private:
  void step(const std::function<void()>& action) {
    try {
      action();
    } catch (const RuntimeError&) {
      ++failed_;
    }
  }

  DeviceRuntime& device(int index) { return accelerator_.runtime(index); }

  void streams() {
    Stream side;
    step([&] { side = device(0).pool_stream(-1); });
    if (!side) return;
    step([&] { side.wait_stream(device(1).default_stream()); });
    step([&] { (void)side.query(); });
    step([&] {
      const runtime::StreamGuard guard(device(1).default_stream());
      device(1).default_stream().wait_stream(side);
    });
    step([&] { side.synchronize(); });
  }

  void events() {
    const Stream stream = device(0).default_stream();
    Event start(EventFlags::kTiming);
    Event end(EventFlags::kTiming);
    Event plain;
    step([&] { start.record(stream); });
    step([&] { plain.record(stream); });
    step([&] { plain.block(device(1).default_stream()); });
    step([&] { end.record(stream); });
    step([&] { end.synchronize(); });
    step([&] { (void)plain.query(); });
    if (start.recorded() && end.recorded()) step([&] { (void)start.elapsed_time(end); });
  }

  void deferred() {
    const Stream stream = device(0).default_stream();
    for (int i = 0; i < 70; ++i) {
      ++pushed_;
      stream.defer([](void* count) { ++*static_cast<int*>(count); }, &released_);
    }
    device(0).poll_deferred();
    fake_.finish_all();
    device(0).poll_deferred();
  }

  void copies() {
    const std::vector<char> pageable(100, 'p');
    std::vector<char> back(100);
    char* here = nullptr;
    char* there = nullptr;
    step([&] { here = static_cast<char*>(fake_.allocate(0, 100)); });
    step([&] { there = static_cast<char*>(fake_.allocate(1, 100)); });
    Allocation pinned;
    step([&] { pinned = accelerator_.pinned().allocate(100); });
    if (here != nullptr && there != nullptr && pinned.data != nullptr) {
      std::memset(pinned.data, 'x', 100);
      step([&] { runtime::copy_to_device(device(0), here, pageable.data(), 100, true); });
      step([&] { runtime::copy_to_device(device(0), here, pinned.data, 100, true); });
      step([&] { runtime::copy_between_devices(device(1), there, device(0), here, 100); });
      step([&] { runtime::copy_to_host(device(1), pinned.data, there, 100, true); });
      step([&] { runtime::copy_to_host(device(1), back.data(), there, 100); });
      if (failed_ == 0) {
        EXPECT_EQ(back, std::vector<char>(100, 'x'));
      }
    }
    accelerator_.pinned().release(pinned);
    step([&] { accelerator_.pinned().release(accelerator_.pinned().allocate(100)); });
    fake_.finish_all();  // whatever failed: nothing queued may touch what is freed now
    if (here != nullptr) fake_.release(0, here);
    if (there != nullptr) fake_.release(1, there);
    accelerator_.pinned().empty_cache();
  }

  FakeDriver& fake_;
  Accelerator& accelerator_;
  int failed_ = 0;
  int released_ = 0;
  int pushed_ = 0;
};

FakeOptions options(bool throws) {
  return {
      .device_count = 2, .backed = true, .throw_when_out_of_memory = throws, .graph_capture = true};
}

int64_t calls_of_a_clean_run() {
  FakeDriver fake(options(false));
  Accelerator accelerator(fake);
  EXPECT_EQ(Program(fake, accelerator).run(), 0);
  return fake.fallible_calls();
}

TEST(RuntimeFaults, OneCallFails) {
  const int64_t calls = calls_of_a_clean_run();
  ASSERT_GT(calls, 40);
  for (const bool throws : {false, true}) {
    for (int64_t nth = 1; nth <= calls; ++nth) {
      FakeDriver fake(options(throws));
      {
        Accelerator accelerator(fake);
        fake.fail_call(nth);
        Program broken(fake, accelerator);
        broken.run();
        fake.clear_faults();
        for (int i = 0; i < 2; ++i) {
          try {
            accelerator.runtime(i).synchronize();
          } catch (const RuntimeError&) {  // kept from the broken run: raised here at the latest
          }
        }
        EXPECT_EQ(broken.released(), broken.pushed()) << "call " << nth;
        Program whole(fake, accelerator);
        EXPECT_EQ(whole.run(), 0) << "call " << nth;
        EXPECT_EQ(whole.released(), whole.pushed()) << "call " << nth;
      }
      EXPECT_EQ(fake.leaks(), std::vector<std::string>()) << "call " << nth;
      EXPECT_EQ(fake.failures(), std::vector<std::string>()) << "call " << nth;
    }
  }
}

TEST(RuntimeFaults, TheDeviceDies) {
  const int64_t calls = calls_of_a_clean_run();
  for (int64_t nth = 1; nth <= calls; ++nth) {
    FakeDriver fake(options(true));
    int released = 0;
    int pushed = 0;
    {
      Accelerator accelerator(fake);
      fake.fail_from(nth);
      Program program(fake, accelerator);
      EXPECT_GT(program.run(), 0) << "call " << nth;
      EXPECT_LE(program.released(), program.pushed());
      // What is left is released while `program` lives: at the end of the accelerator.
      for (int i = 0; i < 2; ++i) {
        Stream stream = accelerator.runtime(i).default_stream();
        stream.deferred().release_through(stream.deferred().mark());
      }
      released = program.released();
      pushed = program.pushed();
    }
    EXPECT_EQ(released, pushed) << "call " << nth;
    EXPECT_EQ(fake.leaks(), std::vector<std::string>()) << "call " << nth;
  }
}

}  // namespace
}  // namespace mindtorch::test
