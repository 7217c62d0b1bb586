// Headers of GCC 11 and newer ask it before they count references; glibc 2.32 added it, and sets it
// to false with the first thread. Alone of what is here it is visible outside: the loader takes the
// first of a name, and the C library's comes before those of an extension. Where that has none,
// this one says that there may be threads, and counts are changed atomically.
extern "C" {
extern const char __libc_single_threaded;
const char __libc_single_threaded = 0;
}
