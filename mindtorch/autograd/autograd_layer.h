#pragma once

namespace mindtorch::ops {
class Registry;
}

namespace mindtorch::autograd {

// The derivatives of all ops, and the layer that records. Once, from library.cpp.
void install(ops::Registry& registry);

}  // namespace mindtorch::autograd
