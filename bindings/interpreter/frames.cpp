#include "bindings/interpreter/frames.h"

#include "bindings/interpreter/python_ref.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
#define Py_BUILD_CORE
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#define MT_HAS_INTERPRETER_FRAMES
#endif

namespace mindtorch::python {

PyObject* g_package_folder = nullptr;

std::string to_text(PyObject* string) {
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(string, &size);
  if (text != nullptr) return std::string(text, static_cast<size_t>(size));
  PyErr_Clear();
  return "?";
}

#ifdef MT_HAS_INTERPRETER_FRAMES
// Without a frame object, which CPython would make once for each call of a function.
RunningCode running_code(PyThreadState* thread) noexcept {
  const _PyInterpreterFrame* frame = thread->cframe->current_frame;
  while (frame != nullptr && frame->owner != FRAME_OWNED_BY_GENERATOR &&
         frame->prev_instr < _PyCode_CODE(frame->f_code) + frame->f_code->_co_firsttraceable) {
    frame = frame->previous;  // it has not begun
  }
  if (frame == nullptr) return {};
  const auto position = frame->prev_instr - _PyCode_CODE(frame->f_code);
  return {frame->f_code, static_cast<int>(position * Py_ssize_t{sizeof(_Py_CODEUNIT)})};
}
#else
RunningCode running_code(PyThreadState*) noexcept {
  PyFrameObject* const frame = PyEval_GetFrame();
  if (frame == nullptr) return {};
  PyCodeObject* const code = PyFrame_GetCode(frame);
  Py_DECREF(code);  // the frame holds it
  return {code, instruction_of(frame)};
}
#endif

void find_package_folder() {
  const PyRef package = PyRef::maybe(PyImport_ImportModule("mindtorch_v2"));
  const PyRef file =
      PyRef::maybe(package ? PyObject_GetAttrString(package.get(), "__file__") : nullptr);
  if (!file || PyUnicode_Check(file.get()) == 0) return;
  const Py_ssize_t size = PyUnicode_GET_LENGTH(file.get());
  const Py_ssize_t slash = PyUnicode_FindChar(file.get(), '/', 0, size, -1);
  if (slash > 0) g_package_folder = PyRef(PyUnicode_Substring(file.get(), 0, slash + 1)).release();
}

}  // namespace mindtorch::python
