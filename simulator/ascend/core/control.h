/* What the simulator gives beside CANN's interface. Valid C: a program may declare these functions
   itself, or look them up in libascendcl.so. */
#ifndef SIMULATOR_ASCEND_CORE_CONTROL_H
#define SIMULATOR_ASCEND_CORE_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* 0: done. Names and values: simulator/ascend/core/settings.h. The number of devices can be changed
   only before the first aclInit, or after mtsim_reset. */
int mtsim_set(const char* name, const char* value);

/* The values that a setting takes, as a text for people; empty: there is no such setting. */
char* mtsim_expected(const char* name);

/* The settings in force, as one JSON object of texts. */
char* mtsim_settings(void);

/* Settings, faults, streams that hang, reports and the log as at the start. Objects and memory
   stay, and in use so do the devices: their number, memory and name. */
void mtsim_restore(void);

/* Drops every object, all memory, all reports and the log, and reads the environment again. No
   other thread may be inside the libraries. */
void mtsim_reset(void);

/* Faults: simulator/ascend/core/faults.h. 0: understood. */
int mtsim_add_faults(const char* faults);
void mtsim_clear_faults(void);
/* Streams that a fault made hang go on. The id of aclrtStreamGetId; -1: all. */
void mtsim_release_stream(int32_t stream_id);
/* The stream does not take up its next task until it is released. */
int mtsim_hang_stream(int32_t stream_id);

/* Reports of the checks since the last call, as JSON lines {"check": ..., "text": ...}. All texts
   that functions here return are the caller's, for mtsim_free. */
char* mtsim_take_reports(void);
size_t mtsim_report_count(void);

/* The call log, when it is on (setting "log"): JSON lines; or written as a Chrome trace, 0:
 * written. */
char* mtsim_calls(void);
void mtsim_clear_calls(void);
int mtsim_write_trace(const char* path);

/* Asked at every call for the place in the program, e.g. a Python line; null text: unknown. */
void mtsim_set_site_callback(const char* (*callback)(void));

void mtsim_free(void* text);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
