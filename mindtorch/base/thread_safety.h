#pragma once

#include <mutex>

// Which mutex guards what, said to Clang's analysis of locks: `make locks` checks runtime/ and
// dispatch/ with it, against a C++ library whose mutexes it knows. Nothing for other compilers.
#if defined(__clang__)
#define MT_LOCK_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define MT_LOCK_ATTRIBUTE(...)
#endif

// Of a member: read and written only while the mutex is held.
#define MT_GUARDED_BY(mutex) MT_LOCK_ATTRIBUTE(guarded_by(mutex))
// Of a function: the caller holds the mutex.
#define MT_REQUIRES(mutex) MT_LOCK_ATTRIBUTE(requires_capability(mutex))
// Of a class that is a mutex, and of one that holds a mutex as long as it lives.
#define MT_MUTEX MT_LOCK_ATTRIBUTE(capability("mutex"))
#define MT_LOCK MT_LOCK_ATTRIBUTE(scoped_lockable)
// Of a function that takes or gives back a mutex: `this`, or the one named.
#define MT_ACQUIRE(...) MT_LOCK_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define MT_TRY_ACQUIRE(...) MT_LOCK_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define MT_RELEASE(...) MT_LOCK_ATTRIBUTE(release_capability(__VA_ARGS__))
// Of a function that does nothing, and from whose call on the analysis takes a mutex to be held.
#define MT_SAYS_HELD(...) MT_LOCK_ATTRIBUTE(assert_capability(__VA_ARGS__))
// Of a function that the analysis cannot follow; say why.
#define MT_UNCHECKED_LOCKS MT_LOCK_ATTRIBUTE(no_thread_safety_analysis)

namespace mindtorch {

// A std::unique_lock that the analysis knows: to be given back for a while, or waited with.
template <typename Mutex>
class MT_LOCK Relockable {
 public:
  explicit Relockable(Mutex& mutex) MT_ACQUIRE(mutex) : lock_(mutex) {}
  ~Relockable() MT_RELEASE() {}
  Relockable(const Relockable&) = delete;
  Relockable& operator=(const Relockable&) = delete;

  void lock() MT_ACQUIRE() { lock_.lock(); }
  void unlock() MT_RELEASE() { lock_.unlock(); }
  bool owns_lock() const noexcept { return lock_.owns_lock(); }
  // For a condition variable, which has it again when it returns.
  std::unique_lock<Mutex>& waiting() noexcept { return lock_; }

 private:
  std::unique_lock<Mutex> lock_;
};

}  // namespace mindtorch
