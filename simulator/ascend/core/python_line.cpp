#include "simulator/ascend/core/python_line.h"

#include <dlfcn.h>

#include <cstring>

namespace sim {
namespace {

using Object = void;

// The interpreter's functions, by name: nothing here is linked to it.
struct Python {
  int (*is_initialized)();
  int (*is_finalizing)();
  int (*has_interpreter)();
  Object* (*thread)();
  int (*take)();
  void (*give)(int);
  Object* (*error)();
  Object* (*frame)();
  Object* (*attribute)(Object*, const char*);
  const char* (*text)(Object*);
  long (*number)(Object*);
  void (*release)(Object*);
  void (*forget_error)();
  bool found = false;
};

template <class F>
bool look_up(F*& function, const char* name) {
  function = reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

const Python& python() {
  static const Python found = [] {
    Python p{};
    p.found = look_up(p.is_initialized, "Py_IsInitialized") &&
              (look_up(p.is_finalizing, "Py_IsFinalizing") ||  // public since 3.13
               look_up(p.is_finalizing, "_Py_IsFinalizing")) &&
              look_up(p.has_interpreter, "PyGILState_Check") &&
              look_up(p.thread, "PyGILState_GetThisThreadState") &&
              look_up(p.take, "PyGILState_Ensure") && look_up(p.give, "PyGILState_Release") &&
              look_up(p.error, "PyErr_Occurred") && look_up(p.frame, "PyEval_GetFrame") &&
              look_up(p.attribute, "PyObject_GetAttrString") &&
              look_up(p.text, "PyUnicode_AsUTF8") && look_up(p.number, "PyLong_AsLong") &&
              look_up(p.release, "Py_DecRef") && look_up(p.forget_error, "PyErr_Clear");
    return p;
  }();
  return found;
}

bool is_torch(const char* file) {
  const char* const installed = std::strstr(file, "-packages/torch");  // site- or dist-packages
  if (!installed) return false;
  const char* const rest = installed + sizeof "-packages/torch" - 1;
  return *rest == '/' || std::strncmp(rest, "_npu/", 5) == 0;
}

// An attribute, for as long as this lives; null: there is none.
class Attribute {
 public:
  Attribute(Object* owner, const char* name)
      : object_(owner ? python().attribute(owner, name) : nullptr) {
    if (!object_) python().forget_error();
  }
  ~Attribute() {
    if (object_) python().release(object_);
  }
  Attribute(const Attribute&) = delete;
  Attribute& operator=(const Attribute&) = delete;
  Object* get() const { return object_; }

 private:
  Object* object_;
};

std::string line_of(Object* frame) {
  const Attribute code(frame, "f_code");
  if (!code.get()) return {};  // None: there is no frame further out
  const Attribute name(code.get(), "co_filename");
  const char* const file = name.get() ? python().text(name.get()) : nullptr;
  if (!file || is_torch(file)) return line_of(Attribute(frame, "f_back").get());
  const Attribute number(frame, "f_lineno");
  return std::string(file) + ":" + std::to_string(number.get() ? python().number(number.get()) : 0);
}

std::string innermost_line() {
  if (python().error()) return {};  // what follows must not touch it
  return line_of(python().frame());
}

// Called by nobody with a lock held that another thread may want while it has the interpreter.
bool may_wait(const char* function) {
  const size_t length = std::strlen(function);
  constexpr const char kPhaseOne[] = "GetWorkspaceSize";
  constexpr size_t kTail = sizeof kPhaseOne - 1;
  const bool phase_one = length > kTail && std::strcmp(function + length - kTail, kPhaseOne) == 0;
  return phase_one || std::strncmp(function, "PTA", 3) == 0 ||
         std::strcmp(function, "aclrtMemcpyAsync") == 0;
}

}  // namespace

bool python_line(const char* function, std::string& line) {
  const Python& p = python();
  if (!p.found || !p.is_initialized() || p.is_finalizing() || !p.thread()) return false;
  if (p.has_interpreter()) {
    line = innermost_line();
    return true;
  }
  if (!may_wait(function)) return false;
  const int state = p.take();
  line = innermost_line();
  p.give(state);
  return true;
}

}  // namespace sim
