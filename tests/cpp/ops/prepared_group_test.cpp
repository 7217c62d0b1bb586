// What becomes of an engine's answers: programs are shared, refusals are remembered, and engines
// that compile are asked elsewhere.
#include "mindtorch/ops/prepared_group.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <thread>

#include "mindtorch/runtime/host_wait.h"
#include "tests/cpp/support/never_freed.h"

namespace mindtorch::ops {
namespace {

class NoProgram final : public FusedProgram {
 public:
  void run(Launch&, std::span<void* const>) const override {}
};

// Answers as the test says. Never destroyed, as all engines.
class Engine final : public FusionEngine {
 public:
  using Answer = std::function<Preparation(const FusedProgram* before)>;
  static Engine& make(Answer answer, const FusionLimits& limits = {}) {
    return testing::never_freed(new Engine(std::move(answer), limits));
  }
  using FusionEngine::can_fuse;
  bool can_fuse(Pointwise, DType) const override { return true; }
  Preparation prepare(const FusedGroup&, const FusedProgram* before) const override {
    ++asked;
    return answer_(before);
  }
  mutable std::atomic<int> asked{0};

 private:
  Engine(Answer answer, const FusionLimits& limits)
      : FusionEngine(limits), answer_(std::move(answer)) {}
  const Answer answer_;
};

FusedGroup group_of(int64_t size) {
  FusedGroup group;
  group.device = DeviceType::kCpu;
  group.sizes = {size};
  group.steps.resize(2);
  return group;
}

TEST(PreparedGroup, OneStructureHasOneProgram) {
  Engine& engine = Engine::make(
      [](const FusedProgram*) { return Preparation::ready(std::make_shared<NoProgram>()); });
  const auto first = PreparedGroup::find(group_of(4), engine);
  const auto again = PreparedGroup::find(group_of(4), engine);
  EXPECT_NE(first->program(), nullptr);
  EXPECT_EQ(first->program(), again->program());
  EXPECT_EQ(engine.asked, 1);
}

TEST(PreparedGroup, WhateverDiffersIsAnotherStructure) {
  Engine& engine = Engine::make([](const FusedProgram*) { return Preparation::never(); });
  const FusedGroup plain = group_of(4);
  const auto first = PreparedGroup::find(plain, engine);
  const auto is_other = [&](auto&& change) {
    FusedGroup changed = plain;
    change(changed);
    return PreparedGroup::find(changed, engine) != first;
  };
  EXPECT_FALSE(is_other([](FusedGroup&) {}));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.sizes[0] = 5; }));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.sizes = {4, 1}; }));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.device.index = 1; }));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.steps.pop_back(); }));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.steps[1].function = Pointwise::kMul; }));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.steps[1].compute = DType::kFloat64; }));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.steps[0].params.f[2] = 1; }));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.steps[0].row = RowFunction::kSum; }));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.steps[0].leading_dims = 1; }));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.steps[0].is_copy = true; }));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.inputs.emplace_back(Shape{1}); }));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.inputs.emplace_back(Shape{2}); }));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.stores.push_back({0, {Shape{1}}}); }));
  EXPECT_TRUE(is_other([](FusedGroup& g) { g.stores.push_back({1, {Shape{1}}}); }));
  Engine& other = Engine::make([](const FusedProgram*) { return Preparation::never(); });
  EXPECT_NE(PreparedGroup::find(plain, other), first);
}

TEST(PreparedGroup, ARefusalIsFinal) {
  Engine& engine = Engine::make([](const FusedProgram*) { return Preparation::never(); });
  const auto group = PreparedGroup::find(group_of(4), engine);
  EXPECT_FALSE(group->is_final());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(group->program(), nullptr);
  EXPECT_TRUE(group->is_final());
  EXPECT_EQ(engine.asked, 1);
}

TEST(PreparedGroup, NotYetIsAskedAgain) {
  int left = 3;
  Engine& engine = Engine::make([&](const FusedProgram*) {
    return left-- > 0 ? Preparation::not_yet() : Preparation::ready(std::make_shared<NoProgram>());
  });
  const auto group = PreparedGroup::find(group_of(4), engine);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(group->program(), nullptr);
  EXPECT_NE(group->program(), nullptr);
  EXPECT_TRUE(group->is_final());
}

// Whoever is still in the first program may go on.
TEST(PreparedGroup, ABetterProgramTakesOver) {
  std::weak_ptr<const FusedProgram> first;
  Engine& engine = Engine::make([&](const FusedProgram* before) {
    const auto made = std::make_shared<NoProgram>();
    if (before != nullptr) return Preparation::ready(made);
    first = made;
    return Preparation::for_now(made);
  });
  const auto group = PreparedGroup::find(group_of(4), engine);
  const FusedProgram* const early = group->program();
  EXPECT_EQ(early, first.lock().get());
  EXPECT_FALSE(group->is_final());
  EXPECT_NE(group->program(), early);
  EXPECT_TRUE(group->is_final());
  EXPECT_FALSE(first.expired());
}

TEST(PreparedGroup, AnEngineThatFailsOnceIsAskedAgain) {
  Engine& engine = Engine::make([](const FusedProgram*) {
    static bool has_failed = false;
    if (!std::exchange(has_failed, true)) throw std::bad_alloc();
    return Preparation::ready(std::make_shared<NoProgram>());
  });
  const auto group = PreparedGroup::find(group_of(4), engine);
  EXPECT_EQ(group->program(), nullptr);
  EXPECT_NE(group->program(), nullptr);
}

TEST(PreparedGroup, AnEngineThatAlwaysFailsIsLeftAlone) {
  Engine& engine = Engine::make([](const FusedProgram*) -> Preparation { throw std::bad_alloc(); });
  const auto group = PreparedGroup::find(group_of(4), engine);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(group->program(), nullptr);
  EXPECT_TRUE(group->is_final());
  EXPECT_EQ(engine.asked, 3);
}

TEST(PreparedGroup, TheCacheIsBounded) {
  Engine& engine = Engine::make([](const FusedProgram*) { return Preparation::never(); });
  const auto first = PreparedGroup::find(group_of(1), engine);
  const auto kept = PreparedGroup::find(group_of(2), engine);
  for (int64_t i = 3; i < 3 + 2 * int64_t{PreparedGroup::kCacheCapacity}; ++i) {
    PreparedGroup::find(group_of(i), engine);
    EXPECT_EQ(PreparedGroup::find(group_of(2), engine), kept);
    ASSERT_LE(PreparedGroup::cached(), PreparedGroup::kCacheCapacity);
  }
  EXPECT_NE(PreparedGroup::find(group_of(1), engine), first);
  EXPECT_EQ(first->program(), nullptr);  // its owner may go on with it
}

TEST(PreparedGroup, NobodyWaitsForAnEngineThatCompiles) {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_let_go = false;
  std::thread::id thread;
  Engine& engine = Engine::make(
      [&](const FusedProgram*) {
        std::unique_lock lock(mutex);
        thread = std::this_thread::get_id();
        changed.wait(lock, [&] { return is_let_go; });
        return Preparation::ready(std::make_shared<NoProgram>());
      },
      {.compiles = true});
  const auto group = PreparedGroup::find(group_of(4), engine);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(group->program(), nullptr);
  {
    const std::scoped_lock lock(mutex);
    is_let_go = true;
  }
  changed.notify_all();
  PreparedGroup::wait_for_engines();
  EXPECT_NE(group->program(), nullptr);
  EXPECT_EQ(engine.asked, 1);
  EXPECT_NE(thread, std::this_thread::get_id());
}

// The first program runs meanwhile, also for calls by themselves.
TEST(PreparedGroup, NobodyWaitsForABetterProgram) {
  std::mutex mutex;
  mutex.lock();
  std::thread::id thread;
  Engine& engine = Engine::make(
      [&](const FusedProgram* before) {
        const auto made = std::make_shared<NoProgram>();
        if (before == nullptr) return Preparation::for_now(made);
        const std::scoped_lock lock(mutex);
        thread = std::this_thread::get_id();
        return Preparation::ready(made);
      },
      {.compiles_later = true});
  const auto group = PreparedGroup::find(group_of(4), engine);
  const FusedProgram* const early = group->program();
  ASSERT_NE(early, nullptr);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(group->program(), early);
  EXPECT_EQ(group->program_now(), early);
  mutex.unlock();
  PreparedGroup::wait_for_engines();
  EXPECT_NE(group->program(), early);
  EXPECT_EQ(group->program_now(), group->program());
  EXPECT_EQ(engine.asked, 2);
  EXPECT_NE(thread, std::this_thread::get_id());
}

#ifndef __SANITIZE_THREAD__  // which lets no child of several threads start one
// The child asks again what the parent is still asking.
TEST(PreparedGroup, AForkDoesNotWaitForAnEngineThatCompiles) {
  static std::atomic<int> inside{0};
  static std::atomic<bool> is_let_go{false};
  static const pid_t parent = getpid();
  Engine& engine = Engine::make(
      [](const FusedProgram*) {
        if (getpid() == parent) {
          ++inside;
          inside.notify_all();
          is_let_go.wait(false);
        }
        return Preparation::ready(std::make_shared<NoProgram>());
      },
      {.compiles = true});
  const auto let_go = [] {
    is_let_go = true;
    is_let_go.notify_all();
  };
  const auto group = PreparedGroup::find(group_of(4), engine);
  EXPECT_EQ(group->program(), nullptr);
  const auto single = PreparedGroup::find(group_of(5), engine);
  std::thread caller([&] { single->program_now(); });
  for (int seen = inside; seen < 2; seen = inside) inside.wait(seen);
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false;
  std::thread watchdog([&] {  // a fork that waits fails, and does not hang
    std::unique_lock lock(mutex);
    if (!ended.wait_for(lock, std::chrono::seconds(20), [&] { return has_ended; })) let_go();
  });
  const pid_t child = fork();
  if (child == 0) {
    group->program();
    PreparedGroup::wait_for_engines();
    _exit(group->program() != nullptr && single->program_now() != nullptr ? 0 : 1);
  }
  EXPECT_FALSE(is_let_go);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_FALSE(is_let_go);
  {
    const std::scoped_lock lock(mutex);
    has_ended = true;
  }
  ended.notify_all();
  let_go();
  watchdog.join();
  caller.join();
  PreparedGroup::wait_for_engines();
  EXPECT_NE(group->program(), nullptr);
  EXPECT_NE(single->program(), nullptr);
}
#endif

TEST(PreparedGroup, ACallByItselfWaitsForItsProgramAndGetsTheEnginesError) {
  Engine& engine = Engine::make(
      [](const FusedProgram*) {
        static bool has_failed = false;
        if (!std::exchange(has_failed, true)) throw std::bad_alloc();
        return Preparation::ready(std::make_shared<NoProgram>());
      },
      {.compiles = true});
  const auto group = PreparedGroup::find(group_of(4), engine);
  EXPECT_THROW(group->program_now(), std::bad_alloc);
  EXPECT_NE(group->program_now(), nullptr);
  EXPECT_EQ(group->program(), group->program_now());
  EXPECT_EQ(engine.asked, 2);
}

// Other threads of the interpreter go on.
TEST(PreparedGroup, ACallByItselfWaitsWithoutTheInterpretersLock) {
  static int released = 0;
  int released_meanwhile = 0;
  runtime::set_wait_callbacks(
      {[]() -> void* { return ++released, &released; }, [](void*) { --released; }});
  Engine& engine = Engine::make([&](const FusedProgram*) {
    released_meanwhile = released;
    return Preparation::ready(std::make_shared<NoProgram>());
  });
  PreparedGroup::find(group_of(4), engine)->program_now();
  runtime::set_wait_callbacks({});
  EXPECT_EQ(released_meanwhile, 1);
  EXPECT_EQ(released, 0);
}

}  // namespace
}  // namespace mindtorch::ops
