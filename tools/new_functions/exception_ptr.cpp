// Members of std::exception_ptr that GCC 11's header calls, in terms of those that older libraries
// have: a copy counts one more, the end of one counts one less. They are called by their symbols,
// with the object, a pointer, as first argument.
extern "C" {
void copy(void** to, void* const* from) asm("_ZNSt15__exception_ptr13exception_ptrC1ERKS0_");
void end(void** pointer) asm("_ZNSt15__exception_ptr13exception_ptrD1Ev");
void add_reference(void** pointer) asm("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
void release(void** pointer) asm("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");

void add_reference(void** pointer) {
  void* counted;
  copy(&counted, pointer);
}

void release(void** pointer) {
  end(pointer);
  *pointer = nullptr;
}
}
