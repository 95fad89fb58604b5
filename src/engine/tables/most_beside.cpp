// Kernels are sorted once by the ratio of time to weight.  For each kernel, the anchor, a
// fractional knapsack takes the kernels that may share a partition with it until one does not fit;
// mostly it takes few.  Kernels without a weight always fit.  In large graphs, where paths are not
// considered (FusionTables::sees_paths), their time is summed up once for each class of kernels.

#include "engine/tables/most_beside.hpp"

#include <algorithm>
#include <cmath>

namespace dfsearch {

Ticks MostBeside::of(std::size_t anchor) {
  const KernelCosts& kernel = tables_.kernel(anchor);
  if (kernel.lonely) return kernel.*time_;
  Bytes room = tables_.sram() - kernel.weight;
  for (const Arc& arc : tables_.inputs(anchor)) room -= arc.streamed;
  for (const Arc& arc : tables_.outputs(anchor)) room -= arc.streamed;

  if (!others_) others_ = find_others();
  Ticks sum = kernel.*time_ + weightless_beside(anchor);
  for (const std::size_t p : others_->heavy) {
    const KernelCosts& other = tables_.kernel(p);
    if (p == anchor || !tables_.may_share(anchor, p)) continue;
    if (other.weight > room) {
      // The fraction that fits, rounded up, plus one for rounding errors.
      return sum +
             static_cast<Ticks>(
                 std::ceil(static_cast<double>(other.*time_) * (room / other.weight))) +
             1;
    }
    sum += other.*time_;
    room -= other.weight;
  }
  return sum;
}

MostBeside::Others MostBeside::find_others() const {
  Others others;
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    const KernelCosts& kernel = tables_.kernel(p);
    if (kernel.*time_ == 0) continue;
    (kernel.weight > Bytes{} ? others.heavy : others.weightless).push_back(p);
    if (kernel.weight > Bytes{} || kernel.lonely || tables_.sees_paths()) continue;
    others.of_class[class_of(kernel)] += kernel.*time_;
  }
  const auto density = [&](std::size_t p) {
    return static_cast<double>(tables_.kernel(p).*time_) / tables_.kernel(p).weight.in_base_units();
  };
  std::stable_sort(others.heavy.begin(), others.heavy.end(),
                   [&](std::size_t a, std::size_t b) { return density(a) > density(b); });
  return others;
}

MostBeside::Class MostBeside::class_of(const KernelCosts& kernel) const {
  return {kernel.repeats, kernel.backward && !tables_.phases_mix(), kernel.pin};
}

/// The time of all kernels without a weight that may share a partition with the anchor.
Ticks MostBeside::weightless_beside(std::size_t anchor) const {
  const KernelCosts& kernel = tables_.kernel(anchor);
  Ticks sum = 0;
  if (tables_.sees_paths()) {
    for (const std::size_t p : others_->weightless) {
      if (p != anchor && tables_.may_share(anchor, p)) sum += tables_.kernel(p).*time_;
    }
    return sum;
  }
  if (kernel.weight > tables_.sram()) return 0;
  const auto add = [&](Class of, std::int64_t pin) {
    of.back() = pin;
    const auto found = others_->of_class.find(of);
    if (found != others_->of_class.end()) sum += found->second;
  };
  const Class own = class_of(kernel);
  if (kernel.pin >= 0) {
    add(own, kernel.pin);
    add(own, -1);
  } else {
    // Kernels without a pin have -1, the least value.
    for (auto of = others_->of_class.lower_bound(own);
         of != others_->of_class.end() && of->first[0] == own[0] && of->first[1] == own[1]; ++of) {
      sum += of->second;
    }
  }
  // The sum includes the anchor itself.
  if (kernel.weight == Bytes{}) sum -= kernel.*time_;
  return sum;
}

}  // namespace dfsearch
