// Triangles and diagonals of matrices.
#include "simulator/ascend/ops/move.h"

using namespace sim;

namespace {

void triangle(const View& out, const View& in, int64_t diagonal, bool lower) {
  const int64_t rows = in.size(in.rank() - 2);
  const int64_t columns = in.size(in.rank() - 1);
  const auto item = static_cast<size_t>(in.item());
  Cursor from(in);
  Cursor to(out);
  for (int64_t i = 0; i < in.numel(); ++i, from.next(), to.next()) {
    const int64_t row = i / columns % rows;
    const int64_t column = i % columns;
    const bool keep = lower ? column - row <= diagonal : column - row >= diagonal;
    if (keep) {
      std::memmove(to.get(), from.get(), item);
    } else {
      std::memset(to.get(), 0, item);
    }
  }
}

aclnnStatus triangle_op(const char* op,
                        const aclTensor* self,
                        int64_t diagonal,
                        const aclTensor* out,
                        bool lower,
                        uint64_t* workspace_size,
                        aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in =
        out == nullptr ? p.inout(self, "selfRef", kAny) : p.input(self, "self", kAny);
    const Operand target = out == nullptr ? in : p.output(out, "out", kAny);
    p.check_rank(in, 2, 8);
    move_elements(p, in, target, in.shape(),
                  [=](const View& to, const View& from) { triangle(to, from, diagonal, lower); });
  });
}

// The elements of `diagonal` in a matrix, as many as `n`.
View diagonal_of(const View& matrix, int64_t diagonal, int64_t n) {
  View line = matrix;
  const int64_t below = std::max<int64_t>(-diagonal, 0);
  const int64_t right = std::max<int64_t>(diagonal, 0);
  line.data += (below * matrix.stride(0) + right * matrix.stride(1)) * matrix.item();
  line.shape = {n};
  line.strides = {matrix.stride(0) + matrix.stride(1)};
  return line;
}

// A matrix of zeros, but for its diagonal.
void spread_diagonal(Planner& p, const Operand& in, int64_t diagonal, const Operand& target) {
  const int64_t n = in.numel() + std::abs(diagonal);
  move_elements(p, in, target, {n, n}, [=](const View& to, const View& from) {
    constexpr int64_t kZero = 0;
    cast_elements(to, contiguous_view(const_cast<int64_t*>(&kZero), ACL_INT64, {}));
    copy_elements(diagonal_of(to, diagonal, from.numel()), from.reshape({from.numel()}));
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(Tril, const aclTensor* self, int64_t diagonal, aclTensor* out) {
  if (out == nullptr) {
    return plan("aclnnTril", workspaceSize, executor,
                [](Planner&) { throw Rejected{kNullPointer, "out is null"}; });
  }
  return triangle_op("aclnnTril", self, diagonal, out, true, workspaceSize, executor);
}
SIM_SIGNATURE(Triu, const aclTensor* self, int64_t diagonal, aclTensor* out) {
  if (out == nullptr) {
    return plan("aclnnTriu", workspaceSize, executor,
                [](Planner&) { throw Rejected{kNullPointer, "out is null"}; });
  }
  return triangle_op("aclnnTriu", self, diagonal, out, false, workspaceSize, executor);
}
SIM_SIGNATURE(InplaceTril, const aclTensor* selfRef, int64_t diagonal) {
  return triangle_op("aclnnInplaceTril", selfRef, diagonal, nullptr, true, workspaceSize, executor);
}
SIM_SIGNATURE(InplaceTriu, aclTensor* selfRef, int64_t diagonal) {
  return triangle_op("aclnnInplaceTriu", selfRef, diagonal, nullptr, false, workspaceSize,
                     executor);
}

SIM_SIGNATURE(Diag, const aclTensor* self, int64_t diagonal, aclTensor* out) {
  return plan("aclnnDiag", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    const Operand target = p.output(out, "out", kAny);
    p.check_rank(in, 1, 2);
    if (in.rank() == 1) return spread_diagonal(p, in, diagonal, target);
    const int64_t rows = in.shape()[0] - std::max<int64_t>(-diagonal, 0);
    const int64_t columns = in.shape()[1] - std::max<int64_t>(diagonal, 0);
    const int64_t n = std::max<int64_t>(std::min(rows, columns), 0);
    move_elements(p, in, target, {n}, [=](const View& to, const View& from) {
      copy_elements(to, diagonal_of(from, diagonal, n));
    });
  });
}
SIM_SIGNATURE(DiagFlat, const aclTensor* self, int64_t diagonal, aclTensor* out) {
  return plan("aclnnDiagFlat", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kAny);
    spread_diagonal(p, in, diagonal, p.output(out, "out", kAny));
  });
}
}
