// Part of the C library since glibc 2.33; before, they were written into each program, and called
// what the C library still has.
#include <sys/stat.h>

extern "C" {
#ifdef __x86_64__
constexpr int kStatVersion = 1;
#else
constexpr int kStatVersion = 0;
#endif
int __xstat(int version, const char* path, struct stat* status);
int __lxstat(int version, const char* path, struct stat* status);
int __fxstat(int version, int file, struct stat* status);
int __xstat64(int version, const char* path, struct stat64* status);
int __lxstat64(int version, const char* path, struct stat64* status);
int __fxstat64(int version, int file, struct stat64* status);

int stat(const char* path, struct stat* status) { return __xstat(kStatVersion, path, status); }
int lstat(const char* path, struct stat* status) { return __lxstat(kStatVersion, path, status); }
int fstat(int file, struct stat* status) { return __fxstat(kStatVersion, file, status); }
int stat64(const char* path, struct stat64* status) {
  return __xstat64(kStatVersion, path, status);
}
int lstat64(const char* path, struct stat64* status) {
  return __lxstat64(kStatVersion, path, status);
}
int fstat64(int file, struct stat64* status) { return __fxstat64(kStatVersion, file, status); }
}
