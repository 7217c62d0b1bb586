#include "bindings/memory/memory_snapshot.h"

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "bindings/interpreter/python_context.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

// One Python string per text.
class Texts {
 public:
  const nb::str& operator[](const std::string& text) {
    const auto known = texts_.find(text);
    if (known != texts_.end()) return known->second;
    return texts_.emplace(text, nb::str(text.c_str(), text.size())).first->second;
  }

 private:
  std::unordered_map<std::string, nb::str> texts_;
};

// One list per way into the program and one dict per place: programs come by the same places all
// the time, and a pickle writes an object it has seen before as a short reference.
class Frames {
 public:
  nb::list operator[](const std::shared_ptr<const runtime::CallContext>& context) {
    const auto* const python = dynamic_cast<const PythonContext*>(context.get());
    if (python == nullptr) return nb::list();
    const std::string_view key(reinterpret_cast<const char*>(python->sites().data()),
                               python->sites().size() * sizeof(CodeSite));
    const auto known = lists_.find(key);
    if (known != lists_.end()) return known->second;
    nb::list list;
    for (const CodeSite& site : python->sites()) list.append(dict_of(site));
    lists_.emplace(key, list);
    return list;
  }

 private:
  nb::dict dict_of(const CodeSite& site) {
    nb::dict& dict = dicts_[{site.code, site.instruction}];
    if (dict.size() == 0) {
      const runtime::Frame frame = PythonContext::frame(site);
      dict[name_] = texts_[frame.name];
      dict[filename_] = texts_[frame.filename];
      dict[line_] = frame.line;
    }
    return dict;
  }

  nb::str name_{"name"};
  nb::str filename_{"filename"};
  nb::str line_{"line"};
  Texts texts_;
  std::unordered_map<std::string_view, nb::list> lists_;  // by the bytes of a context's sites
  std::map<std::pair<PyObject*, int64_t>, nb::dict> dicts_;
};

nb::tuple pool_to_python(const runtime::PoolId& id) { return nb::make_tuple(id.first, id.second); }

uint64_t stream_number(driver::StreamHandle stream) { return reinterpret_cast<uintptr_t>(stream); }

const char* state_name(runtime::BlockState state) {
  switch (state) {
    case runtime::BlockState::kAllocated:
      return "active_allocated";
    case runtime::BlockState::kPending:
      return "active_pending_free";
    default:
      return "inactive";
  }
}

}  // namespace

nb::list segments_to_python(const std::vector<runtime::SegmentInfo>& segments, int device) {
  const nb::str key_device("device"), key_address("address"), key_total_size("total_size"),
      key_allocated_size("allocated_size"), key_active_size("active_size"),
      key_requested_size("requested_size"), key_stream("stream"), key_segment_type("segment_type"),
      key_segment_pool_id("segment_pool_id"), key_is_expandable("is_expandable"),
      key_frames("frames"), key_blocks("blocks"), key_size("size"), key_state("state");
  Texts texts;
  Frames frames;
  nb::list result;
  for (const runtime::SegmentInfo& segment : segments) {
    nb::list blocks;
    for (const runtime::BlockInfo& block : segment.blocks) {
      nb::dict dict;
      dict[key_address] = block.address;
      dict[key_size] = block.size;
      dict[key_requested_size] = block.requested_size;
      dict[key_state] = texts[state_name(block.state)];
      const bool active = block.state != runtime::BlockState::kFree;
      dict[key_frames] = active ? frames[block.context] : nb::list();
      blocks.append(dict);
    }
    nb::dict dict;
    dict[key_device] = device;
    dict[key_address] = segment.address;
    dict[key_total_size] = segment.total_size;
    dict[key_allocated_size] = segment.allocated_size;
    dict[key_active_size] = segment.active_size;
    dict[key_requested_size] = segment.requested_size;
    dict[key_stream] = stream_number(segment.stream);
    dict[key_segment_type] = texts[segment.pool == runtime::PoolKind::kLarge ? "large" : "small"];
    dict[key_segment_pool_id] = pool_to_python(segment.pool_id);
    dict[key_is_expandable] = segment.is_expandable;
    dict[key_frames] = frames[segment.context];
    dict[key_blocks] = blocks;
    result.append(dict);
  }
  return result;
}

nb::list trace_to_python(const std::vector<runtime::TraceEntry>& entries) {
  const nb::str key_action("action"), key_addr("addr"), key_device_free("device_free"),
      key_size("size"), key_stream("stream"), key_time_us("time_us"),
      key_compile_context("compile_context"), key_user_metadata("user_metadata"),
      key_pool_id("pool_id"), key_frames("frames"), none("N/A"), empty("");
  Texts texts;
  Frames frames;
  nb::list result;
  for (const runtime::TraceEntry& entry : entries) {
    const bool failed = entry.action == runtime::TraceAction::kOutOfMemory;
    nb::dict dict;
    dict[key_action] = texts[runtime::action_name(entry.action)];
    dict[failed ? key_device_free : key_addr] = entry.address;
    dict[key_size] = entry.size;
    dict[key_stream] = stream_number(entry.stream);
    dict[key_time_us] = entry.time_us;
    dict[key_compile_context] = none;
    dict[key_user_metadata] = empty;
    dict[key_pool_id] = pool_to_python(entry.pool_id);
    if (entry.context != nullptr) dict[key_frames] = frames[entry.context];
    result.append(dict);
  }
  return result;
}

}  // namespace mindtorch::python
