// The backend over the simulator's libraries, in this process.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <set>

#include "mindtorch/functional/functions.h"
#include "mindtorch/runtime/accelerator.h"
#include "tests/cpp/support/failing_new.h"

namespace mindtorch::test {
namespace {

// The mutexes that this program's own code locks in this thread, while somebody wants to know.
struct Watch {
  std::array<const void*, 256> locked;
  size_t count = 0;
  bool on = false;

  void note(const void* mutex, const void* caller) {
    Dl_info from{}, self{};
    if (!on || count == locked.size() || dladdr(caller, &from) == 0) return;
    dladdr(reinterpret_cast<const void*>(&runtime::runtime_for), &self);
    if (from.dli_fbase == self.dli_fbase) locked[count++] = mutex;  // not the simulator's
  }
};
thread_local Watch t_watch;

}  // namespace
}  // namespace mindtorch::test

// Stands before the C library's own in this program and in all that it opens; the sanitizers have
// one themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto real = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  mindtorch::test::t_watch.note(mutex, __builtin_return_address(0));
  return real(mutex);
}
#endif

namespace mindtorch::test {
namespace {

template <class Action>
std::set<const void*> locks_of(const Action& action) {
  t_watch.count = 0;
  t_watch.on = true;
  action();
  t_watch.on = false;
  return std::set<const void*>(t_watch.locked.begin(), t_watch.locked.begin() + t_watch.count);
}

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

TEST_F(SimulatedNpu, Computes) { EXPECT_EQ(item(sum(mul(add(a, b), a))).to_double(), 160); }

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

// Streams at work never wait for each other on the host.
TEST_F(SimulatedNpu, StreamsShareNoLock) {
  if (!testing::kCanFailNew) GTEST_SKIP() << "the sanitizer watches locks itself";
  std::set<const void*> locks[2];
  for (auto& mine : locks) {
    const runtime::StreamGuard guard(runtime::runtime_for("npu", 0).pool_stream());
    const Tensor x = full({4, 4}, Scalar(2.0), DType::kFloat32, npu);
    const auto step = [&] { add(x, x); };
    for (int i = 0; i < 100; ++i) step();
    mine = locks_of(step);
    synchronize();
  }
  EXPECT_FALSE(locks[0].empty());  // a stream's plans have one
  std::set<const void*> both;
  std::ranges::set_intersection(locks[0], locks[1], std::inserter(both, both.end()));
  EXPECT_TRUE(both.empty());
}

}  // namespace
}  // namespace mindtorch::test
