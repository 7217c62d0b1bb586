#include "mindtorch/base/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "mindtorch/base/warning.h"

namespace mindtorch {
namespace {

// Sets a variable for one test, and puts back what it was.
class Variable {
 public:
  explicit Variable(const Option& option) : name_(option.name), before_(option.raw()) {
    unsetenv(name_);
  }
  ~Variable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  void operator=(const char* value) { setenv(name_, value, 1); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

std::vector<std::string>& warnings() {
  static std::vector<std::string> texts;
  return texts;
}

TEST(Options, EveryFlagHasOneRuleOfTruth) {
  static constexpr FlagOption kOff{"OFF_BY_DEFAULT", false, "A flag that is off by default."};
  for (const FlagOption* option : {&options::kCpuJit, &kOff}) {
    Variable variable(*option);
    EXPECT_EQ(option->get(), option->default_value);
    variable = "";
    EXPECT_EQ(option->get(), option->default_value);
    EXPECT_EQ(option_problem(*option), "");
    for (const char* value : {"1", "true", "True", "yes", "ON"}) {
      variable = value;
      EXPECT_TRUE(option->get()) << value;
    }
    for (const char* value : {"0", "false", "FALSE", "no", "Off"}) {
      variable = value;
      EXPECT_FALSE(option->get()) << value;
      EXPECT_EQ(option_problem(*option), "");
    }
    variable = "2";
    EXPECT_EQ(option->get(), option->default_value);
    EXPECT_EQ(option_problem(*option),
              std::string(option->name) + "=2 is ignored: it takes 0 or 1");
  }
}

TEST(Options, NumbersAreWholeAndInRange) {
  Variable variable(options::kNumThreads);
  EXPECT_FALSE(options::kNumThreads.find());
  variable = "12";
  EXPECT_EQ(options::kNumThreads.find(), 12u);
  for (const char* value : {"0", "-1", "4097", "3x", " 3", "1e3", "many", "\xc3\xa9"}) {
    variable = value;
    EXPECT_FALSE(options::kNumThreads.find()) << value;
    EXPECT_NE(option_problem(options::kNumThreads), "") << value;
  }
  variable = "99999999999999999999";
  EXPECT_EQ(option_problem(options::kNumThreads),
            "MINDTORCH_NUM_THREADS=99999999999999999999 is ignored: it takes a number from 1 to "
            "4096");
}

TEST(Options, OfAListTheFirstNumberCounts) {
  Variable omp(options::kOmpNumThreads);
  omp = "6,2";
  EXPECT_EQ(options::kOmpNumThreads.find(), 6u);
  Variable own(options::kNumThreads);
  own = "6,2";
  EXPECT_FALSE(options::kNumThreads.find());
}

TEST(Options, ProblemsAreShortPlainText) {
  Variable variable(options::kCpuCacheMb);
  variable = ("\xff\n" + std::string(1000, '9')).c_str();
  const std::string problem = option_problem(options::kCpuCacheMb);
  EXPECT_EQ(problem.find("MINDTORCH_CPU_CACHE_MB=\?\?99"), 0u) << problem;
  EXPECT_LT(problem.size(), 160u);
}

TEST(Options, WarnsOfEveryProblem) {
  Variable jit(options::kCpuJit);
  Variable cache(options::kCpuCacheMb);
  jit = "maybe";
  cache = "all";
  warnings().clear();
  set_warning_handler([](const std::string& text) { warnings().push_back(text); });
  warn_about_options(common_options());
  set_warning_handler(nullptr);
  std::set<std::string> names;
  for (const std::string& text : warnings()) names.insert(text.substr(0, text.find('=')));
  EXPECT_TRUE(names.contains("MINDTORCH_CPU_JIT"));
  EXPECT_TRUE(names.contains("MINDTORCH_CPU_CACHE_MB"));
}

TEST(Options, TheTableNamesEachVariableOnce) {
  std::set<std::string> names;
  for (const Option* option : common_options()) {
    EXPECT_TRUE(names.insert(option->name).second) << option->name;
    EXPECT_GT(std::string(option->meaning).size(), 10u) << option->name;
  }
  EXPECT_TRUE(names.contains("MINDTORCH_CPU_JIT"));
}

}  // namespace
}  // namespace mindtorch
