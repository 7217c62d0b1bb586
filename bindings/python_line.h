#pragma once

#include <Python.h>

#include <atomic>
#include <cstring>

namespace mindtorch::python {

// "train.py:12": the line of the calling thread's program that is being run, outside this package
// where there is such a line; null when unknown. May be called with or without the GIL, and never
// waits for it: without, it is the line where the thread gave the GIL up. The text is the thread's.
const char* python_line() noexcept;

// The folder of this package, with a slash at its end; null where nobody knows.
extern PyObject* g_package_folder;
void find_package_folder();  // once, while the module is made

// Not a line of the user's program. Asked for every op that a pipeline records.
inline bool is_ours(const PyCodeObject* code) noexcept {
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

// Set by the first call of python_line().
extern std::atomic<bool> g_lines_wanted;
void remember_python_line() noexcept;  // needs the GIL

// To be called just before the GIL is given up.
inline void keep_python_line() noexcept {
  if (g_lines_wanted.load(std::memory_order_relaxed)) remember_python_line();
}

}  // namespace mindtorch::python
