// Headers of GCC 11 and newer ask it before they count references; glibc 2.32 added it. False:
// there may be threads, and counts are changed atomically.
extern "C" {
extern const char __libc_single_threaded;
const char __libc_single_threaded = 0;
}
