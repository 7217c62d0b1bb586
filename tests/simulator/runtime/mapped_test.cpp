// Physical memory mapped side by side in one reservation is one range of addresses, as on a card:
// allocators that grow by mapping live on it.
#include <cstring>
#include <numeric>

#include "tests/simulator/runtime/support.h"

namespace {

constexpr size_t kChunk = size_t{2} << 20;

class Mapped : public Simulator {
 protected:
  void SetUp() override {
    Simulator::SetUp();
    base_ = reserve();
  }

  void TearDown() override {
    mtsim_release_stream(-1);
    aclrtSynchronizeDevice();
    for (char* at : mapped_) EXPECT_EQ(aclrtUnmapMem(at), ACL_SUCCESS);
    for (aclrtDrvMemHandle handle : handles_) EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
    for (char* at : reserved_) EXPECT_EQ(aclrtReleaseMemAddress(at), ACL_SUCCESS);
    Simulator::TearDown();
  }

  char* reserve() {
    void* address = nullptr;
    EXPECT_EQ(aclrtReserveMemAddress(&address, 16 * kChunk, 0, nullptr, 1), ACL_SUCCESS);
    reserved_.push_back(static_cast<char*>(address));
    return reserved_.back();
  }

  void map(char* at, uint32_t device = 0, size_t bytes = kChunk) {
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location = {device, ACL_MEM_LOCATION_TYPE_DEVICE};
    aclrtDrvMemHandle handle = nullptr;
    ASSERT_EQ(aclrtMallocPhysical(&handle, bytes, &prop, 0), ACL_SUCCESS);
    handles_.push_back(handle);
    ASSERT_EQ(aclrtMapMem(at, bytes, 0, handle, 0), ACL_SUCCESS);
    mapped_.push_back(at);
  }

  // Chunks from the beginning of the reservation on, one after the other.
  void map_chunks(size_t count) {
    for (size_t i = 0; i < count; ++i) map(base_ + i * kChunk);
  }

  void unmap(char* at) {
    EXPECT_EQ(aclrtUnmapMem(at), ACL_SUCCESS);
    std::erase(mapped_, at);
  }

  char* base_ = nullptr;

 private:
  std::vector<char*> reserved_;
  std::vector<char*> mapped_;
  std::vector<aclrtDrvMemHandle> handles_;
};

std::vector<char> pattern(size_t bytes) {
  std::vector<char> values(bytes);
  for (size_t i = 0; i < bytes; ++i) values[i] = static_cast<char>(i * 7 + (i >> 12));
  return values;
}

bool all_are(const char* data, size_t bytes, char value) {
  return std::all_of(data, data + bytes, [value](char byte) { return byte == value; });
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

size_t count_lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

// `view` = value, in float32; strides in elements. The tensors live until the end of the call, so
// it waits.
aclError fill(void* data,
              const std::vector<int64_t>& shape,
              const std::vector<int64_t>& strides,
              float value) {
  const auto rank = shape.size();
  const std::vector<int64_t> storage = {static_cast<int64_t>(16 * kChunk / 4)};
  aclTensor* view = aclCreateTensor(shape.data(), rank, ACL_FLOAT, strides.data(), 0, ACL_FORMAT_ND,
                                    storage.data(), 1, data);
  aclScalar* scalar = aclCreateScalar(&value, ACL_FLOAT);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnInplaceFillScalarGetWorkspaceSize(view, scalar, &bytes, &executor), ACL_SUCCESS);
  EXPECT_EQ(bytes, 0U);
  EXPECT_EQ(aclnnInplaceFillScalar(nullptr, 0, executor, nullptr), ACL_SUCCESS);
  const aclError code = aclrtSynchronizeStream(nullptr);
  aclDestroyTensor(view);
  aclDestroyScalar(scalar);
  return code;
}

// out[i] = a[i] + b[i] for `count` floats, queued on a stream.
class FloatSum {
 public:
  FloatSum(void* a, void* b, void* out, size_t count) {
    const auto size = static_cast<int64_t>(count);
    void* data[] = {a, b, out};
    for (size_t i = 0; i < 3; ++i) {
      tensors_[i] =
          aclCreateTensor(&size, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &size, 1, data[i]);
    }
    const float one = 1;
    alpha_ = aclCreateScalar(const_cast<float*>(&one), ACL_FLOAT);
  }
  ~FloatSum() {
    for (const aclTensor* tensor : tensors_) aclDestroyTensor(tensor);
    aclDestroyScalar(alpha_);
  }
  void launch(aclrtStream stream) {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    OK(aclnnAddGetWorkspaceSize(tensors_[0], tensors_[1], alpha_, tensors_[2], &bytes, &executor));
    OK(aclnnAdd(nullptr, bytes, executor, stream));
  }

 private:
  aclTensor* tensors_[3] = {};
  aclScalar* alpha_ = nullptr;
};

TEST_F(Mapped, CopiesCrossSeams) {
  map_chunks(4);
  const size_t bytes = 4 * kChunk;
  const auto values = pattern(bytes);
  OK(aclrtMemcpy(base_, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  std::vector<char> back(bytes);
  OK(aclrtMemcpy(back.data(), bytes, base_, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(back, values);

  // Over each seam alone, and by a stream, from pageable and pinned memory.
  auto* pinned = static_cast<char*>(pinned_memory(4096));
  for (size_t seam = kChunk; seam < bytes; seam += kChunk) {
    std::memset(pinned, static_cast<int>(seam / kChunk), 4096);
    OK(aclrtMemcpyAsync(base_ + seam - 100, 4096, pinned, 4096, ACL_MEMCPY_HOST_TO_DEVICE,
                        nullptr));
    OK(aclrtMemcpyAsync(back.data(), bytes, base_ + seam - 200, 4200, ACL_MEMCPY_DEVICE_TO_HOST,
                        nullptr));
    EXPECT_TRUE(all_are(back.data() + 100, 4096, static_cast<char>(seam / kChunk)));
    EXPECT_EQ(back[99], values[seam - 101]);
    EXPECT_EQ(back[4196], values[seam + 3996]);
  }
  OK(aclrtSynchronizeStream(nullptr));

  // From one place to another of the same range, and to an allocation.
  OK(aclrtMemcpy(base_, bytes, values.data(), bytes, ACL_MEMCPY_DEFAULT));
  auto* device = static_cast<char*>(device_memory(2 * kChunk));
  OK(aclrtMemcpy(device, 2 * kChunk, base_ + kChunk / 2, 2 * kChunk, ACL_MEMCPY_DEVICE_TO_DEVICE));
  OK(aclrtMemcpyAsync(base_ + kChunk / 2 * 3, 2 * kChunk, device, 2 * kChunk,
                      ACL_MEMCPY_DEVICE_TO_DEVICE, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  OK(aclrtMemcpy(back.data(), bytes, base_, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_TRUE(std::equal(back.begin() + kChunk / 2 * 3, back.begin() + kChunk / 2 * 7,
                         values.begin() + kChunk / 2));
  OK(aclrtFree(device));
  OK(aclrtFreeHost(pinned));
}

TEST_F(Mapped, FillsCrossSeams) {
  map_chunks(3);
  const size_t bytes = 3 * kChunk;
  OK(aclrtMemset(base_, bytes, 1, bytes));
  OK(aclrtMemset(base_ + kChunk - 8, bytes, 2, 16));
  OK(aclrtMemsetAsync(base_ + kChunk / 2 * 3, bytes, 3, kChunk, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  std::vector<char> back(bytes);
  OK(aclrtMemcpy(back.data(), bytes, base_, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_TRUE(all_are(back.data(), kChunk - 8, 1));
  EXPECT_TRUE(all_are(back.data() + kChunk - 8, 16, 2));
  EXPECT_TRUE(all_are(back.data() + kChunk + 8, kChunk / 2 - 8, 1));
  EXPECT_TRUE(all_are(back.data() + kChunk / 2 * 3, kChunk, 3));
  EXPECT_TRUE(all_are(back.data() + kChunk / 2 * 5, kChunk / 2, 1));
}

TEST_F(Mapped, RowsCrossSeams) {
  map_chunks(3);
  const size_t pitch = kChunk / 2 + 64;  // rows on both sides of the seams, and over them
  const size_t width = kChunk / 4;
  const auto values = pattern(5 * width);
  OK(aclrtMemcpy2d(base_ + 32, pitch, values.data(), width, width, 5, ACL_MEMCPY_HOST_TO_DEVICE));
  std::vector<char> back(5 * width);
  OK(aclrtMemcpy2dAsync(back.data(), width, base_ + 32, pitch, width, 5, ACL_MEMCPY_DEVICE_TO_HOST,
                        nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(back, values);
}

TEST_F(Mapped, TheOrderOfMappingDoesNotMatter) {
  map(base_ + 2 * kChunk);
  map(base_, 0, 2 * kChunk);
  map(base_ + 3 * kChunk);
  OK(aclrtMemset(base_, 4 * kChunk, 5, 4 * kChunk));
  EXPECT_EQ(base_[4 * kChunk - 1], 5);
}

TEST_F(Mapped, PeersCopyAcrossSeams) {
  map_chunks(2);
  char* there = reserve();
  map(there, 1);
  map(there + kChunk, 1);
  OK(aclrtMemset(base_, 2 * kChunk, 6, 2 * kChunk));
  EXPECT_EQ(aclrtMemcpy(there, 2 * kChunk, base_ + 1, 2 * kChunk - 1, ACL_MEMCPY_DEVICE_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtDeviceEnablePeerAccess(1, 0));
  OK(aclrtMemcpy(there, 2 * kChunk, base_ + 1, 2 * kChunk - 1, ACL_MEMCPY_DEVICE_TO_DEVICE));
  EXPECT_TRUE(all_are(there, 2 * kChunk - 1, 6));
  OK(aclrtDeviceDisablePeerAccess(1));
}

TEST_F(Mapped, OpsCrossSeams) {
  map_chunks(3);
  const size_t count = kChunk / 4 + 1000;  // a and out both lie over a seam
  std::vector<float> a(count);
  std::iota(a.begin(), a.end(), 0.F);
  auto* first = reinterpret_cast<float*>(base_);
  OK(aclrtMemcpy(first, 4 * count, a.data(), 4 * count, ACL_MEMCPY_HOST_TO_DEVICE));
  FloatSum sum(first, first, first + count, count);
  sum.launch(nullptr);
  OK(aclrtSynchronizeStream(nullptr));
  std::vector<float> out(count);
  OK(aclrtMemcpy(out.data(), 4 * count, first + count, 4 * count, ACL_MEMCPY_DEVICE_TO_HOST));
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], 2 * a[i]) << i;
}

TEST_F(Mapped, StridedViewsCrossSeams) {
  map_chunks(3);
  OK(aclrtMemset(base_, 3 * kChunk, 0, 3 * kChunk));
  const auto columns = static_cast<int64_t>(kChunk / 4 / 8);
  // Every other row, turned, and backwards over all of it.
  OK(fill(base_, {columns, 12}, {1, 2 * columns}, 1));
  const auto* values = reinterpret_cast<const float*>(base_);
  for (int64_t row = 0; row < 24; ++row) {
    ASSERT_EQ(values[row * columns + 5], row % 2 ? 0 : 1) << row;
  }
  const auto last = static_cast<int64_t>(3 * kChunk / 4 - 1);
  OK(fill(base_ + last * 4, {2}, {-last}, 2));
  EXPECT_EQ(values[0] + values[last], 4);
}

TEST_F(Mapped, AHoleIsRefused) {
  map_chunks(3);
  OK(aclrtMemset(base_, 3 * kChunk, 1, 3 * kChunk));
  unmap(base_ + kChunk);
  std::vector<char> host(3 * kChunk);
  EXPECT_EQ(aclrtMemcpy(host.data(), host.size(), base_, 3 * kChunk, ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_ERROR_RT_DRV_INTERNAL_ERROR);
  EXPECT_TRUE(has(take_message(), "to which no memory is mapped"));
  EXPECT_TRUE(has(take_reports(), "to which no memory is mapped"));
  EXPECT_EQ(aclrtMemset(base_ + 8, kChunk, 0, kChunk), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
  EXPECT_NE(take_reports(), "");
  const auto rows = static_cast<int64_t>(kChunk / 4 / 8);
  EXPECT_EQ(fill(base_, {12, 1}, {2 * rows, 1}, 1), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_NE(take_reports(), "");

  // A view that steps over the hole touches nothing of it.
  OK(aclrtMemset(base_, kChunk, 0, kChunk));
  OK(fill(base_, {2, 4}, {static_cast<int64_t>(2 * kChunk / 4), 1}, 3));
  EXPECT_EQ(reinterpret_cast<float*>(base_ + 2 * kChunk)[3], 3);

  map(base_ + kChunk);
  OK(aclrtMemset(base_, 3 * kChunk, 1, 3 * kChunk));
}

TEST_F(Mapped, TheLastChunkEnds) {
  map_chunks(2);
  EXPECT_EQ(aclrtMemset(base_, 3 * kChunk, 1, 2 * kChunk + 1), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
  EXPECT_TRUE(has(take_reports(), "past the end of device 0 memory"));
  OK(aclrtMemset(base_, 3 * kChunk, 1, 2 * kChunk));
}

TEST_F(Mapped, UnwrittenBytesAreFoundBehindASeam) {
  map_chunks(3);
  const size_t count = kChunk / 4;
  auto* out = device_memory(4 * count);
  OK(aclrtMemset(base_, kChunk, 0, kChunk));
  FloatSum half_unwritten(base_ + kChunk / 2, base_, out, count);
  half_unwritten.launch(nullptr);
  OK(aclrtSynchronizeStream(nullptr));
  const std::string reports = take_reports();
  EXPECT_TRUE(has(reports, "1048576 bytes that were never written")) << reports;
  EXPECT_EQ(count_lines(reports), 1U) << reports;

  // A copy carries over what was written, over the seams of both sides.
  OK(aclrtMemcpy(base_ + kChunk / 4 * 5, 2 * kChunk, base_ + kChunk / 4 * 3, kChunk / 2,
                 ACL_MEMCPY_DEVICE_TO_DEVICE));
  FloatSum written(base_ + kChunk / 4 * 5, base_, out, count / 4);
  written.launch(nullptr);
  OK(aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(take_reports(), "");
  FloatSum unwritten(base_ + kChunk / 4 * 6, base_, out, count / 4);
  unwritten.launch(nullptr);
  OK(aclrtSynchronizeStream(nullptr));
  EXPECT_TRUE(has(take_reports(), "524288 bytes that were never written"));

  // A fill over everything leaves none.
  OK(aclrtMemset(base_, 3 * kChunk, 0, 3 * kChunk));
  half_unwritten.launch(nullptr);
  OK(aclrtSynchronizeStream(nullptr));
  OK(aclrtFree(out));
}

TEST_F(Mapped, RacesAreFoundBehindASeamAndToldOnce) {
  map_chunks(3);
  aclrtStream one = make_stream();
  aclrtStream other = make_stream();
  // Reports are made when work is queued. It runs one after the other: the race is for us to find,
  // not for ThreadSanitizer.
  OK(mtsim_hang_stream(id_of(other)));
  OK(aclrtMemsetAsync(base_, 2 * kChunk, 1, kChunk + 64, one));
  OK(aclrtMemsetAsync(base_ + kChunk + 64, 2 * kChunk, 2, kChunk, other));
  EXPECT_EQ(take_reports(), "");
  OK(aclrtMemsetAsync(base_ + 32, 3 * kChunk, 3, 2 * kChunk, other));
  const std::string reports = take_reports();
  EXPECT_TRUE(has(reports, "in no order")) << reports;
  EXPECT_EQ(count_lines(reports), 1U) << reports;
  OK(aclrtSynchronizeStream(one));
  mtsim_release_stream(id_of(other));
  OK(aclrtSynchronizeDevice());
  OK(aclrtDestroyStream(one));
  OK(aclrtDestroyStream(other));
}

TEST_F(Mapped, ChunksLiveAsLongAsQueuedWorkNeedsThem) {
  map_chunks(3);
  aclrtStream stream = make_stream();
  OK(mtsim_hang_stream(id_of(stream)));
  OK(aclrtMemsetAsync(base_ + kChunk / 2, 3 * kChunk, 1, kChunk, stream));
  unmap(base_ + 2 * kChunk);  // not needed
  EXPECT_EQ(take_reports(), "");
  unmap(base_ + kChunk);
  EXPECT_TRUE(has(take_reports(), "still needs it"));
  mtsim_release_stream(-1);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  OK(aclrtDestroyStream(stream));
}

}  // namespace
