#include "simulator/ascend/core/control.h"

#include <cstdlib>
#include <cstring>

#include "simulator/ascend/core/faults.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/quick.h"
#include "simulator/ascend/core/reports.h"
#include "simulator/ascend/core/runtime.h"
#include "simulator/ascend/core/settings.h"
#include "simulator/ascend/core/site.h"
#include "simulator/ascend/core/stream.h"

using sim::runtime;

static char* copy(const std::string& text) {
  auto* made = static_cast<char*>(std::malloc(text.size() + 1));
  if (made) std::memcpy(made, text.c_str(), text.size() + 1);
  return made;
}

int mtsim_set(const char* name, const char* value) {
  if (!name || !value) return 1;
  const sim::Lock lock(runtime().mutex);
  if (!std::strcmp(name, "devices") && runtime().init_count) return 1;
  if (!sim::set_setting(name, value)) return 1;
  if (!std::strcmp(name, "devices")) {
    runtime().devices.resize(static_cast<size_t>(sim::settings().devices));
  }
  if (!std::strcmp(name, "log")) sim::set_log_capacity(sim::settings().log_entries);
  if (!std::strcmp(name, "trace")) sim::write_trace_at_exit();
  if (!std::strcmp(name, "faults")) {
    sim::set_faults("");
    return sim::add_faults(value) ? 0 : 1;
  }
  sim::refresh_modes();
  return 0;
}

char* mtsim_expected(const char* name) {
  const sim::Lock lock(runtime().mutex);
  return copy(name ? sim::expected_value(name) : "");
}

char* mtsim_settings() {
  const sim::Lock lock(runtime().mutex);
  return copy(sim::settings_text());
}

void mtsim_restore() {
  {
    const sim::Lock lock(runtime().mutex);
    const sim::Settings before = sim::settings();
    sim::read_environment();
    if (runtime().init_count) {
      sim::settings().devices = before.devices;
      sim::settings().memory_bytes = before.memory_bytes;
      sim::settings().soc = before.soc;
    }
    sim::apply_settings(runtime());
  }
  mtsim_release_stream(-1);
  sim::take_reports();
}

void mtsim_reset() {
  sim::reset_runtime();
  sim::take_reports();
}

int mtsim_add_faults(const char* faults) {
  const sim::Lock lock(runtime().mutex);
  if (!faults || !sim::add_faults(faults)) return 1;
  sim::refresh_modes();
  return 0;
}

void mtsim_clear_faults() {
  const sim::Lock lock(runtime().mutex);
  sim::set_faults("");
  sim::refresh_modes();
}

static int set_hung(int32_t stream_id, bool hung) {
  const sim::Lock lock(runtime().mutex);
  int found = 0;
  for (const auto& [_, stream] : runtime().streams) {
    if (stream_id >= 0 && stream->id != stream_id) continue;
    stream->hung = hung;
    stream->wake.notify_all();
    ++found;
  }
  return found;
}

void mtsim_release_stream(int32_t stream_id) { set_hung(stream_id, false); }

int mtsim_hang_stream(int32_t stream_id) { return set_hung(stream_id, true) ? 0 : 1; }

char* mtsim_take_reports() {
  std::string lines;
  for (const sim::Report& report : sim::take_reports()) {
    lines += "{\"check\": " + sim::json_string(report.check) +
             ", \"text\": " + sim::json_string(report.text) + "}\n";
  }
  return copy(lines);
}

size_t mtsim_report_count() { return sim::report_count(); }

char* mtsim_calls() { return copy(sim::log_lines()); }

void mtsim_clear_calls() {
  const sim::Lock lock(runtime().mutex);
  sim::set_log_capacity(sim::settings().log_entries);
}

int mtsim_write_trace(const char* path) { return path && sim::write_trace(path) ? 0 : 1; }

void mtsim_set_site_callback(const char* (*callback)()) { sim::set_site_callback(callback); }

void mtsim_free(void* text) { std::free(text); }
