#include "mindtorch/functional/sparse.h"

#include <atomic>

#include "mindtorch/base/error.h"

namespace mindtorch {
namespace {

std::atomic<CooMaker> g_maker = nullptr;

}  // namespace

Tensor sparse_coo_tensor(const Tensor& indices, const Tensor& values, IntList sizes) {
  const CooMaker maker = g_maker.load(std::memory_order_acquire);
  MT_CHECK(maker != nullptr, NotImplementedError, "nothing here makes sparse tensors");
  return maker(indices, values, sizes);
}

void install_coo_maker(CooMaker maker) { g_maker.store(maker, std::memory_order_release); }

}  // namespace mindtorch
