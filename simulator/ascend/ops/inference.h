#pragma once

#include "simulator/ascend/ops/attention.h"

namespace sim {

// The arguments, by the names that the forms have in common. Keys and values come as tensors or as
// lists: of one tensor, or of one for each sequence.
struct Inference {
  const char* op;
  const aclTensor* query;
  const aclTensor* key = nullptr;
  const aclTensor* value = nullptr;
  const aclTensorList* keys = nullptr;
  const aclTensorList* values = nullptr;
  const aclTensor* shift = nullptr;
  const aclTensor* mask = nullptr;
  const aclIntArray* query_lengths = nullptr;
  const aclIntArray* key_lengths = nullptr;
  std::vector<std::pair<const aclTensor*, const char*>> refused = {};
  const aclIntArray* shared_prefix = nullptr;
  const aclTensor* query_rope = nullptr;
  const aclTensor* key_rope = nullptr;
  const aclTensor* block_table = nullptr;
  const char* block_table_name = "blocktable";
  int64_t block_size = 0;
  int64_t heads = 1;
  double scale = 1;
  int64_t before = kFar;
  int64_t after = kFar;
  const char* layout = nullptr;
  int64_t key_heads = 0;
  int64_t sparse = 0;
  bool one_query = false;
  const aclTensor* out = nullptr;
  bool wants_lse = false;
  const aclTensor* lse = nullptr;
};

aclnnStatus infer(const Inference& a, uint64_t* workspace_size, aclOpExecutor** executor);

}  // namespace sim
