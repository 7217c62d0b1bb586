// Reports name the functions that called: this program exports its own.
#include "tests/simulator/runtime/support.h"

// Not inline, and more to do after the call, so that each has a frame of its own.
[[gnu::noinline, gnu::visibility("default")]] aclError fill_the_picture(void* memory,
                                                                        aclrtStream stream) {
  const aclError code = aclrtMemsetAsync(memory, 64, 1, 64, stream);
  EXPECT_EQ(code, ACL_SUCCESS);
  return code;
}
[[gnu::noinline, gnu::visibility("default")]] aclError clear_the_picture(void* memory,
                                                                         aclrtStream stream) {
  const aclError code = aclrtMemsetAsync(memory, 64, 0, 64, stream);
  EXPECT_EQ(code, ACL_SUCCESS);
  return code;
}
[[gnu::noinline, gnu::visibility("default")]] void* make_a_picture() {
  void* memory = nullptr;
  EXPECT_EQ(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  return memory;
}

namespace {

class Sites : public Simulator {};

void expect_all(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(Sites, RacesNameBothCallers) {
  void* memory = make_a_picture();
  aclrtStream stream = make_stream();
  aclrtStream other = make_stream();
  OK(mtsim_hang_stream(id_of(stream)));  // what races is not run at once
  OK(fill_the_picture(memory, stream));
  OK(clear_the_picture(memory, other));
  OK(aclrtSynchronizeStream(other));
  mtsim_release_stream(-1);
  OK(aclrtSynchronizeStream(stream));
  expect_all(take_reports(), {"called at clear_the_picture(void*, void*)",
                              "called at fill_the_picture(void*, void*)"});
  OK(aclrtFree(memory));
  OK(aclrtDestroyStream(stream));
  OK(aclrtDestroyStream(other));
}

TEST_F(Sites, MemoryIsKnownByWhoAllocatedIt) {
  void* memory = make_a_picture();
  EXPECT_NE(aclrtMemset(memory, 100, 0, 100), ACL_SUCCESS);
  expect_all(take_reports(), {"past the end", "allocated at make_a_picture()"});
  OK(aclFinalize());
  expect_all(take_reports(), {"was not freed; allocated at make_a_picture()"});
  OK(aclrtFree(memory));
}

}  // namespace
