// glibc 2.30 added it; std::condition_variable waits through it for a time. Where the system has
// none, the deadline becomes one of the clock that conditions always knew; who sets that clock
// while a thread waits changes how long it waits.
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <cerrno>

extern "C" {
int pthread_cond_clockwait(pthread_cond_t* condition,
                           pthread_mutex_t* mutex,
                           clockid_t clock,
                           const timespec* deadline) {
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  static const Wait of_the_system =
      reinterpret_cast<Wait>(dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"));
  if (of_the_system != nullptr && of_the_system != pthread_cond_clockwait) {
    return of_the_system(condition, mutex, clock, deadline);
  }
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, deadline);
  timespec now;
  timespec real;
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &real) != 0) return EINVAL;
  constexpr long kSecond = 1'000'000'000;
  real.tv_sec += deadline->tv_sec - now.tv_sec;
  real.tv_nsec += deadline->tv_nsec - now.tv_nsec;
  if (real.tv_nsec < 0) {
    real.tv_nsec += kSecond;
    --real.tv_sec;
  } else if (real.tv_nsec >= kSecond) {
    real.tv_nsec -= kSecond;
    ++real.tv_sec;
  }
  if (real.tv_sec < 0) real = {};  // passed long ago
  return pthread_cond_timedwait(condition, mutex, &real);
}
}
