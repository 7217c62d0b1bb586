#include "mindtorch/runtime/alloc_conf.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/cpp/support/fake_driver.h"

namespace mindtorch::runtime {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

struct Parsed {
  AllocConf conf;
  std::vector<std::string> warnings;
};

Parsed parse(std::string_view text) {
  Parsed parsed;
  parsed.conf = AllocConf::parse(
      text, [&parsed](const std::string& warning) { parsed.warnings.push_back(warning); });
  return parsed;
}

AllocConf parse_good(std::string_view text) {
  Parsed parsed = parse(text);
  EXPECT_TRUE(parsed.warnings.empty()) << parsed.warnings.front();
  return parsed.conf;
}

TEST(AllocConf, DefaultsAreTorchs) {
  const AllocConf conf = parse_good("");
  EXPECT_EQ(conf.max_split_size, AllocConf::kUnlimited);
  EXPECT_EQ(conf.max_non_split_rounding, 20 * kMiB);
  EXPECT_EQ(conf.garbage_collection_threshold, 0);
  EXPECT_FALSE(conf.expandable_segments);
  EXPECT_EQ(conf.per_process_memory_fraction, 1);
  EXPECT_TRUE(conf.settings.empty());
}

TEST(AllocConf, ReadsEveryKeyThatHasAnEffect) {
  const AllocConf conf = parse_good(
      "max_split_size_mb:8,max_non_split_rounding_mb:30,large_segment_size_mb:40,"
      "garbage_collection_threshold:0.75,roundup_power2_divisions:4,expandable_segments:True,"
      "per_process_memory_fraction:0.5,outgrown_segment_age:7,pinned_max_cached_size_mb:3,"
      "pinned_max_round_threshold_mb:0,pinned_reserve_segment_size_mb:5");
  EXPECT_EQ(conf.max_split_size, 8 * kMiB);
  EXPECT_EQ(conf.max_non_split_rounding, 30 * kMiB);
  EXPECT_EQ(conf.large_segment_size, 40 * kMiB);
  EXPECT_EQ(conf.garbage_collection_threshold, 0.75);
  EXPECT_EQ(conf.roundup_power2_divisions[0], 4u);
  EXPECT_EQ(conf.roundup_power2_divisions[15], 4u);
  EXPECT_TRUE(conf.expandable_segments);
  EXPECT_EQ(conf.per_process_memory_fraction, 0.5);
  EXPECT_EQ(conf.outgrown_segment_age, 7u);
  EXPECT_EQ(conf.pinned_max_cached_size, 3 * kMiB);
  EXPECT_EQ(conf.pinned_max_round_threshold, 0u);
  EXPECT_EQ(conf.pinned_reserve_segment_size, 5 * kMiB);
  ASSERT_EQ(conf.settings.size(), 11u);
  EXPECT_EQ(conf.settings[0].first, "max_split_size_mb");
  EXPECT_EQ(std::get<int64_t>(conf.settings[0].second), 8);
  EXPECT_EQ(std::get<double>(conf.settings[3].second), 0.75);
  EXPECT_EQ(std::get<bool>(conf.settings[5].second), true);
}

TEST(AllocConf, AcceptsKeysWithoutAnEffectHere) {
  const AllocConf conf = parse_good(
      "backend:native,release_lock_on_cudamalloc:True,release_lock_on_hipmalloc:False,"
      "release_lock_on_npumalloc:True,throw_on_cudamalloc_oom:True,throw_on_npumalloc_oom:False,"
      "graph_capture_record_stream_reuse:True,pinned_use_cuda_host_register:True,"
      "pinned_use_hip_host_register:False,pinned_mem_register:True,pinned_num_register_threads:8,"
      "pinned_use_background_threads:True,pinned_free_catch_all:False,segment_size_mb:20,"
      "page_size:1g,base_addr_aligned_kb:16,multi_stream_lazy_reclaim:True,"
      "pin_memory_expandable_segments:False");
  EXPECT_EQ(conf.settings.size(), 18u);
  EXPECT_EQ(std::get<std::string>(conf.settings[0].second), "native");
}

TEST(AllocConf, KeysThatNameAKindOfDeviceMayNameAnyKind) {
  EXPECT_EQ(
      parse_good("release_lock_on_othermalloc:True,throw_on_othermalloc_oom:True").settings.size(),
      2u);
  EXPECT_EQ(parse("release_lock_on_malloc:True").warnings.size(), 1u);
}

TEST(AllocConf, EqualsSignWhiteSpaceAndEmptyItemsAreAllowed) {
  const std::string text = " max_split_size_mb = 4 ,, expandable_segments:\tFalse ,";
  const AllocConf conf = parse_good(text);
  EXPECT_EQ(conf.max_split_size, 4 * kMiB);
  EXPECT_EQ(conf.settings.size(), 2u);
  EXPECT_EQ(conf.text, text);
}

TEST(AllocConf, TheLastOfTwoEqualKeysWins) {
  const AllocConf conf = parse_good("max_split_size_mb:4,max_split_size_mb:1");
  EXPECT_EQ(conf.max_split_size, kMiB);
  ASSERT_EQ(conf.settings.size(), 1u);
  EXPECT_EQ(std::get<int64_t>(conf.settings[0].second), 1);
}

TEST(AllocConf, ReadsListsOfDivisions) {
  const AllocConf conf =
      parse_good("roundup_power2_divisions:[256:1,512:2,2048:4,>:8],max_split_size_mb:9");
  const std::array<uint32_t, 16> expected = {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 0, 4, 8, 8, 8, 8};
  EXPECT_EQ(conf.roundup_power2_divisions, expected);
  EXPECT_EQ(conf.max_split_size, 9 * kMiB);
  EXPECT_EQ(std::get<std::string>(conf.settings[0].second), "[256:1,512:2,2048:4,>:8]");
  EXPECT_EQ(parse_good("roundup_power2_divisions=[>:4]").roundup_power2_divisions[0], 4u);
  // Sizes beyond the table belong to its last entry.
  EXPECT_EQ(parse_good("roundup_power2_divisions:[65536:4]").roundup_power2_divisions[15], 4u);
}

TEST(AllocConf, BadItemsWarnAndChangeNothing) {
  for (const char* text : {
           "max_split_size_mb:0",
           "max_split_size_mb:-1",
           "max_split_size_mb:x",
           "max_split_size_mb:8.5",
           "max_split_size_mb:99999999999999999999",
           "max_split_size_mb:",
           "max_split_size_mb",
           "max_split_size_mb:8MB",
           "large_segment_size_mb:10",
           "garbage_collection_threshold:1.5",
           "garbage_collection_threshold:-0.1",
           "garbage_collection_threshold:nan",
           "per_process_memory_fraction:2",
           "roundup_power2_divisions:3",
           "roundup_power2_divisions:-4",
           "roundup_power2_divisions:[256:1,512:3]",
           "roundup_power2_divisions:[3:4]",
           "roundup_power2_divisions:[256:1",
           "roundup_power2_divisions:[]",
           "roundup_power2_divisions:[>:4,256:1]",
           "roundup_power2_divisions:[256]",
           "roundup_power2_divisions:[256:2,>]",
           "expandable_segments:yes",
           "pinned_num_register_threads:3",
           "pinned_num_register_threads:256",
           "backend:cudaMallocAsync",
           "page_size:2g",
           "base_addr_aligned_kb:17",
           "unknown:1",
           "unknown",
           ":",
           ":8",
           "]",
           "outgrown_segment_age:-1",
       }) {
    const Parsed parsed = parse(text);
    ASSERT_EQ(parsed.warnings.size(), 1u) << text;
    EXPECT_NE(parsed.warnings[0].find(std::string("\"") + text + "\""), std::string::npos)
        << parsed.warnings[0];
    EXPECT_TRUE(parsed.conf.settings.empty()) << text;
    EXPECT_EQ(parsed.conf.max_split_size, AllocConf::kUnlimited);
    EXPECT_EQ(parsed.conf.roundup_power2_divisions, AllocConf().roundup_power2_divisions) << text;
  }
}

TEST(AllocConf, ABadListLeavesAnEarlierOneInForce) {
  for (const char* list : {"[]", "[4:2,8:3]", "[>:x]", "[,]"}) {
    const auto conf = AllocConf::parse(
        std::string("roundup_power2_divisions:8,roundup_power2_divisions:") + list, nullptr);
    EXPECT_EQ(conf.roundup_power2_divisions[3], 8u) << list;
  }
}

TEST(AllocConf, GoodItemsSurviveBadNeighbours) {
  const Parsed parsed = parse("what:1,max_split_size_mb:8,garbage_collection_threshold:x");
  EXPECT_EQ(parsed.conf.max_split_size, 8 * kMiB);
  EXPECT_EQ(parsed.warnings.size(), 2u);
}

TEST(AllocConf, FirstVariableThatIsSetAndNotEmptyCounts) {
  const char* const variables[] = {"FAKE_ALLOC_CONF", "FAKE_OLD_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
  std::vector<std::pair<bool, std::string>> before;
  for (const char* variable : variables) {
    const char* const text = std::getenv(variable);
    before.emplace_back(text != nullptr, text != nullptr ? text : "");
    unsetenv(variable);
  }
  EXPECT_EQ(AllocConf::environment_text(test::kFakeRow), "");
  for (int i = 2; i >= 0; --i) {
    setenv(variables[i], variables[i], 1);
    EXPECT_EQ(AllocConf::environment_text(test::kFakeRow), variables[i]);
  }
  driver::DeviceRow without = test::kFakeRow;
  without.alloc_conf = {};
  EXPECT_EQ(AllocConf::environment_text(without), variables[2]);
  setenv(variables[0], "", 1);
  EXPECT_EQ(AllocConf::environment_text(test::kFakeRow), variables[1]);
  for (size_t i = 0; i < 3; ++i) {
    if (before[i].first) {
      setenv(variables[i], before[i].second.c_str(), 1);
    } else {
      unsetenv(variables[i]);
    }
  }
}

TEST(AllocConf, RoundsToMultiplesOf512) {
  const AllocConf conf;
  EXPECT_EQ(conf.round(1), 512u);
  EXPECT_EQ(conf.round(512), 512u);
  EXPECT_EQ(conf.round(513), 1024u);
  EXPECT_EQ(conf.round(kMiB), kMiB);
  EXPECT_EQ(conf.round(kMiB + 1), kMiB + 512);
  EXPECT_EQ(conf.round(10485249), 10485760u);
}

TEST(AllocConf, RoundsToPartsOfPowersOfTwo) {
  const AllocConf four = parse_good("roundup_power2_divisions:4");
  EXPECT_EQ(four.round(700), 1024u);
  EXPECT_EQ(four.round(2048), 2048u);
  EXPECT_EQ(four.round(2049), 2560u);
  EXPECT_EQ(four.round(4 * kMiB), 4 * kMiB);
  EXPECT_EQ(four.round(5 * kMiB + 1), 6 * kMiB);
  EXPECT_EQ(four.round(65 * kMiB), 80 * kMiB);
  EXPECT_EQ(four.round(200 * kMiB), 224 * kMiB);
  EXPECT_EQ(four.round(300 * kMiB), 320 * kMiB);
  EXPECT_EQ(four.round(1100 * kMiB), 1280 * kMiB);
  const AllocConf eight = parse_good("roundup_power2_divisions:8");
  EXPECT_EQ(eight.round(5 * kMiB + 1), 5 * kMiB + kMiB / 2);
  EXPECT_EQ(eight.round(65 * kMiB), 72 * kMiB);
  EXPECT_EQ(eight.round(200 * kMiB), 208 * kMiB);
  const AllocConf one = parse_good("roundup_power2_divisions:1");
  EXPECT_EQ(one.round(65 * kMiB + 1), 65 * kMiB + 512);
}

TEST(AllocConf, EachSizeHasItsOwnDivisions) {
  const AllocConf conf = parse_good("roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:4,>:1]");
  EXPECT_EQ(conf.round(kMiB + kMiB / 16), kMiB + kMiB / 8);  // below the first item
  EXPECT_EQ(conf.round(65 * kMiB), 72 * kMiB);
  EXPECT_EQ(conf.round(129 * kMiB), 192 * kMiB);
  EXPECT_EQ(conf.round(257 * kMiB), 320 * kMiB);
  EXPECT_EQ(conf.round(513 * kMiB), 768 * kMiB);
  EXPECT_EQ(conf.round(1025 * kMiB), 1280 * kMiB);
  EXPECT_EQ(conf.round(2049 * kMiB + 1), 2049 * kMiB + 512);
}

TEST(AllocConf, RoundingNeverGivesLessAndKeepsTheMultiple) {
  for (const char* text : {"", "roundup_power2_divisions:2", "roundup_power2_divisions:16",
                           "roundup_power2_divisions:4096"}) {
    const AllocConf conf = parse_good(text);
    for (size_t bytes = 1; bytes < 4 * kMiB; bytes += 1 + bytes / 97) {
      const size_t rounded = conf.round(bytes);
      ASSERT_GE(rounded, bytes);
      ASSERT_EQ(rounded % 512, 0u);
      ASSERT_EQ(conf.round(rounded), rounded) << bytes;
    }
  }
}

}  // namespace
}  // namespace mindtorch::runtime
