#include "mindtorch/backends/cpu/fft/plan.h"

#include <algorithm>
#include <utility>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/fft/lines.h"
#include "mindtorch/backends/cpu/fft/plan_cache.h"
#include "mindtorch/backends/cpu/fft/roots.h"
#include "mindtorch/backends/cpu/fft/whole_lines.h"

namespace mindtorch::cpu::fft {
namespace {

template <typename T>
void push_root(std::vector<T>& to, int64_t k, int64_t n) {
  const auto [re, im] = root_of_one(k, n);
  to.push_back(static_cast<T>(re));
  to.push_back(static_cast<T>(im));
}

// Radices in the order of the passes; empty if a prime factor is too large.
std::vector<int64_t> radices_of(int64_t length) {
  std::vector<int64_t> radices;
  int64_t rest = length;
  for (int64_t p = 3; p <= kMostRadix && p <= rest; p += 2) {
    for (; rest % p == 0; rest /= p) radices.push_back(p);
  }
  int64_t twos = 0;
  for (; rest % 2 == 0; rest /= 2) ++twos;
  if (rest > 1) return {};
  for (; twos > 4 || twos == 3; twos -= 3) radices.push_back(8);
  for (; twos >= 2; twos -= 2) radices.push_back(4);
  if (twos == 1) radices.push_back(2);
  if (radices.empty()) radices.push_back(1);
  return radices;
}

// Vector operations for an element in a pass.
double pass_cost(int64_t radix) {
  switch (radix) {
    case 1:
    case 2:
      return 6;
    case 3:
      return 10;
    case 4:
      return 9;
    case 5:
      return 12;
    case 7:
      return 14;
    case 8:
      return 14;
    default:
      return 12 + static_cast<double>(radix);
  }
}

template <typename T>
double working_set_penalty(int64_t length) {
  const double bytes = 4.0 * static_cast<double>(length * panel_lines<T>()) * sizeof(T);
  return bytes > (1 << 20) ? 3 : bytes > (1 << 18) ? 1.5 : 1;
}

constexpr double kMove = 10;   // vector operations to load, transpose and store an element
constexpr double kLine = 700;  // to begin and end a line that is written as a matrix

template <typename T>
double panel_cost_of(int64_t length) {
  return panel_cost(length) * working_set_penalty<T>(length);
}

template <typename T>
double matrix_cost(int64_t rows, int64_t columns) {
  const auto panels = [](int64_t count) {
    return static_cast<double>(ceil_div(count, panel_lines<T>()));
  };
  return kLine + panels(columns) * panel_cost_of<T>(rows) +
         panels(rows) * panel_cost_of<T>(columns);
}

struct Split {
  int64_t rows = 0;
  double cost = 0;
};

// The best matrix with at least one panel of rows and of columns; rows = 0 if there is none.
template <typename T>
Split best_split(int64_t length) {
  Split best;
  if (!fits_panel(length)) return best;
  for (int64_t d = panel_lines<T>(); d * d <= length; ++d) {
    if (length % d != 0) continue;
    for (const int64_t rows : {d, length / d}) {
      const double cost = matrix_cost<T>(rows, length / rows);
      if (best.rows == 0 || cost < best.cost) best = {rows, cost};
    }
  }
  return best;
}

// A length for the convolution of a chirp, of which twice as many elements are needed.
template <typename T>
std::pair<int64_t, double> best_convolution(int64_t length) {
  const int64_t least = std::max(2 * length - 1, panel_lines<T>() * panel_lines<T>());
  int64_t best = 0;
  double best_cost = 0;
  for (int64_t three = 1; three <= 81; three *= 3) {
    for (int64_t five = three; five <= 25 * three; five *= 5) {
      int64_t candidate = five;
      while (candidate < least) candidate *= 2;
      if (candidate > 2 * least) continue;
      const double whole_cost = whole_line_cost<T>(candidate);
      const double cost = whole_cost > 0 ? whole_cost : best_split<T>(candidate).cost;
      if (cost > 0 && (best == 0 || cost < best_cost)) {
        best = candidate;
        best_cost = cost;
      }
    }
  }
  const double around = 30.0 * static_cast<double>(best) / static_cast<double>(panel_lines<T>());
  return {best, 2 * best_cost + around};
}

template <typename T>
void plan_matrix(LinePlan<T>& plan, int64_t rows) {
  const int64_t columns = plan.length / rows;
  const int64_t lines = panel_lines<T>();
  plan.of_columns = std::make_shared<PanelPlan<T>>(rows);
  plan.of_rows = std::make_shared<PanelPlan<T>>(columns);
  const int64_t panels = ceil_div(columns, lines);
  plan.turns.reserve(static_cast<size_t>(panels * rows * lines * 2));
  for (int64_t panel = 0; panel < panels; ++panel) {
    const int64_t first = std::min(panel * lines, columns - lines);
    for (int64_t row = 0; row < rows; ++row) {
      const size_t at = plan.turns.size();
      plan.turns.resize(at + static_cast<size_t>(2 * lines));
      for (int64_t i = 0; i < lines; ++i) {
        const auto [re, im] = root_of_one(row * (first + i), plan.length);
        plan.turns[at + static_cast<size_t>(i)] = static_cast<T>(re);
        plan.turns[at + static_cast<size_t>(lines + i)] = static_cast<T>(im);
      }
    }
  }
}

template <typename T>
void plan_chirp(LinePlan<T>& plan, int64_t size) {
  const int64_t n = plan.length;
  plan.convolution = line_plan<T>(size);
  std::vector<T> filter(static_cast<size_t>(2 * size));
  for (int64_t k = 0; k < n; ++k) {
    const auto square =
        static_cast<int64_t>(static_cast<unsigned __int128>(k) * static_cast<unsigned __int128>(k) %
                             static_cast<unsigned __int128>(2 * n));
    push_root(plan.chirp, square, 2 * n);
    const T re = plan.chirp[static_cast<size_t>(2 * k)];
    const T im = -plan.chirp[static_cast<size_t>(2 * k + 1)];
    plan.conjugate.push_back(re);
    plan.conjugate.push_back(im);
    for (const int64_t at : {k, (size - k) % size}) {
      filter[static_cast<size_t>(2 * at)] = re;
      filter[static_cast<size_t>(2 * at + 1)] = im;
    }
  }
  plan.filter.resize(filter.size());
  transform_line<T>(*plan.convolution, filter.data(), plan.filter.data(), false,
                    T(1) / static_cast<T>(size));
}

template <typename T>
LinePlan<T> make_plan(int64_t length) {
  LinePlan<T> plan{};
  plan.length = length;
  plan.method = Method::kChirp;
  int64_t rows = 0;
  if (fits_panel(length)) {
    plan.panel = std::make_shared<PanelPlan<T>>(length);
    plan.cost_of_panel = panel_cost_of<T>(length);
    plan.method = Method::kPanel;
    plan.cost = plan.cost_of_panel;
    const Split split = best_split<T>(length);
    if (split.rows > 0 && split.cost < plan.cost) {
      plan.method = Method::kMatrix;
      plan.cost = split.cost;
      rows = split.rows;
    }
  }
  const auto [size, chirp_cost] = best_convolution<T>(length);
  if (plan.method == Method::kChirp || chirp_cost < plan.cost) {
    plan.method = Method::kChirp;
    plan.cost = chirp_cost;
    plan_chirp(plan, size);
  } else if (plan.method == Method::kMatrix) {
    plan_matrix(plan, rows);
  }
  return plan;
}

// Element j of the result is the sum of element k times exp(+-2 pi i j k / length).
template <typename T>
TransformTable<T> make_matrix(Transform kind, int64_t length) {
  const bool reads_real = kind == Transform::kRealToHalf;
  const bool writes_real = kind == Transform::kHalfToReal;
  const bool is_inverse = kind == Transform::kInverse || writes_real;
  const int64_t rows = input_width(kind, length);
  const int64_t columns = output_width(kind, length);
  TransformTable<T> matrix(rows, columns);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t k = reads_real ? row : row / 2;
    const bool is_imaginary = !reads_real && row % 2 == 1;
    // An element of half a spectrum stands for its mirror, too.
    const double times = writes_real && k != 0 && 2 * k != length ? 2 : 1;
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t j = writes_real ? column : column / 2;
      auto [re, im] = root_of_one(j * k, length);
      if (is_inverse) im = -im;
      const bool to_imaginary = !writes_real && column % 2 == 1;
      const double factor = is_imaginary == to_imaginary ? re : to_imaginary ? im : -im;
      matrix.row_at(row)[column] = static_cast<T>(times * factor);
    }
  }
  return matrix;
}

template <typename T>
TransformTable<T> make_folded_table(Transform kind, int64_t length) {
  const int64_t half = length / 2;
  const bool is_real = kind == Transform::kRealToHalf;
  TransformTable<T> table((is_real ? 1 : 2) * (half + 1), 2 * (half + 1));
  for (int64_t k = 0; k <= half; ++k) {
    // The middle element is its own other, and so counted twice.
    const double times = 2 * k == length ? 0.5 : 1;
    T* const row = table.row_at(k);
    for (int64_t j = 0; j <= half; ++j) {
      const auto [re, im] = root_of_one(j * k, length);
      const auto sine = static_cast<T>(kind == Transform::kInverse ? -im : im);
      row[2 * j] = static_cast<T>(times * re);
      row[2 * j + 1] = is_real ? sine : row[2 * j];
      if (is_real) continue;
      // Minus i times a sum: its parts are exchanged after they have been added up.
      T* const sines = table.row_at(half + 1 + k);
      sines[2 * j] = sine;
      sines[2 * j + 1] = -sine;
    }
  }
  return table;
}

// Row by row of a matrix whose rows are 32 bytes long, as factors of a register of two such rows
// and of one with its parts exchanged.
template <typename T>
TransformTable<T> make_register_turns(bool inverse, int64_t length) {
  constexpr auto kNumbers = static_cast<int64_t>(64 / sizeof(T));
  constexpr int64_t kColumns = kNumbers / 4;
  const int64_t rows = length / kColumns;
  TransformTable<T> table(rows, 2 * kNumbers);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < kNumbers; ++i) {
      const auto [re, im] = root_of_one(row * (i / 2 % kColumns), length);
      table.row_at(row)[i] = static_cast<T>(re);
      table.row_at(row)[kNumbers + i] = static_cast<T>((i % 2 == 0) == inverse ? im : -im);
    }
  }
  return table;
}

}  // namespace

int64_t input_width(Transform kind, int64_t length) {
  if (kind == Transform::kRealToHalf) return length;
  return 2 * (kind == Transform::kHalfToReal ? length / 2 + 1 : length);
}
int64_t output_width(Transform kind, int64_t length) {
  if (kind == Transform::kHalfToReal) return length;
  return 2 * (kind == Transform::kRealToHalf ? length / 2 + 1 : length);
}

bool fits_panel(int64_t length) { return !radices_of(length).empty(); }

double panel_cost(int64_t length) {
  double cost = kMove;
  for (const int64_t radix : radices_of(length)) cost += pass_cost(radix);
  return cost * static_cast<double>(length);
}

template <typename T>
PanelPlan<T>::PanelPlan(int64_t length) : length(length) {
  int64_t stride = 1;
  for (const int64_t radix : radices_of(length)) {
    Pass<T> pass{radix, length / stride / radix, stride, {}, {}};
    for (int64_t p = 0; p < pass.groups; ++p) {
      for (int64_t k = 1; k < radix; ++k) push_root(pass.twiddles, p * k, radix * pass.groups);
    }
    for (int64_t k = 0; k < radix && radix % 2 == 1; ++k) {
      push_root(pass.roots, radix - k, radix);  // cosine and sine, without its sign
    }
    passes.push_back(std::move(pass));
    stride *= radix;
  }
}

template <typename T>
std::shared_ptr<const LinePlan<T>> line_plan(int64_t length) {
  static Cache<LinePlan<T>> cache;
  return cache.get(length, make_plan<T>);
}

template <typename T>
TransformTable<T>::TransformTable(int64_t rows, int64_t columns)
    : stride(ceil_div(columns, kLineNumbers) * kLineNumbers), numbers(rows * stride) {
  std::fill_n(numbers.get(), rows * stride, T(0));
}

template <typename T>
std::shared_ptr<const TransformTable<T>> transform_matrix(Transform kind, int64_t length) {
  static Cache<TransformTable<T>> caches[4];
  return caches[static_cast<size_t>(kind)].get(
      length, [&](int64_t size) { return make_matrix<T>(kind, size); });
}

template <typename T>
std::shared_ptr<const TransformTable<T>> folded_table(Transform kind, int64_t length) {
  static Cache<TransformTable<T>> caches[4];
  return caches[static_cast<size_t>(kind)].get(
      length, [&](int64_t size) { return make_folded_table<T>(kind, size); });
}

template <typename T>
std::shared_ptr<const TransformTable<T>> register_turns(bool inverse, int64_t length) {
  static Cache<TransformTable<T>> caches[2];
  return caches[inverse ? 1 : 0].get(
      length, [&](int64_t size) { return make_register_turns<T>(inverse, size); });
}

template <typename T>
std::shared_ptr<const std::vector<T>> half_turns(int64_t half) {
  static Cache<std::vector<T>> cache;
  return cache.get(half, [](int64_t size) {
    std::vector<T> turns;
    for (int64_t k = 0; k <= size / 2; ++k) push_root(turns, k, 2 * size);
    return turns;
  });
}

template struct PanelPlan<float>;
template struct PanelPlan<double>;
template std::shared_ptr<const LinePlan<float>> line_plan(int64_t);
template std::shared_ptr<const LinePlan<double>> line_plan(int64_t);
template std::shared_ptr<const TransformTable<float>> transform_matrix(Transform, int64_t);
template std::shared_ptr<const TransformTable<double>> transform_matrix(Transform, int64_t);
template std::shared_ptr<const TransformTable<float>> folded_table(Transform, int64_t);
template std::shared_ptr<const TransformTable<double>> folded_table(Transform, int64_t);
template std::shared_ptr<const TransformTable<float>> register_turns(bool, int64_t);
template std::shared_ptr<const TransformTable<double>> register_turns(bool, int64_t);
template std::shared_ptr<const std::vector<float>> half_turns(int64_t);
template std::shared_ptr<const std::vector<double>> half_turns(int64_t);

}  // namespace mindtorch::cpu::fft
