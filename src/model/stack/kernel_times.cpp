#include "model/stack/kernel_times.hpp"

#include <algorithm>
#include <cmath>

namespace dfsearch::stack {
namespace {

constexpr Seconds kLeastPass{3e-6};

}  // namespace

Seconds KernelTimes::memory(double bytes) const {
  if (!(bytes > 0.0)) return {};
  const MeasuredChip& chip = setup_.chip;
  return std::max(kLeastPass, Bytes(bytes) / (chip.memory * chip.elementwise.at(bytes)));
}

double KernelTimes::sustained(Bits bits) const {
  const auto i = static_cast<std::size_t>(bits);
  return setup_.chip.peak[i].in_base_units() * typical(setup_.chip.clock[i]);
}

// docs/truth.md (2)
Seconds KernelTimes::pass(double bytes) const {
  return memory(bytes) * setup_.scenario.elementwise;
}

// docs/truth.md (3)
Seconds KernelTimes::product(double flop, double bytes, Bits bits, double rate) const {
  if (!(flop > 0.0)) return {};
  const double share = setup_.chip.products[static_cast<std::size_t>(bits)].at(flop);
  const Seconds compute(flop / (sustained(bits) * share * rate) * setup_.scenario.compute);
  return std::max(compute, pass(bytes));
}

Seconds KernelTimes::attention(double flop, std::int64_t tokens, std::int64_t head_dim,
                               bool backward, bool ring) const {
  if (!(flop > 0.0)) return {};
  const MeasuredChip& chip = setup_.chip;
  const AttentionCurve* curve = &chip.cudnn;
  if (setup_.stack.attention == Attention::Flash1) curve = &chip.flash1;
  if (setup_.stack.attention == Attention::Flash2) curve = &chip.flash2;
  // If the kernel was not measured on the chip, another kernel's curve replaces it.
  for (const AttentionCurve* other : {&chip.flash2, &chip.cudnn, &chip.flash1}) {
    if (!curve->given()) curve = other;
  }
  const Curve<std::int64_t> shares{.work = curve->tokens,
                                   .share = backward ? curve->backward : curve->forward};
  double rate = shares.at(static_cast<double>(tokens)) * sustained(Bits::Sixteen);
  if (curve != &chip.flash1) {
    // The rate that small heads lose is measured for heads of 64; it shrinks linearly to zero for
    // heads of 128.
    const double narrow = std::clamp((128.0 - static_cast<double>(head_dim)) / 64.0, 0.0, 1.0);
    rate *= 1.0 - (1.0 - typical(chip.small_heads)) * narrow;
  }
  if (ring) rate *= typical(setup_.stack.ring);
  return Seconds(flop / rate * setup_.scenario.attention);
}

UnfusedAttention KernelTimes::unfused(double rows, double scores, std::int64_t head_dim,
                                      bool backward) const {
  // Megatron's softmax kernel works on four rows of scores at a time.
  const bool is_slow = std::fmod(rows, 4.0) != 0.0;
  const double products = backward ? 4.0 : 2.0;
  const double flop = 2.0 * rows * scores * static_cast<double>(head_dim);
  const double rate = sustained(Bits::Sixteen) * typical(setup_.chip.batched_products);
  // Words that move for a score.  Softmax reads one and writes one, and backward it reads two.
  // Dropout reads one and writes one, and has a mask of a byte.
  const double softmax = backward ? 3.0 : 2.0, dropout = 2.5;
  const double passes = (softmax + dropout) * (is_slow ? 2.0 : 1.0);
  const double moved = kWord * rows * scores * passes;
  return {.products = Seconds(products * flop / rate * setup_.scenario.attention),
          .passes = memory(moved) * setup_.scenario.attention,
          .flop = products * flop,
          .moved = moved,
          .is_slow = is_slow};
}

// docs/truth.md, section 1
Seconds KernelTimes::scan(double products, double delta_rule, double elementwise) const {
  const ScanRates& rates = setup_.stack.scans;
  const double peak = setup_.chip.peak[static_cast<std::size_t>(Bits::Sixteen)].in_base_units();
  const Seconds work((products / typical(rates.products) + delta_rule / typical(rates.delta_rule) +
                      elementwise / typical(rates.elementwise)) /
                     peak);
  if (!(work > Seconds{})) return {};
  const Seconds start = typical(delta_rule > 0.0 ? rates.delta_start : rates.start);
  return std::max(work, start) * setup_.scenario.scans;
}

Seconds KernelTimes::index(double flop) const {
  const auto& peaks = setup_.chip.peak;
  const FlopsPerSecond of_8_bits = peaks[static_cast<std::size_t>(Bits::Eight)];
  const FlopsPerSecond peak =
      of_8_bits > FlopsPerSecond{} ? of_8_bits : peaks[static_cast<std::size_t>(Bits::Sixteen)];
  return Flops(flop) / (peak * typical(setup_.stack.scans.index)) * setup_.scenario.scans;
}

}  // namespace dfsearch::stack
