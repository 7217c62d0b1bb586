#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mindtorch/base/options.h"

namespace mindtorch::driver {

// What is known of a kind of device before there is any: its names, numbers, settings and limits. A
// backend makes one row, and its driver shows it. Who needs to tell kinds apart asks the row; only
// backends know which kind they are.
struct DeviceRow {
  const char* name;   // the torch.device type
  const char* title;  // in texts: the same in capitals
  const char* noun;   // what one of them is: "GPU"

  // What others call it.
  const char* dispatch_key;  // torch's: "PrivateUse1"
  int torch_type;            // torch's number of the device type
  int dlpack_type;           // DLPack's; 0: it has none
  // The number that means the default stream where libraries exchange tensors: 1 where 0 might be
  // either of two.
  int64_t dlpack_default_stream = 0;

  // All variables that only this kind reads, in the order of the documentation.
  std::span<const Option* const> variables{};
  // Where the settings of its allocator come from: the first that is set and not empty, or else
  // PYTORCH_ALLOC_CONF. Advice names the first.
  std::span<const TextOption* const> alloc_conf{};
  // Whether pipelines may capture graphs; null: where the driver can.
  const FlagOption* pipeline_graphs = nullptr;

  // Ops that a pipeline records before it runs them, where the program does not say. A longer
  // window means larger fused groups; but a device that works beside the host waits for the first.
  int64_t window_ops = 64;
  // With more memory between its steps a window is not captured as a graph: then the device takes
  // longer than the host, and the memory is better used elsewhere.
  size_t graph_bytes = size_t{64} << 20;

  // Its ops take indices of int32 also where torch's for the CPU insist on int64.
  bool takes_int32_indices = false;

  // What it does with a program's wishes about numbers (runtime/math_mode.h): whether products of
  // float32 matrices are quicker with fewer bits, and whether it can be told to give the same bits
  // each time. A device that always does needs no telling.
  bool reduces_float32 = false;
  bool is_deterministic = true;

  const TextOption& advised_alloc_conf() const {
    return alloc_conf.empty() ? options::kTorchAllocConf : *alloc_conf.front();
  }
};

}  // namespace mindtorch::driver
