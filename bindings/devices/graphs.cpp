// Captured graphs. Python's classes (_graphs.py) derive from this.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "bindings/interpreter/python_ref.h"
#include "mindtorch/base/error.h"
#include "mindtorch/runtime/graph.h"
#include "mindtorch/runtime/stream.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

using runtime::Graph;

driver::CaptureMode to_mode(const std::string& mode) {
  if (mode == "global") return driver::CaptureMode::kGlobal;
  if (mode == "thread_local") return driver::CaptureMode::kThreadLocal;
  MT_CHECK(mode == "relaxed", RuntimeError,
           "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got ",
           mode);
  return driver::CaptureMode::kRelaxed;
}

}  // namespace

void bind_graphs(nb::module_& module) {
  nb::class_<Graph>(module, "_Graph", nb::is_weak_referenceable(), nb::dynamic_attr())
      .def(nb::init<>())
      .def("_begin", [](Graph& self, const runtime::Stream& stream, runtime::PoolId pool,
                        const std::string& mode) { self.begin(stream, pool, to_mode(mode)); })
      .def("_end", &Graph::end)
      .def("_replay", &Graph::replay)
      .def("reset", &Graph::reset, "Forgets what was captured, and gives its memory up.")
      .def("pool", &Graph::pool, "The memory pool, for graphs that never run at the same time.")
      .def("_update", &Graph::update)
      .def("_raw", [](const Graph& self) { return reinterpret_cast<uintptr_t>(self.raw()); })
      .def_prop_ro("_captured", &Graph::captured);
  module.def("_make_graph_pool", &Graph::make_pool_id);
}

}  // namespace mindtorch::python
