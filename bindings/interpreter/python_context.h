#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mindtorch/runtime/memory_history.h"

namespace mindtorch::python {

// A place in a program: a code object, owned, and the offset of an instruction in bytes.
struct CodeSite {
  PyObject* code;
  int64_t instruction;

  bool operator==(const CodeSite&) const = default;
};

// The frames of a Python thread, innermost first.
class PythonContext final : public runtime::CallContext {
 public:
  explicit PythonContext(std::vector<CodeSite> sites) : sites_(std::move(sites)) {}
  ~PythonContext() override;  // does not need the GIL

  const std::vector<CodeSite>& sites() const { return sites_; }
  std::vector<runtime::Frame> frames() const override;  // takes the GIL
  static runtime::Frame frame(const CodeSite& site);    // needs it

 private:
  std::vector<CodeSite> sites_;
};

// The Python frames of the calling thread, for memory_history.h. Null when the thread runs no
// Python code. Takes the GIL.
std::shared_ptr<const runtime::CallContext> take_python_context();
// Gives up what contexts that are gone still hold of Python; taking one does so, too. Needs the
// GIL.
void drop_dead_contexts();

}  // namespace mindtorch::python
