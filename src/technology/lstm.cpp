// Sums of GEMMs and of passes over memory, kernel by kernel.

#include "technology/lstm.hpp"

#include <algorithm>

#include "base/counts.hpp"
#include "technology/gemm.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kGates = 4;
// Bandwidth between host and chip, over which the public code reads the embedding.
constexpr BytesPerSecond kHostLink{12.4 * 1024 * 1024 * 1024};

}  // namespace

double parameters_of(const LstmModel& model) {
  const double width = number(model.hidden);
  return 2 * number(model.vocabulary) * width +
         2 * number(kGates) * number(model.layers) * width * width;
}

// docs/technology.md (23), (24)
LstmTime lstm_time(const Technology& technology, const Chip& chip, const LstmModel& model,
                   Bytes word, Seconds launch_overhead, bool folded) {
  const auto& [b, d, v, layers, steps] = model;
  const std::int64_t all = steps * b;
  const auto gemm = [&](std::int64_t m, std::int64_t k, std::int64_t n) {
    return gemm_time(technology, chip, {.m = m, .k = k, .n = n}, word, launch_overhead).time;
  };
  const auto pass = [&](std::int64_t elements, std::int64_t columns) {
    return word * (number(elements) * number(columns)) / chip.memory->bandwidth + launch_overhead;
  };
  const double l = number(layers), s = number(steps);
  LstmTime time;
  if (folded) {
    time.forward = s * l * (gemm(kGates * d, d, b) + pass(10 * d, b)) +
                   l * gemm(kGates * d, d, all) + gemm(v, d, all) + pass(2 * v, all);
    time.backward = s * l * (gemm(d, kGates * d, b) + pass(10 * d, b)) +
                    l * gemm(d, kGates * d, all) + gemm(d, v, all) + pass(2 * v, all);
  } else {
    time.forward =
        s * (l * (gemm(kGates * d, 2 * d, b) + pass(10 * d, b)) + gemm(v, d, b) + pass(2 * v, b));
    time.backward =
        s * (l * (gemm(2 * d, kGates * d, b) + pass(10 * d, b)) + gemm(d, v, b) + pass(2 * v, b));
  }
  time.backward += l * gemm(kGates * d, all, 2 * d) + gemm(v, all, d);  // gradients of the weights
  time.embedding = 2.0 * pass(2 * d, all);
  return time;
}

std::optional<PublishedLstmTime> published_lstm_time(const Technology& technology, const Chip& chip,
                                                     const LstmModel& model, Bytes word,
                                                     Seconds launch_overhead) {
  const double b = number(model.batch), d = number(model.hidden), v = number(model.vocabulary);
  const double w = word.in_base_units();
  bool known = true;
  const auto& [batch, hidden, vocabulary, layers, steps] = model;
  // The public code chooses a dataflow at its first GEMM and keeps it for all others.
  const Dataflow dataflow = published_dataflow({.m = batch, .k = 2 * hidden, .n = kGates * hidden});
  const auto gemm = [&](std::int64_t m, std::int64_t k, std::int64_t n) {
    const auto time = published_gemm_time(technology, chip, {.m = m, .k = k, .n = n}, dataflow,
                                          word, launch_overhead);
    known = known && time;
    return time.value_or(Seconds{});
  };
  PublishedLstmTime time;
  const Seconds cell_gemm = gemm(batch, 2 * hidden, kGates * hidden);
  if (!known) return std::nullopt;
  const auto roofline = [&](double flop, double bytes) {
    return std::max(Flops(flop) / chip.core.usable, Bytes(bytes) / chip.levels.front().bandwidth);
  };
  const auto update = [&](double rows, double columns) {
    return roofline(3 * rows * columns, 4 * w * rows * columns) +
           roofline(4 * rows * columns, 3 * w * rows * columns);
  };
  const Seconds launch = launch_overhead;
  time.cell_forward = cell_gemm + roofline(20 * b * d, 52 * w * b * d) + 5.0 * launch;
  time.cell_backward =
      gemm(batch, kGates * hidden, 2 * hidden) + gemm(2 * hidden, batch, kGates * hidden) +
      roofline(5 * b * d + 8 * d * d, w * (13 * b * d + 24 * d * d)) + 5.0 * launch;
  time.softmax_forward =
      gemm(batch, hidden, vocabulary) + roofline(b * (3 * v - 1), 7 * w * b * v) + 4.0 * launch;
  time.softmax_backward = gemm(hidden, batch, vocabulary) + gemm(batch, vocabulary, hidden) +
                          roofline(5 * b * v, 11 * w * b * v) + 4.0 * launch;
  time.embedding_backward = roofline(0, 2 * w * b * d) + launch;
  time.embedding_forward = time.embedding_backward + Bytes(2 * w * b * d) / kHostLink;
  time.update_cells = update(2 * d, 4 * d);
  time.update_softmax = update(v, d);
  if (!known) return std::nullopt;
  time.body = number(steps) *
              (time.embedding_forward + time.embedding_backward + time.softmax_forward +
               time.softmax_backward + number(layers) * (time.cell_forward + time.cell_backward));
  time.total =
      time.body + std::max(time.update_softmax, time.update_cells - time.embedding_backward);
  return time;
}

}  // namespace dfsearch
