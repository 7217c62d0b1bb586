#include "mindtorch/base/crc32.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mindtorch {
namespace {

// One bit after the other, as the checksum is defined.
uint32_t reference(const uint8_t* data, size_t size, uint32_t value) {
  value = ~value;
  for (size_t i = 0; i < size; ++i) {
    value ^= data[i];
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~value;
}

TEST(Crc32, KnownValue) {
  const std::string text = "123456789";
  EXPECT_EQ(crc32(text.data(), text.size(), 0), 0xCBF43926);
  EXPECT_EQ(crc32(nullptr, 0, 0), 0u);
}

TEST(Crc32, EverySizeAndStart) {
  std::vector<uint8_t> data(700);
  uint32_t next = 1;
  for (uint8_t& byte : data) byte = static_cast<uint8_t>((next = next * 1664525 + 1013904223) >> 24);
  for (size_t size = 0; size <= 600; ++size) {
    for (const size_t start : {0, 1, 7, 64}) {
      const uint8_t* part = data.data() + start;
      EXPECT_EQ(crc32(part, size, 0), reference(part, size, 0)) << size;
      EXPECT_EQ(crc32(part, size, 0x12345678), reference(part, size, 0x12345678)) << size;
    }
  }
}

TEST(Crc32, InParts) {
  const std::vector<uint8_t> data(1000, 0xA5);
  const uint32_t whole = crc32(data.data(), data.size(), 0);
  for (const size_t cut : {0, 1, 63, 64, 500, 1000}) {
    const uint32_t first = crc32(data.data(), cut, 0);
    EXPECT_EQ(crc32(data.data() + cut, data.size() - cut, first), whole) << cut;
  }
}

}  // namespace
}  // namespace mindtorch
