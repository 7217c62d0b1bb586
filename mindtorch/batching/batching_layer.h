#pragma once

namespace mindtorch::ops {
class Registry;
}

namespace mindtorch::batching {

// The rules of all ops, and the layer that runs ops on batched tensors. Once, from library.cpp,
// when all ops are there.
void install(ops::Registry& registry);

}  // namespace mindtorch::batching
