// GCC 9 added the move constructor of std::runtime_error to libstdc++; older ones copy.
// Constructors of the library's own classes are called by their symbols, with the object as first
// argument.
extern "C" {
void copy(void* to, const void* from) asm("_ZNSt13runtime_errorC2ERKS_");
void move(void* to, void* from) asm("_ZNSt13runtime_errorC2EOS_");
void move(void* to, void* from) { copy(to, from); }

// The same as a whole object, not as a base of one.
void move_whole(void* to, void* from) asm("_ZNSt13runtime_errorC1EOS_");
void move_whole(void* to, void* from) { copy(to, from); }
}
