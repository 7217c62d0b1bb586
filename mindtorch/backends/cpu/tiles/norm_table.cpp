#include "mindtorch/backends/cpu/tiles/norm.h"

namespace mindtorch::cpu {

NormTable build_norm_table() {
  NormTable tiles;
  add_norms(tiles);
  add_softmax_gradients(tiles);
  add_softmax_columns(tiles);
  add_channels(tiles);
  return tiles;
}

namespace {

const NormTable& tiles() {
  static const NormTable built = build_norm_table();
  return built;
}

}  // namespace

NormRowFn find_norm_row(Norm norm, DType dtype) {
  return tiles().norms[static_cast<int>(norm)][static_cast<int>(dtype)];
}
NormGradientFn find_norm_gradient(Norm norm, DType dtype) {
  return tiles().norm_gradients[static_cast<int>(norm)][static_cast<int>(dtype)];
}
RowGradientFn find_softmax_gradient(Softmax softmax, DType dtype) {
  return tiles().softmax_gradients[static_cast<int>(softmax)][static_cast<int>(dtype)];
}
ColumnsFn find_softmax_columns(Softmax softmax, DType dtype) {
  return tiles().softmax_columns[static_cast<int>(softmax)][static_cast<int>(dtype)];
}
ColumnsGradientFn find_softmax_columns_gradient(Softmax softmax, DType dtype) {
  return tiles().softmax_columns_gradients[static_cast<int>(softmax)][static_cast<int>(dtype)];
}
const ChannelFns& find_channels(ChannelsOfRow channels, DType dtype) {
  return tiles().channels[static_cast<int>(channels)][static_cast<int>(dtype)];
}

}  // namespace mindtorch::cpu
