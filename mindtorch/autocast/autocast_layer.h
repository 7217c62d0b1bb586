#pragma once

namespace mindtorch::ops {
class Registry;
}

namespace mindtorch::autocast {

// The policies of all ops, and the layer that casts. Once, from library.cpp, when all ops are
// there.
void install(ops::Registry& registry);
void define_policies(ops::Registry& registry);

}  // namespace mindtorch::autocast
