#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "mindtorch/runtime/snapshot.h"

namespace mindtorch::python {

// torch's form of a snapshot: lists of dicts of plain types. Needs the GIL.
nanobind::list segments_to_python(const std::vector<runtime::SegmentInfo>& segments, int device);
nanobind::list trace_to_python(const std::vector<runtime::TraceEntry>& entries);

}  // namespace mindtorch::python
