#pragma once

#include <cstddef>
#include <cstdint>

#include "mindtorch/base/macros.h"

namespace mindtorch {

// Whether this machine multiplies without carries, and crc32() with it.
MT_API bool has_fast_crc32() noexcept;

// The checksum of zip files. `value` is that of the bytes before, 0 at the beginning.
MT_API uint32_t crc32(const void* data, size_t size_bytes, uint32_t value) noexcept;

}  // namespace mindtorch
