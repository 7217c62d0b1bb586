// Recurrent layers by name: one layer and direction, its steps as the first dim.
#include "simulator/ascend/aclop/tables.h"
#include "simulator/ascend/ops/values.h"

using namespace sim;

namespace {

constexpr Types kTypes = kF32 | kF16;

using Numbers64 = std::vector<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Numbers64 numbers(const Launch& launch, const Operand& operand) {
  return operand ? load_all<double>(get(launch, operand)) : Numbers64{};
}

// Sizes, and the order of the steps.
struct Layer {
  size_t steps = 0, batch = 0, input = 0, hidden = 0;
  bool reversed = false;

  size_t line() const { return batch * hidden; }
  // Number `n` in the order of time.
  size_t step(size_t n) const { return reversed ? steps - 1 - n : n; }
};

Layer layer_of(Arguments& call, Planner& p, const Operand& x, const Operand& h) {
  p.check_rank(x, 3, 3);
  p.check(h.rank() >= 2 && h.rank() <= 3, "init_h must have 2 or 3 dims");
  const std::string direction = call.text("direction", "UNIDIRECTIONAL");
  p.check(direction == "UNIDIRECTIONAL" || direction == "REDIRECTIONAL",
          "direction is not simulated: " + direction);
  const Layer layer{z(x.shape()[0]), z(x.shape()[1]), z(x.shape()[2]), z(h.shape().back()),
                    direction == "REDIRECTIONAL"};
  p.check(h.numel() == static_cast<int64_t>(layer.line()), "init_h has another batch than x");
  return layer;
}

// Weights as rows of the gates: [gates x hidden, inputs + hidden]; the op has them turned.
struct Weights {
  size_t rows = 0, columns = 0;
  Numbers64 values;

  double at(size_t row, size_t column) const { return values[column * rows + row]; }
  double& at(size_t row, size_t column) { return values[column * rows + row]; }
};

// What goes into the gates of one member of the batch: its input, then its state.
Numbers64 joined(const Layer& layer, const Numbers64& x, const double* h, size_t step, size_t b) {
  const double* const from = x.data() + (step * layer.batch + b) * layer.input;
  Numbers64 result(from, from + layer.input);
  result.insert(result.end(), h, h + layer.hidden);
  return result;
}

struct LstmTrace {
  Numbers64 y, h, c, i, g, f, o, tanhc;

  explicit LstmTrace(size_t n) : y(n), h(n), c(n), i(n), g(n), f(n), o(n), tanhc(n) {}
};

// `mask`, where it is not empty, says of each state whether its sequence has the step.
LstmTrace run_lstm(const Layer& layer,
                   const Weights& w,
                   const Numbers64& bias,
                   const Numbers64& x,
                   const Numbers64& mask,
                   Numbers64 h,
                   Numbers64 c) {
  LstmTrace t(layer.steps * layer.line());
  const size_t n = layer.hidden;
  for (size_t number = 0; number < layer.steps; ++number) {
    const size_t step = layer.step(number);
    for (size_t b = 0; b < layer.batch; ++b) {
      const Numbers64 in = joined(layer, x, h.data() + b * n, step, b);
      Numbers64 gates(4 * n);
      for (size_t row = 0; row < gates.size(); ++row) {
        gates[row] = bias.empty() ? 0 : bias[row];
        for (size_t k = 0; k < in.size(); ++k) gates[row] += w.at(row, k) * in[k];
      }
      for (size_t k = 0; k < n; ++k) {
        const size_t state = b * n + k;
        const size_t at = step * layer.line() + state;
        t.i[at] = sigmoid(gates[k]);
        t.f[at] = sigmoid(gates[n + k]);
        t.g[at] = std::tanh(gates[2 * n + k]);
        t.o[at] = sigmoid(gates[3 * n + k]);
        const double next = t.f[at] * c[state] + t.i[at] * t.g[at];
        t.tanhc[at] = std::tanh(next);
        const bool there = mask.empty() || mask[at] != 0;
        if (there) c[state] = next;
        if (there) h[state] = t.o[at] * t.tanhc[at];
        t.c[at] = c[state];
        t.h[at] = h[state];
        t.y[at] = there ? h[state] : 0;
      }
    }
  }
  return t;
}

std::vector<Operand> states_out(Arguments& call,
                                Planner& p,
                                const Layer& layer,
                                std::initializer_list<const char*> names) {
  std::vector<Operand> outputs;
  for (const char* const name : names) {
    outputs.push_back(p.output(call.output(outputs.size()), name, kTypes));
    p.check_shape(outputs.back(),
                  {static_cast<int64_t>(layer.steps), static_cast<int64_t>(layer.batch),
                   static_cast<int64_t>(layer.hidden)});
  }
  return outputs;
}

// Weights in one tensor, or in one for the inputs and one for the state.
struct GivenWeights {
  Operand input, hidden;

  Weights load(const Launch& launch, size_t rows) const {
    Weights w{rows, 0, numbers(launch, input)};
    const Numbers64 more = numbers(launch, hidden);
    w.values.insert(w.values.end(), more.begin(), more.end());
    w.columns = w.values.size() / std::max<size_t>(rows, 1);
    return w;
  }
};

aclnnStatus lstm(Arguments& call, bool apart) {
  const size_t next = apart ? 3 : 2;  // bias, lengths, init_h, init_c
  return plan("DynamicRNN", call.size(), call.executor(), [&](Planner& p) {
    const Operand x = p.input(call.input(0), "x", kTypes);
    GivenWeights weights{p.input(call.input(1), "w", kTypes), {}};
    if (apart) weights.hidden = p.input(call.input(2), "weight_hidden", kTypes);
    const Operand bias = p.optional(call.optional(next), "b", kTypes);
    const Operand mask = p.optional(call.optional(next + 1), "seq_length", kTypes);
    const Operand h = p.input(call.input(next + 2), "init_h", kTypes);
    const Operand c = p.input(call.input(next + 3), "init_c", kTypes);
    const Layer layer = layer_of(call, p, x, h);
    const auto gates = static_cast<int64_t>(4 * layer.hidden);
    const int64_t columns = (weights.input.numel() + (apart ? weights.hidden.numel() : 0)) /
                            std::max<int64_t>(gates, 1);
    p.check(columns == static_cast<int64_t>(layer.input + layer.hidden), "w does not fit x and h");
    check_count(p, bias, gates);
    check_count(p, c, h.numel());
    check_count(p, mask, static_cast<int64_t>(layer.steps * layer.line()));
    const auto outputs =
        states_out(call, p, layer, {"y", "output_h", "output_c", "i", "j", "f", "o", "tanhc"});
    if (x.numel() == 0 || gates == 0) return;
    p.run([=](Launch& launch) {
      const LstmTrace t =
          run_lstm(layer, weights.load(launch, z(gates)), numbers(launch, bias), numbers(launch, x),
                   numbers(launch, mask), numbers(launch, h), numbers(launch, c));
      const Numbers64* const results[] = {&t.y, &t.h, &t.c, &t.i, &t.g, &t.f, &t.o, &t.tanhc};
      for (size_t k = 0; k < outputs.size(); ++k) store_all(get(launch, outputs[k]), *results[k]);
    });
  });
}
aclnnStatus lstm_joined(Arguments& call) { return lstm(call, false); }
aclnnStatus lstm_apart(Arguments& call) { return lstm(call, true); }

struct Slopes {
  Weights w;
  Numbers64 bias, x, h, c;
};

// Backwards through the steps. `dh` and `dc` are of the last states, and become those of the first.
Slopes run_lstm_backward(const Layer& layer,
                         const Weights& w,
                         const Numbers64& x,
                         const Numbers64& first_h,
                         const Numbers64& first_c,
                         const LstmTrace& t,
                         const Numbers64& mask,
                         const Numbers64& dy,
                         Numbers64 dh,
                         Numbers64 dc) {
  const size_t n = layer.hidden;
  Slopes d{{w.rows, w.columns, Numbers64(w.values.size())},
           Numbers64(4 * n),
           Numbers64(x.size()),
           {},
           {}};
  for (size_t number = layer.steps; number-- > 0;) {
    const size_t step = layer.step(number);
    const size_t before = number == 0 ? 0 : layer.step(number - 1) * layer.line();
    const double* const h = number == 0 ? first_h.data() : t.h.data() + before;
    const double* const c = number == 0 ? first_c.data() : t.c.data() + before;
    for (size_t b = 0; b < layer.batch; ++b) {
      Numbers64 gates(4 * n);
      for (size_t k = 0; k < n; ++k) {
        const size_t state = b * n + k;
        const size_t at = step * layer.line() + state;
        if (!mask.empty() && mask[at] == 0) continue;  // the state stayed
        const double up = dy[at] + dh[state];
        const double cell = dc[state] + up * t.o[at] * (1 - t.tanhc[at] * t.tanhc[at]);
        gates[k] = cell * t.g[at] * t.i[at] * (1 - t.i[at]);
        gates[n + k] = cell * c[state] * t.f[at] * (1 - t.f[at]);
        gates[2 * n + k] = cell * t.i[at] * (1 - t.g[at] * t.g[at]);
        gates[3 * n + k] = up * t.tanhc[at] * t.o[at] * (1 - t.o[at]);
        dc[state] = cell * t.f[at];
        dh[state] = 0;
      }
      const Numbers64 in = joined(layer, x, h + b * n, step, b);
      for (size_t row = 0; row < gates.size(); ++row) {
        d.bias[row] += gates[row];
        for (size_t k = 0; k < in.size(); ++k) {
          d.w.at(row, k) += gates[row] * in[k];
          const double part = gates[row] * w.at(row, k);
          if (k < layer.input) {
            d.x[(step * layer.batch + b) * layer.input + k] += part;
          } else {
            dh[b * n + k - layer.input] += part;
          }
        }
      }
    }
  }
  d.h = std::move(dh);
  d.c = std::move(dc);
  return d;
}

// Where the weights are apart, the state's are in the bias's place.
aclnnStatus lstm_backward(Arguments& call, bool apart) {
  return plan("DynamicRNNGrad", call.size(), call.executor(), [&](Planner& p) {
    const auto input = [&](size_t i, const char* name) {
      return p.input(call.input(i), name, kTypes);
    };
    const Operand x = input(0, "x");
    GivenWeights weights{input(1, "w"), {}};
    if (apart) weights.hidden = input(2, "weight_hidden");
    const Operand h0 = input(4, "init_h");
    const Operand c0 = input(5, "init_c");
    const Layer layer = layer_of(call, p, x, h0);
    const auto states = static_cast<int64_t>(layer.steps * layer.line());
    std::vector<Operand> trace;
    size_t place = 0;
    for (const char* const name : {"h", "c", "dy", "dh", "dc", "i", "j", "f", "o", "tanhc"}) {
      trace.push_back(input(6 + place++, name));
      const bool last = place == 4 || place == 5;
      check_count(p, trace.back(), last ? h0.numel() : states);
    }
    check_count(p, c0, h0.numel());
    Operand mask = p.optional(call.optional(16), "seq_length", kTypes);
    if (mask && mask.numel() == 1) mask = {};  // stands for none
    check_count(p, mask, states);
    const auto gates = static_cast<int64_t>(4 * layer.hidden);
    const int64_t own = weights.input.numel();
    const int64_t more = apart ? weights.hidden.numel() : 0;
    p.check(own + more == gates * static_cast<int64_t>(layer.input + layer.hidden),
            "w does not fit x and h");
    std::vector<Operand> outputs;
    const auto output = [&](const char* name, int64_t n) {
      outputs.push_back(p.output(call.output(outputs.size()), name, kTypes));
      check_count(p, outputs.back(), n);
    };
    output("dw", own);
    if (apart) output("dw_hidden", more);
    output("db", gates);
    output("dx", x.numel());
    output("dh_prev", h0.numel());
    output("dc_prev", h0.numel());
    if (x.numel() == 0 || gates == 0) return;
    p.run([=](Launch& launch) {
      LstmTrace t(0);
      Numbers64 dy, dh, dc;
      Numbers64* const parts[] = {&t.h, &t.c, &dy, &dh, &dc, &t.i, &t.g, &t.f, &t.o, &t.tanhc};
      for (size_t k = 0; k < trace.size(); ++k) *parts[k] = numbers(launch, trace[k]);
      const Slopes d = run_lstm_backward(layer, weights.load(launch, z(gates)), numbers(launch, x),
                                         numbers(launch, h0), numbers(launch, c0), t,
                                         numbers(launch, mask), dy, std::move(dh), std::move(dc));
      const auto split = d.w.values.begin() + own;
      std::vector<Numbers64> results = {Numbers64(d.w.values.begin(), split)};
      if (apart) results.emplace_back(split, d.w.values.end());
      results.insert(results.end(), {d.bias, d.x, d.h, d.c});
      for (size_t k = 0; k < outputs.size(); ++k) store_all(get(launch, outputs[k]), results[k]);
    });
  });
}
aclnnStatus lstm_joined_backward(Arguments& call) { return lstm_backward(call, false); }
aclnnStatus lstm_apart_backward(Arguments& call) { return lstm_backward(call, true); }

// Gates in the order reset, update, new; the product with the state is reset after its bias came.
aclnnStatus gru(Arguments& call) {
  return plan("DynamicGRUV2", call.size(), call.executor(), [&](Planner& p) {
    const auto input = [&](size_t i, const char* name) {
      return p.input(call.input(i), name, kTypes);
    };
    const Operand x = input(0, "x");
    const Operand wi = input(1, "weight_input");
    const Operand wh = input(2, "weight_hidden");
    const Operand bi = p.optional(call.optional(3), "bias_input", kTypes);
    const Operand bh = p.optional(call.optional(4), "bias_hidden", kTypes);
    p.check(!call.has_input(5), "seq_length is not simulated");
    const Operand h0 = input(6, "init_h");
    const Layer layer = layer_of(call, p, x, h0);
    p.check(call.text("gate_order", "zrh") == "rzh", "only gate_order rzh is simulated");
    const auto gates = static_cast<int64_t>(3 * layer.hidden);
    check_count(p, wi, gates * static_cast<int64_t>(layer.input));
    check_count(p, wh, gates * static_cast<int64_t>(layer.hidden));
    check_count(p, bi, gates);
    check_count(p, bh, gates);
    const auto outputs =
        states_out(call, p, layer, {"y", "output_h", "update", "reset", "new", "hidden_new"});
    if (x.numel() == 0 || gates == 0) return;
    p.run([=](Launch& launch) {
      const size_t n = layer.hidden;
      const Numbers64 in = numbers(launch, x);
      const Weights from_x{3 * n, layer.input, numbers(launch, wi)};
      const Weights from_h{3 * n, n, numbers(launch, wh)};
      const Numbers64 bias_x = numbers(launch, bi);
      const Numbers64 bias_h = numbers(launch, bh);
      Numbers64 h = numbers(launch, h0);
      const size_t all = layer.steps * layer.line();
      Numbers64 states(all), update(all), reset(all), fresh(all), hidden(all);
      for (size_t number = 0; number < layer.steps; ++number) {
        const size_t step = layer.step(number);
        for (size_t b = 0; b < layer.batch; ++b) {
          Numbers64 gx(3 * n), gh(3 * n);
          for (size_t row = 0; row < 3 * n; ++row) {
            gx[row] = bias_x.empty() ? 0 : bias_x[row];
            gh[row] = bias_h.empty() ? 0 : bias_h[row];
            for (size_t k = 0; k < layer.input; ++k) {
              gx[row] += from_x.at(row, k) * in[(step * layer.batch + b) * layer.input + k];
            }
            for (size_t k = 0; k < n; ++k) gh[row] += from_h.at(row, k) * h[b * n + k];
          }
          for (size_t k = 0; k < n; ++k) {
            const size_t at = step * layer.line() + b * n + k;
            reset[at] = sigmoid(gx[k] + gh[k]);
            update[at] = sigmoid(gx[n + k] + gh[n + k]);
            hidden[at] = gh[2 * n + k];
            fresh[at] = std::tanh(gx[2 * n + k] + reset[at] * hidden[at]);
            states[at] = (1 - update[at]) * fresh[at] + update[at] * h[b * n + k];
          }
          for (size_t k = 0; k < n; ++k) h[b * n + k] = states[step * layer.line() + b * n + k];
        }
      }
      const Numbers64* const results[] = {&states, &states, &update, &reset, &fresh, &hidden};
      for (size_t k = 0; k < outputs.size(); ++k) store_all(get(launch, outputs[k]), *results[k]);
    });
  });
}

aclnnStatus gru_backward(Arguments& call) {
  return plan("DynamicGRUV2Grad", call.size(), call.executor(), [&](Planner& p) {
    const auto input = [&](size_t i, const char* name) {
      return p.input(call.input(i), name, kTypes);
    };
    const Operand x = input(0, "x");
    const Operand wi = input(1, "weight_input");
    const Operand wh = input(2, "weight_hidden");
    const Operand h0 = input(4, "init_h");
    const Layer layer = layer_of(call, p, x, h0);
    p.check(call.text("gate_order", "zrh") == "rzh", "only gate_order rzh is simulated");
    const auto states = static_cast<int64_t>(layer.steps * layer.line());
    std::vector<Operand> trace;
    for (const char* const name : {"h", "dy", "dh", "update", "reset", "new", "hidden_new"}) {
      trace.push_back(input(5 + trace.size(), name));
      check_count(p, trace.back(), trace.size() == 3 ? h0.numel() : states);
    }
    const auto gates = static_cast<int64_t>(3 * layer.hidden);
    check_count(p, wi, gates * static_cast<int64_t>(layer.input));
    check_count(p, wh, gates * static_cast<int64_t>(layer.hidden));
    std::vector<Operand> outputs;
    const int64_t counts[] = {wi.numel(), wh.numel(), gates, gates, x.numel(), h0.numel()};
    for (const char* const name :
         {"dw_input", "dw_hidden", "db_input", "db_hidden", "dx", "dh_prev"}) {
      outputs.push_back(p.output(call.output(outputs.size()), name, kTypes));
      check_count(p, outputs.back(), counts[outputs.size() - 1]);
    }
    if (x.numel() == 0 || gates == 0) return;
    p.run([=](Launch& launch) {
      const size_t n = layer.hidden;
      Numbers64 h, dy, dh, update, reset, fresh, hidden;
      Numbers64* const parts[] = {&h, &dy, &dh, &update, &reset, &fresh, &hidden};
      for (size_t k = 0; k < trace.size(); ++k) *parts[k] = numbers(launch, trace[k]);
      const Numbers64 in = numbers(launch, x);
      const Numbers64 first = numbers(launch, h0);
      const Weights from_x{3 * n, layer.input, numbers(launch, wi)};
      const Weights from_h{3 * n, n, numbers(launch, wh)};
      Weights dwx{3 * n, layer.input, Numbers64(from_x.values.size())};
      Weights dwh{3 * n, n, Numbers64(from_h.values.size())};
      Numbers64 dbx(3 * n), dbh(3 * n), dx(in.size());
      for (size_t number = layer.steps; number-- > 0;) {
        const size_t step = layer.step(number);
        const double* const before =
            number == 0 ? first.data() : h.data() + layer.step(number - 1) * layer.line();
        for (size_t b = 0; b < layer.batch; ++b) {
          Numbers64 gx(3 * n), gh(3 * n);
          for (size_t k = 0; k < n; ++k) {
            const size_t state = b * n + k;
            const size_t at = step * layer.line() + state;
            const double up = dy[at] + dh[state];
            const double slope = up * (1 - update[at]) * (1 - fresh[at] * fresh[at]);
            gx[k] = gh[k] = slope * hidden[at] * reset[at] * (1 - reset[at]);
            gx[n + k] = gh[n + k] =
                up * (before[state] - fresh[at]) * update[at] * (1 - update[at]);
            gx[2 * n + k] = slope;
            gh[2 * n + k] = slope * reset[at];
            dh[state] = up * update[at];
          }
          const size_t line = (step * layer.batch + b) * layer.input;
          for (size_t row = 0; row < 3 * n; ++row) {
            dbx[row] += gx[row];
            dbh[row] += gh[row];
            for (size_t k = 0; k < layer.input; ++k) {
              dwx.at(row, k) += gx[row] * in[line + k];
              dx[line + k] += gx[row] * from_x.at(row, k);
            }
            for (size_t k = 0; k < n; ++k) {
              dwh.at(row, k) += gh[row] * before[b * n + k];
              dh[b * n + k] += gh[row] * from_h.at(row, k);
            }
          }
        }
      }
      const Numbers64* const results[] = {&dwx.values, &dwh.values, &dbx, &dbh, &dx, &dh};
      for (size_t k = 0; k < outputs.size(); ++k) store_all(get(launch, outputs[k]), *results[k]);
    });
  });
}

constexpr NamedOp kRecurrent[] = {
    {"DynamicGRUV2", gru},        {"DynamicGRUV2Grad", gru_backward},
    {"DynamicRNN", lstm_joined},  {"DynamicRNNGrad", lstm_joined_backward},
    {"DynamicRNNV2", lstm_apart}, {"DynamicRNNV2Grad", lstm_apart_backward},
};

}  // namespace

std::span<const NamedOp> sim::named_recurrent() { return kRecurrent; }
