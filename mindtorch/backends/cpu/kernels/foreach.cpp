// Ops over lists of tensors: one loop over all their elements.
#include <cmath>
#include <cstring>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/lines.h"
#include "mindtorch/backends/cpu/kernels/list_ranges.h"
#include "mindtorch/backends/cpu/tiles/row.h"
#include "mindtorch/ops/list_operands.h"

namespace mindtorch::cpu {
namespace {

// The outputs of an op that returns a list lie one after the other.
std::span<Tensor> list_of(Tensor& first, size_t count) { return {&first, count}; }

Tensor slice_of(const Tensor& tensor, int64_t begin, int64_t end) {
  return tensor.alias({end - begin}, {1}, tensor.storage_offset() + begin);
}

class PointwiseList {
 public:
  PointwiseList(ops::Launch& launch,
                int64_t function,
                int64_t compute,
                DType result,
                int64_t unrounded,
                const Scalar& p0,
                const Scalar& p1,
                const Scalar& p2)
      : launch_(launch),
        call_(static_cast<ops::Pointwise>(function), static_cast<DType>(compute), result) {
    call_.unrounded = static_cast<int8_t>(unrounded);
    call_.param(0, p0).param(1, p1).param(2, p2);
  }

  void run(TensorList outs, const ops::ListOperands& operands) const {
    const ListRanges ranges(outs);
    ranges.parallel_for_each([&](size_t i, int64_t begin, int64_t end) {
      ops::PointwiseCall call = call_;
      operands.add_to(call, i);
      const bool is_whole = end - begin == outs[i].numel();
      if (!is_whole && can_be_sliced(outs[i], call)) {
        run_slice(outs[i], call, begin, end);
      } else if (begin == 0) {
        run_pointwise(launch_, call, outs[i]);
      }
    });
  }

 private:
  static bool can_be_sliced(const Tensor& out, const ops::PointwiseCall& call) {
    if (!out.is_contiguous()) return false;
    for (int k = 0; k < call.count; ++k) {
      const Tensor& operand = *call.operands[k];
      if (operand.dim() == 0) continue;
      if (!operand.is_contiguous() || operand.sizes() != out.sizes()) return false;
    }
    return true;
  }
  void run_slice(const Tensor& out, ops::PointwiseCall call, int64_t begin, int64_t end) const {
    Tensor slices[ops::kMaxOperands];
    for (int k = 0; k < call.count; ++k) {
      if (call.operands[k]->dim() == 0) continue;
      slices[k] = slice_of(*call.operands[k], begin, end);
      call.operands[k] = &slices[k];
    }
    run_pointwise(launch_, call, slice_of(out, begin, end));
  }

  ops::Launch& launch_;
  ops::PointwiseCall call_;  // without operands
};

void pointwise_list(ops::Launch& launch,
                    TensorList a,
                    TensorList b,
                    TensorList c,
                    int64_t function,
                    int64_t compute,
                    int64_t result,
                    int64_t unrounded,
                    const Scalar& p0,
                    const Scalar& p1,
                    const Scalar& p2,
                    Tensor& first) {
  const ops::ListOperands operands(static_cast<ops::Pointwise>(function), a, b, c);
  const PointwiseList list(launch, function, compute, static_cast<DType>(result), unrounded, p0, p1,
                           p2);
  list.run(list_of(first, operands.size()), operands);
}

void pointwise_list_(ops::Launch& launch,
                     TensorList self,
                     TensorList a,
                     TensorList b,
                     TensorList c,
                     int64_t function,
                     int64_t compute,
                     int64_t unrounded,
                     const Scalar& p0,
                     const Scalar& p1,
                     const Scalar& p2) {
  const PointwiseList list(launch, function, compute, self[0].dtype(), unrounded, p0, p1, p2);
  list.run(self, {static_cast<ops::Pointwise>(function), a, b, c});
}

void copy_list_(ops::Launch&, TensorList self, TensorList src) {
  ListRanges(self).parallel_for_each([&](size_t i, int64_t begin, int64_t end) {
    if (self[i].is_contiguous() && src[i].is_contiguous()) {
      const int64_t size = self[i].element_size();
      std::memcpy(self[i].data<char>() + begin * size, src[i].data<char>() + begin * size,
                  static_cast<size_t>((end - begin) * size));
    } else if (begin == 0) {
      copy(src[i], self[i]);
    }
  });
}

void zero_list_(ops::Launch&, TensorList self) {
  ListRanges(self).parallel_for_each([&](size_t i, int64_t begin, int64_t end) {
    if (self[i].is_contiguous()) {
      const int64_t size = self[i].element_size();
      std::memset(self[i].data<char>() + begin * size, 0,
                  static_cast<size_t>((end - begin) * size));
    } else if (begin == 0) {
      copy(Tensor::wrapped_number(Scalar(0)), self[i]);
    }
  });
}

// |x| or x * x, summed in blocks; then the sums of each tensor.
void norm_list(ops::Launch&, TensorList self, const Scalar& ord, Tensor& first) {
  constexpr int64_t kBlock = 16 * 1024;
  const bool is_square = ord.to_double() == 2;
  const DType dtype = self[0].dtype();
  const RowFn sum = find_row(is_square ? Row::kSumSquares : Row::kSumAbs, dtype);
  std::vector<Tensor> dense;
  std::vector<size_t> first_block = {0};
  dense.reserve(self.size());
  for (const Tensor& tensor : self) {
    dense.push_back(as_contiguous(tensor));
    first_block.push_back(first_block.back() +
                          static_cast<size_t>(ceil_div(tensor.numel(), kBlock)));
  }
  std::vector<double> sums(first_block.back());
  parallel_for(0, static_cast<int64_t>(sums.size()), 2, [&](int64_t begin, int64_t end) {
    size_t i = 0;
    for (auto block = static_cast<size_t>(begin); block < static_cast<size_t>(end); ++block) {
      while (first_block[i + 1] <= block) ++i;
      const int64_t start = static_cast<int64_t>(block - first_block[i]) * kBlock;
      const int64_t n = std::min(kBlock, dense[i].numel() - start);
      const char* const data = dense[i].data<char>() + start * dense[i].element_size();
      if (dtype == DType::kFloat64) {
        sum(data, &sums[block], n);
      } else {
        float part = 0;
        sum(data, &part, n);
        sums[block] = part;
      }
    }
  });
  const std::span<Tensor> outs = list_of(first, self.size());
  for (size_t i = 0; i < outs.size(); ++i) {
    double total = 0;
    for (size_t block = first_block[i]; block < first_block[i + 1]; ++block) total += sums[block];
    const double norm = is_square ? std::sqrt(total) : total;
    visit_dtype(dtype, [&]<typename T>() { *outs[i].data<T>() = Scalar(norm).to<T>(); });
  }
}

}  // namespace

void register_foreach(ops::Registry& registry) {
  registry.kernel<pointwise_list>(DeviceType::kCpu, "_pointwise_list");
  registry.kernel<pointwise_list_>(DeviceType::kCpu, "_pointwise_list_");
  registry.kernel<copy_list_>(DeviceType::kCpu, "_copy_list_").takes(kAnyType);
  registry.kernel<zero_list_>(DeviceType::kCpu, "_zero_list_").takes(kAnyType);
  registry.kernel<norm_list>(DeviceType::kCpu, "_norm_list");
}

}  // namespace mindtorch::cpu
