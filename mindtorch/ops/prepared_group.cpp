#include "mindtorch/ops/prepared_group.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "mindtorch/runtime/host_wait.h"

namespace mindtorch::ops {
namespace {

// An engine that fails this often for a group is not asked again.
constexpr int kMaxFailures = 3;

// All that a group is, and whose, as bytes.
class GroupStructure {
 public:
  GroupStructure(const FusedGroup& group, const FusionEngine& engine) {
    bytes_.reserve(64 + group.steps.size() * (sizeof(Step) + sizeof(PointwiseParams)) +
                   (group.inputs.size() + group.stores.size()) * (group.sizes.size() + 2) * 8);
    add(reinterpret_cast<uintptr_t>(&engine));
    add(group.device);
    add_shape(group.sizes);
    for (const FusedStep& step : group.steps) {
      add(Step(step));
      add(step.params);
    }
    add(group.inputs.size());
    for (const FusedLayout& input : group.inputs) add_layout(input);
    for (const FusedGroup::Store& store : group.stores) {
      add(store.value);
      add_layout(store.layout);
    }
  }
  std::string take() { return std::move(bytes_); }

 private:
  // A step without its params, and without padding.
  struct Step {
    explicit Step(const FusedStep& step)
        : function(step.function),
          row(step.row),
          compute(step.compute),
          result(step.result),
          is_copy(step.is_copy),
          is_row(step.is_row),
          leading_dims(step.leading_dims),
          count(step.count),
          unrounded(step.unrounded) {
      std::copy_n(step.operands, step.count, operands);
    }
    Pointwise function;
    uint16_t operands[kMaxOperands] = {};
    RowFunction row;
    DType compute;
    DType result;
    uint8_t is_copy;
    uint8_t is_row;
    uint8_t leading_dims;
    uint8_t count;
    int8_t unrounded;
  };
  static_assert(std::has_unique_object_representations_v<Step>);

  template <typename T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void add_shape(const Shape& shape) {
    add(shape.size());
    for (const int64_t each : shape) add(each);
  }
  void add_layout(const FusedLayout& layout) {
    add_shape(layout.strides);
    add(layout.dtype);
    add(layout.is_number);
  }

  std::string bytes_;
};

// Held together by all who change a group, and alone while the process forks: else a child would be
// given the mutex of a group that nobody there will release. Engines that do not compile are asked
// under it, too.
std::shared_mutex*& changing() {
  static auto* mutex = new std::shared_mutex;
  return mutex;
}

void watch_forks();

class GroupCache {
 public:
  static GroupCache& instance() {
    static auto* const cache = new GroupCache;  // a detached thread may use it after main()
    watch_forks();
    return *cache;
  }
  std::shared_ptr<PreparedGroup> find(const FusedGroup& group, const FusionEngine& engine) {
    std::string key = GroupStructure(group, engine).take();
    std::vector<std::shared_ptr<PreparedGroup>> dropped;  // freed without the lock
    const std::scoped_lock lock(mutex_);
    if (const auto found = entries_.find(key); found != entries_.end()) {
      found->second.last_use = ++uses_;
      return found->second.group;
    }
    if (entries_.size() == PreparedGroup::kCacheCapacity) drop_half(dropped);
    auto made = std::make_shared<PreparedGroup>(group, engine);
    entries_.emplace(std::move(key), Entry{++uses_, made});
    return made;
  }
  size_t size() {
    const std::scoped_lock lock(mutex_);
    return entries_.size();
  }
  // While the process forks.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Entry {
    uint64_t last_use = 0;
    std::shared_ptr<PreparedGroup> group;
  };
  // The half that was not looked up for longest: looking for one each time would cost more.
  void drop_half(std::vector<std::shared_ptr<PreparedGroup>>& dropped) {
    std::vector<uint64_t> uses;
    for (const auto& [key, entry] : entries_) uses.push_back(entry.last_use);
    const auto middle = uses.begin() + std::ssize(uses) / 2;
    std::ranges::nth_element(uses, middle);
    std::erase_if(entries_, [&](auto& each) {
      if (each.second.last_use >= *middle) return false;
      dropped.push_back(std::move(each.second.group));
      return true;
    });
  }

  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  uint64_t uses_ = 0;
};

}  // namespace

// Asks engines that compile. No lock is held meanwhile: a process forks without waiting for them,
// and an engine may start processes itself.
class CompilerThread {
 public:
  static CompilerThread& instance() {
    watch_forks();
    return *current();
  }
  void add(std::shared_ptr<PreparedGroup> group) {
    const std::scoped_lock lock(mutex_);
    if (!is_started_) std::thread([this] { work(); }).detach();
    is_started_ = true;
    groups_.push_back(std::move(group));
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return groups_.empty(); });
  }
  // From here to end() no other thread asks for the group: who would waits here.
  void begin(const PreparedGroup* group) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return std::ranges::find(asked_, group) == asked_.end(); });
    asked_.push_back(group);
  }
  void end(const PreparedGroup* group) {
    const std::scoped_lock lock(mutex_);
    std::erase(asked_, group);
    changed_.notify_all();
  }

 private:
  friend class ForkHandlers;

  static CompilerThread*& current() {
    static auto* compiler = new CompilerThread;  // its thread may outlive main()
    return compiler;
  }
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !groups_.empty(); });
      const std::shared_ptr<PreparedGroup> group = groups_.front();
      lock.unlock();
      group->ask_engine();
      lock.lock();
      groups_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<PreparedGroup>> groups_;  // the first one is being asked for
  std::vector<const PreparedGroup*> asked_;            // by this thread or another
  bool is_started_ = false;
};

class ForkHandlers {
 public:
  static void before() {
    changing()->lock();
    CompilerThread::current()->mutex_.lock();
    GroupCache::instance().lock();
  }
  static void in_parent() {
    release();
    changing()->unlock();
  }
  // A child has no thread that compiles: what was being asked is asked again there.
  static void in_child() {
    release();
    for (const auto& group : CompilerThread::current()->groups_) {
      auto expected = PreparedGroup::State::kAsking;
      group->state_.compare_exchange_strong(expected, PreparedGroup::State::kOpen);
    }
    CompilerThread::current() = new CompilerThread;
    changing() = new std::shared_mutex;  // the old one counts threads of the parent
  }

 private:
  static void release() {
    GroupCache::instance().unlock();
    CompilerThread::current()->mutex_.unlock();
  }
};

namespace {

void watch_forks() {
  static const int registered =
      pthread_atfork(&ForkHandlers::before, &ForkHandlers::in_parent, &ForkHandlers::in_child);
  (void)registered;
}

}  // namespace

// Who asks the engine for a group: one thread at a time.
class PreparedGroup::Turn {
 public:
  explicit Turn(PreparedGroup& group) : group_(group) {
    if (group.compiles_next()) {
      compiler_ = &CompilerThread::instance();
      compiler_->begin(&group);
    } else {
      none_forks_ = std::shared_lock(*changing());
      lock_ = std::unique_lock(group.mutex_);
    }
  }
  ~Turn() {
    if (compiler_ != nullptr) compiler_->end(&group_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  void take(Preparation answer) {
    if (none_forks_) return group_.take(std::move(answer));
    const std::shared_lock none_forks(*changing());
    group_.take(std::move(answer));
  }

 private:
  PreparedGroup& group_;
  CompilerThread* compiler_ = nullptr;
  std::shared_lock<std::shared_mutex> none_forks_;
  std::unique_lock<std::mutex> lock_;
};

std::shared_ptr<PreparedGroup> PreparedGroup::find(const FusedGroup& group,
                                                   const FusionEngine& engine) {
  return GroupCache::instance().find(group, engine);
}

size_t PreparedGroup::cached() { return GroupCache::instance().size(); }

void PreparedGroup::wait_for_engines() { CompilerThread::instance().wait(); }

const FusedProgram* PreparedGroup::ask() {
  if (!compiles_next()) {
    ask_engine();
  } else if (State expected = State::kOpen;
             state_.compare_exchange_strong(expected, State::kAsking, std::memory_order_acquire)) {
    try {
      CompilerThread::instance().add(shared_from_this());
    } catch (...) {  // no thread, no memory: the ops run one by one, and it is asked again
      state_.store(State::kOpen, std::memory_order_release);
    }
  }
  return program_.load(std::memory_order_acquire);
}

void PreparedGroup::ask_engine() noexcept {
  const bool compiles = compiles_next();
  Turn turn(*this);
  if (is_final() || compiles != compiles_next()) return;  // another thread was quicker
  try {
    turn.take(engine_.prepare(group_, program_.load(std::memory_order_relaxed)));
  } catch (...) {
    state_.store(++failures_ == kMaxFailures ? State::kFinal : State::kOpen,
                 std::memory_order_release);
  }
}

void PreparedGroup::take(Preparation answer) {
  if (answer.program != nullptr) {
    programs_.push_back(std::move(answer.program));
    program_.store(programs_.back().get(), std::memory_order_release);
  }
  state_.store(answer.is_final ? State::kFinal : State::kOpen, std::memory_order_release);
}

const FusedProgram* PreparedGroup::program_now() {
  if (MT_LIKELY(is_final())) return program_.load(std::memory_order_relaxed);
  if (program_.load(std::memory_order_acquire) != nullptr && compiles_next()) return ask();
  const runtime::HostWait wait;
  Turn turn(*this);
  const FusedProgram* const before = program_.load(std::memory_order_relaxed);
  if (!is_final() && (before == nullptr || !compiles_next())) {
    turn.take(engine_.prepare(group_, before));
  }
  return program_.load(std::memory_order_relaxed);
}

}  // namespace mindtorch::ops
