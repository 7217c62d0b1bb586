// Threads make calls at random with handles that others destroy: every call answers, none hangs.
#include <atomic>
#include <mutex>
#include <random>

#include "tests/simulator/runtime/support.h"

namespace {

using Random = std::mt19937;

// Handles that all threads share; some outlive what they name.
class Handles {
 public:
  void add(void* handle) {
    const std::scoped_lock lock(mutex_);
    if (handles_.size() > 40) handles_.erase(handles_.begin());
    handles_.push_back(handle);
  }
  void* any(Random& random) {
    const std::scoped_lock lock(mutex_);
    return handles_.empty() ? nullptr : handles_[random() % handles_.size()];
  }

 private:
  std::mutex mutex_;
  std::vector<void*> handles_;
};

struct Chaos : Simulator {
  Handles streams, events, models, contexts;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> calls{0};

  void make(Random& random) {
    void* handle = nullptr;
    switch (random() % 4) {
      case 0:
        if (!aclrtCreateEventExWithFlag(&handle, ACL_EVENT_SYNC)) events.add(handle);
        break;
      case 1:
        if (!aclmdlRICaptureEnd(streams.any(random), &handle)) models.add(handle);
        break;
      case 2:
        if (random() % 8 == 0 && !aclrtCreateContext(&handle, 0)) contexts.add(handle);
        break;
      default:
        if (!aclrtCreateStream(&handle)) streams.add(handle);
    }
  }
  void use(Random& random) {
    aclrtStream stream = streams.any(random);
    aclrtEvent event = events.any(random);
    aclrtEventRecordedStatus recorded;
    aclrtStreamStatus status;
    switch (random() % 11) {
      case 0:
        aclmdlRICaptureBegin(stream, static_cast<aclmdlRICaptureMode>(random() % 3));
        break;
      case 1:
      case 2:
        aclrtRecordEvent(event, stream);
        break;
      case 3:
      case 4:
        aclrtStreamWaitEvent(stream, event);
        break;
      case 5:
        aclrtQueryEventStatus(event, &recorded);
        break;
      case 6:
        aclrtSynchronizeEventWithTimeout(event, 2);
        break;
      case 7:
        aclrtSynchronizeStreamWithTimeout(stream, 2);
        break;
      case 8:
        aclrtStreamQuery(stream, &status);
        break;
      case 9:
        aclmdlRIExecuteAsync(models.any(random), stream);
        break;
      default:
        aclrtLaunchHostFunc(stream, [](void*) {}, nullptr);
    }
  }
  void end(Random& random) {
    switch (random() % 7) {
      case 0:
        aclrtDestroyStream(streams.any(random));
        break;
      case 1:
        aclrtDestroyStreamForce(streams.any(random));
        break;
      case 2:
        aclrtDestroyEvent(events.any(random));
        break;
      case 3:
        aclmdlRIDestroy(models.any(random));
        break;
      case 4:
        aclrtStreamAbort(streams.any(random));
        break;
      case 5:
        aclrtSetCurrentContext(contexts.any(random));
        break;
      default:
        if (random() % 8 == 0) aclrtDestroyContext(contexts.any(random));
    }
  }
  void work(unsigned seed) {
    Random random(seed);
    for (; !stop; ++calls) {
      if (random() % 32 == 0) aclrtSetDevice(0);
      const unsigned what = random() % 16;
      what < 3 ? make(random) : what < 14 ? use(random) : end(random);
      aclGetRecentErrMsg();
    }
  }
};

TEST_F(Chaos, EveryCallAnswers) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 6; ++i) threads.emplace_back([this, i] { work(i); });
  sleep_ms(1500);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(calls, 1000U);
  OK(aclrtSetDevice(0));
  OK(aclrtResetDeviceForce(0));
  take_reports();  // a program like this has some
}

}  // namespace
