#include "mindtorch/base/error.h"

#include <gtest/gtest.h>

#include <string>

#include "mindtorch/base/location.h"
#include "mindtorch/base/warning.h"
#include "tests/cpp/support/errors.h"

namespace mindtorch {
namespace {

using testing::error_of;

TEST(Error, CheckJoinsItsPartsOnlyWhenItFails) {
  int evaluated = 0;
  const auto part = [&] { return ++evaluated; };
  MT_CHECK(1 + 1 == 2, ValueError, "never ", part());
  EXPECT_EQ(evaluated, 0);
  EXPECT_EQ(error_of<ValueError>([&] { MT_CHECK(false, ValueError, "size ", 3, " of ", part()); }),
            "size 3 of 1");
}

TEST(Error, ClassesFormPythonsTree) {
  EXPECT_THROW(MT_THROW(IndexError, "x"), Error);
  EXPECT_THROW(MT_THROW(OutOfMemoryError, "x"), RuntimeError);
  EXPECT_THROW(MT_THROW(NotImplementedError, "x"), std::exception);
  static_assert(!std::is_base_of_v<RuntimeError, ValueError>);
  static_assert(!std::is_base_of_v<RuntimeError, NotImplementedError>);
}

TEST(Error, AssertNamesConditionAndPlace) {
  const int one = 1;
  MT_ASSERT(one == 1);
  const int line = Location::here().line + 1;
  const std::string text = error_of<RuntimeError>([&] { MT_ASSERT(one == 2); });
  EXPECT_NE(text.find("one == 2"), std::string::npos) << text;
  EXPECT_NE(text.find("error_test.cpp:" + std::to_string(line)), std::string::npos) << text;
}

TEST(Error, ChecksAreOneStatement) {
  bool reached_else = false;
  if (reached_else)
    MT_CHECK(true, RuntimeError, "");
  else
    reached_else = true;
  EXPECT_TRUE(reached_else);
}

std::string g_last_warning;

TEST(Warning, GoesToTheInstalledHandler) {
  set_warning_handler([](const std::string& text) { g_last_warning = text; });
  warn("careful");
  EXPECT_EQ(g_last_warning, "careful");
  set_warning_handler([](const std::string& text) { throw ValueError(text); });
  EXPECT_EQ(error_of<ValueError>([] { warn("now an error"); }), "now an error");

  set_warning_handler(nullptr);
  ::testing::internal::CaptureStderr();
  warn("to the terminal");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "Warning: to the terminal\n");
  EXPECT_EQ(g_last_warning, "careful");
}

}  // namespace
}  // namespace mindtorch
