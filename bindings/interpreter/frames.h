#pragma once

#include <Python.h>
#include <frameobject.h>

#include <cstring>
#include <string>

#include "bindings/interpreter/python_ref.h"

namespace mindtorch::python {

// Frames and code objects of Python, the same for every version of CPython.

// The offset in bytes of the instruction that a frame is at; -1 before the first.
inline int instruction_of(PyFrameObject* frame) noexcept {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return frame->f_lasti < 0 ? -1 : frame->f_lasti * 2;
#endif
}

// The innermost frame of the calling thread, owned; null where it runs no Python code.
inline PyFrameObject* current_frame() noexcept {
  return PyThreadState_GetFrame(PyThreadState_Get());
}

// The innermost code that runs on the calling thread, borrowed, and its place in it; null where it
// runs no Python code. Takes a few nanoseconds: it is asked for every op that a pipeline records.
struct RunningCode {
  PyCodeObject* code = nullptr;
  int position = 0;
};
RunningCode running_code(PyThreadState* thread) noexcept;

// Calls visit(frame, code) for `innermost`, which it takes over and which may be null, then for the
// frame that called it, and so on until visit answers false.
template <typename Visit>
void each_frame(PyFrameObject* innermost, const Visit& visit) {
  for (PyFrameObject* frame = innermost; frame != nullptr;) {
    const PyRef kept(reinterpret_cast<PyObject*>(frame));
    const PyRef code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    if (!visit(frame, reinterpret_cast<PyCodeObject*>(code.get()))) return;
    frame = PyFrame_GetBack(frame);
  }
}

// A Python string in UTF-8; "?" where it cannot be encoded.
std::string to_text(PyObject* string);

// The folder of this package, with a slash at its end; null if unknown.
extern PyObject* g_package_folder;
void find_package_folder();  // once, while the module is made

// Not a line of the user's program. Asked for every op that a pipeline records.
inline bool is_package_code(const PyCodeObject* code) noexcept {
  PyObject* const file = code->co_filename;
  PyObject* const folder = g_package_folder;
  if (folder == nullptr || PyUnicode_GET_LENGTH(file) < PyUnicode_GET_LENGTH(folder) ||
      PyUnicode_KIND(file) != PyUnicode_KIND(folder)) {
    return false;
  }
  const auto* const text = static_cast<const char*>(PyUnicode_DATA(file));
  const auto* const start = static_cast<const char*>(PyUnicode_DATA(folder));
  const size_t size = static_cast<size_t>(PyUnicode_GET_LENGTH(folder)) * PyUnicode_KIND(folder);
  // Paths often begin alike: the end of the folder first.
  constexpr size_t kEnd = 8;
  return std::memcmp(text + size - kEnd, start + size - kEnd, kEnd) == 0 &&
         std::memcmp(text, start, size) == 0;
}

}  // namespace mindtorch::python
