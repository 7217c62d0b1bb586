#pragma once

#include <algorithm>
#include <cstdint>

#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/recurrent/steps.h"
#include "mindtorch/backends/cpu/recurrent/weight_product.h"
#include "mindtorch/backends/cpu/scratch.h"

// Note [Recurrent layers]
// A group of sequences goes through all steps, a chunk of them at a time. The input's part of the
// gates is one product over the rows of a chunk, divided among threads by rows; what is left of a
// step is a small product with the weight that all steps share, packed once, and one pass over the
// gates. Sequences do not meet in a layer, so that a thread takes its share of them through the
// steps of the chunk and waits for no other. No more gates exist at a time than those of a chunk:
// results are rounded to their dtype row by row, gates only where gradients need them.
// Few sequences or steps are not worth packed weights. Their products are those of all sequences
// then, and gemm() divides them among threads.
namespace mindtorch::cpu::recurrent {

// body(begin, end) on rows of n units each, by the calling thread or by several.
template <typename Body>
void each_row(int64_t rows, int64_t n, const Body& body) {
  parallel_for(0, rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, n)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) body(i);
               });
}

// The smallest share of the sequences for a thread that takes them through `count` steps.
inline int64_t share(const Steps& steps, int64_t count, int64_t work_of_a_row) {
  if (!steps.are_many()) return steps.batch();
  return std::max<int64_t>(4, kGrain / std::max<int64_t>(1, count * work_of_a_row));
}

template <typename T>
class ForwardPass {
 public:
  // The gates of a row are `stride` elements; `hidden_work` are the multiplications with the
  // hidden state for them.
  ForwardPass(const Tensor& input,
              const Tensor& w_ih,
              const Steps& steps,
              bool reverse,
              int64_t stride,
              int64_t hidden_work)
      : steps_(steps),
        input_(input),
        product_(w_ih, true, steps.are_many() ? Packing::kAll : Packing::kBFloat16),
        reverse_(reverse),
        stride_(stride),
        hidden_work_(hidden_work) {
    const int64_t batch = std::max<int64_t>(1, steps.batch());
    const int64_t rows = chunk_rows();
    group_ = steps.are_many() ? ceil_div(batch, ceil_div(batch, rows)) : batch;
    // More than one only if all sequences are in one group: the rows of a chunk are contiguous.
    chunk_ = std::clamp<int64_t>(rows / group_, 1, std::max<int64_t>(1, steps.count()));
  }

  int64_t group() const { return group_; }
  int64_t gate_count() const { return group_ * chunk_ * stride_; }
  size_t scratch_bytes() const { return product_.scratch_bytes(group_ * chunk_); }

  // Takes the sequences [first, last), at most a group, through all steps. body(sequence, row,
  // rows, gates) is called for rows of one step, from that of `sequence` on, with the input's part
  // of their gates.
  template <typename Body>
  void run(int64_t first, int64_t last, T* gates, const Body& body) const {
    for (int64_t done = 0; done < steps_.count(); done += chunk_) {
      const int64_t count = std::min(chunk_, steps_.count() - done);
      const int64_t low = reverse_ ? steps_.count() - done - count : done;
      int64_t all = 0;
      for (int64_t t = low; t < low + count; ++t) all += steps_.rows(t, first, last);
      product_.of_narrow(input_, steps_.begin(low) + first, all, gates, stride_);
      const int64_t least = share(steps_, count, hidden_work_);
      parallel_for(first, last, least, [&](int64_t from, int64_t to) {
        int64_t place = reverse_ ? all : 0;
        for (int64_t i = 0; i < count; ++i) {
          const int64_t t = reverse_ ? low + count - 1 - i : low + i;
          const int64_t of_step = steps_.rows(t, first, last);
          if (reverse_) place -= of_step;
          const int64_t rows = steps_.rows(t, from, to);
          if (rows > 0) {
            body(from, steps_.begin(t) + from, rows, gates + (place + from - first) * stride_);
          }
          if (!reverse_) place += of_step;
        }
      });
    }
  }

 private:
  int64_t chunk_rows() const {
    // The results of gemm() may depend on how many rows it has, hence not on the threads.
    if (!steps_.are_many()) return kUnpackedRows;
    const int64_t threads = num_threads();
    if (threads == 1) return kLeastRows;
    // Threads wait for each other after each chunk.
    const int64_t work = std::max<int64_t>(1, hidden_work_ + product_.multiplications_of_a_row());
    return threads * std::clamp(kChunkWork / work, kLeastRows, kMostRows);
  }

  // Of a chunk: for each thread, or in all where gemm() packs the weight for every chunk.
  static constexpr int64_t kLeastRows = 64;
  static constexpr int64_t kMostRows = 1024;
  static constexpr int64_t kChunkWork = int64_t{1} << 23;
  static constexpr int64_t kUnpackedRows = 256;

  const Steps& steps_;
  const Rows<T> input_;
  const WeightProduct<T> product_;
  const bool reverse_;
  const int64_t stride_;
  const int64_t hidden_work_;
  int64_t group_;
  int64_t chunk_;
};

}  // namespace mindtorch::cpu::recurrent
