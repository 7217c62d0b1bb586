#include "bindings/interpreter/python_context.h"

#include <Python.h>

#include <mutex>
#include <utility>
#include <vector>

#include "bindings/interpreter/frames.h"
#include "bindings/interpreter/interpreter_end.h"
#include "bindings/interpreter/python_ref.h"

namespace mindtorch::python {
namespace {

using Sites = std::vector<CodeSite>;

// Code objects of contexts that are gone. A context may go while a lock of the allocator is held,
// where the GIL must not be asked for: its references wait here for the next one that is taken.
struct DeferredDecref {
  std::mutex mutex;
  std::vector<Sites> sites;
};

DeferredDecref& deferred_decref() {
  static DeferredDecref& deferred = *new DeferredDecref;
  return deferred;
}

PyObject* name_of(PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030B0000
  return code->co_qualname;
#else
  return code->co_name;
#endif
}

}  // namespace

PythonContext::~PythonContext() {
  try {
    const std::lock_guard lock(deferred_decref().mutex);
    deferred_decref().sites.push_back(std::move(sites_));
  } catch (...) {  // no memory: the code objects stay for ever
  }
}

runtime::Frame PythonContext::frame(const CodeSite& site) {
  auto* const code = reinterpret_cast<PyCodeObject*>(site.code);
  return {to_text(name_of(code)), to_text(code->co_filename),
          PyCode_Addr2Line(code, static_cast<int>(site.instruction))};
}

std::vector<runtime::Frame> PythonContext::frames() const {
  std::vector<runtime::Frame> frames;
  if (interpreter_ends()) return frames;
  const GilHold gil;
  frames.reserve(sites_.size());
  for (const CodeSite& site : sites_) frames.push_back(frame(site));
  return frames;
}

void drop_dead_contexts() {
  std::vector<Sites> dead;
  {
    const std::lock_guard lock(deferred_decref().mutex);
    dead.swap(deferred_decref().sites);
  }
  for (const Sites& sites : dead) {
    for (const CodeSite& site : sites) Py_DECREF(site.code);
  }
}

std::shared_ptr<const runtime::CallContext> take_python_context() {
  if (interpreter_ends() || PyGILState_GetThisThreadState() == nullptr) return nullptr;
  const GilHold gil;
  drop_dead_contexts();
  PyFrameObject* const frame = current_frame();
  if (frame == nullptr) return nullptr;
  Sites sites;
  sites.reserve(24);
  each_frame(frame, [&](PyFrameObject* each, PyCodeObject* code) {
    sites.push_back({Py_NewRef(reinterpret_cast<PyObject*>(code)), instruction_of(each)});
    return true;
  });
  return std::make_shared<PythonContext>(std::move(sites));
}

}  // namespace mindtorch::python
