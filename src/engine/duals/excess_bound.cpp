// Lagrangian relaxations (Geoffrion 1974).  The excess of a partition is the duals of its kernels
// less the longest part of its time, which is not below any mean of the parts.  SRAM that is
// not used is worth its price.  What is left is a sum over kernels, and over tensors
// with one end inside: traffic, and SRAM that the two ends would share.  Such a cut |x - y| costs
// at least m (x - y) for any m within it, so a tensor moves m from the worth of one end to
// that of the other.  What is undecided then adds what it is worth, where that is positive.
//
// Prices are found by going up and down, what is moved by pushing it from kernels of positive
// worth to kernels of negative worth, as flows are; both need not be the best, since any are right.

#include "engine/duals/excess_bound.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace dfsearch {
namespace {

constexpr int kSweeps = 10;      // over the tensors
constexpr int kPricesTried = 6;  // each up and down
constexpr long double kGreatestSum = 0x1p60L;

/// Of parts that take any time: means of which one is soon near the best.
std::vector<KernelParts> means(const std::vector<std::size_t>& parts) {
  const auto mean = [&](std::vector<Ticks> shares) {
    KernelParts all{};
    for (std::size_t i = 0; i < parts.size(); ++i) all[parts[i]] = shares[i];
    return all;
  };
  constexpr Ticks kWhole = kFinePerTick;
  constexpr Ticks kThird = kWhole / 3;
  switch (parts.size()) {
    case 0:
      return {KernelParts{kWhole, 0, 0}};
    case 1:
      return {mean({kWhole})};
    case 2:
      return {mean({kWhole, 0}), mean({0, kWhole}), mean({kWhole - kThird, kThird}),
              mean({kThird, kWhole - kThird})};
    default:
      return {mean({kWhole, 0, 0}),
              mean({0, kWhole, 0}),
              mean({0, 0, kWhole}),
              mean({kThird, kWhole - 2 * kThird, kThird}),
              mean({kWhole / 2, kWhole / 2, 0}),
              mean({kWhole / 2, 0, kWhole / 2}),
              mean({0, kWhole / 2, kWhole / 2})};
  }
}

Ticks in_mean(const KernelParts& shares, const KernelParts& parts) {
  return std::inner_product(shares.begin(), shares.end(), parts.begin(), Ticks{0});
}

}  // namespace

ExcessBound::ExcessBound(const FusionTables& tables, const Duals& duals)
    : tables_(tables),
      duals_(duals),
      overlap_(tables.problem().execution.overlap),
      sram_(tables.sram().in_base_units()),
      bytes_(tables.size()),
      base_(tables.size()),
      worth_(tables.size()) {
  long double sum = 0.0L;
  KernelParts most{};
  std::vector<std::vector<End>> ends(tables.size());
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const KernelCosts& kernel = tables.kernel(p);
    bytes_[p] += kernel.weight.in_base_units();
    sum += static_cast<long double>(duals.kernels[p]);
    Ticks memory = kernel.explicit_memory;
    for (const Arc& arc : tables.outputs(p)) {
      const double streamed = arc.streamed.in_base_units();
      const double shared = std::min(arc.fused.in_base_units() / 2, streamed);
      const auto tensor = static_cast<std::uint32_t>(tensors_.size());
      tensors_.push_back({.from = static_cast<std::uint32_t>(p),
                          .to = arc.other,
                          .transfer = arc.transfer,
                          .shared = shared,
                          .apart = streamed - shared});
      bytes_[p] += shared;
      bytes_[arc.other] += shared;
      ends[p].push_back({.other = arc.other, .tensor = tensor, .produces = true});
      ends[arc.other].push_back(
          {.other = static_cast<std::uint32_t>(p), .tensor = tensor, .produces = false});
      memory += 2 * arc.transfer;
    }
    const KernelParts own = parts(overlap_, kernel.compute, kernel.network, memory);
    for (std::size_t r = 0; r < own.size(); ++r) {
      most[r] = std::max(most[r], own[r]);
      sum += static_cast<long double>(own[r]) * kFinePerTick;
    }
  }
  for (const std::vector<End>& some : ends) {
    end_begin_.push_back(static_cast<std::uint32_t>(ends_.size()));
    ends_.insert(ends_.end(), some.begin(), some.end());
  }
  end_begin_.push_back(static_cast<std::uint32_t>(ends_.size()));
  cut_.resize(tensors_.size());
  moved_.resize(tensors_.size());
  if (!(sum < kGreatestSum)) return;  // nothing is known then

  // What is larger than SRAM joins nothing, so it may seem smaller.
  double bytes = sram_;
  for (double& own : bytes_) bytes += own = std::min(own, sram_);
  for (Tensor& tensor : tensors_) bytes += tensor.apart = std::min(tensor.apart, sram_);
  if (bytes > 0.0 && std::isfinite(bytes)) greatest_price_ = kGreatestSum / bytes;

  std::vector<std::size_t> used;
  for (std::size_t r = 0; r < most.size(); ++r) {
    if (most[r] > 0) used.push_back(r);
  }
  KernelSet all(tables.size());
  for (std::size_t p = 0; p < tables.size(); ++p) all.insert(p);
  std::vector<Relaxation> relaxations;
  for (const KernelParts& shares : means(used)) {
    relaxations.push_back({.shares = shares,
                           .price = first_price(shares),
                           .moved = std::vector<FineTicks>(tensors_.size())});
  }
  used_ = std::min(relaxations.size(), kRelaxations);
  take_over(std::make_shared<const std::vector<Relaxation>>(std::move(relaxations)),
            KernelSet(tables.size()), all);
}

void ExcessBound::decide(std::size_t kernel, bool inside, const KernelSet& open) {
  const Each& own = worth_[kernel];
  for (std::size_t i = 0; i < kRelaxations; ++i) {
    hoped_[i] -= std::max<FineTicks>(0, own[i]);
    if (inside) sure_[i] += own[i];
  }
  for (std::uint32_t e = end_begin_[kernel]; e < end_begin_[kernel + 1]; ++e) {
    const End& end = ends_[e];
    if (!open.contains(end.other)) continue;
    Each& theirs = worth_[end.other];
    const Each& cut = cut_[end.tensor];
    const Each& moved = moved_[end.tensor];
    for (std::size_t i = 0; i < kRelaxations; ++i) {
      const FineTicks given = end.produces ? moved[i] : -moved[i];
      const FineTicks now = theirs[i] - given + (inside ? cut[i] : -cut[i]);
      if (inside) sure_[i] += given - cut[i];
      hoped_[i] += std::max<FineTicks>(0, now) - std::max<FineTicks>(0, theirs[i]);
      theirs[i] = now;
    }
  }
}

void ExcessBound::take_back(std::size_t kernel, const KernelSet& inside, const KernelSet& open) {
  const bool joined = inside.contains(kernel);
  // Relaxations may have changed since the decision.
  Each& own = worth_[kernel];
  own = base_[kernel];
  for (std::uint32_t e = end_begin_[kernel]; e < end_begin_[kernel + 1]; ++e) {
    const End& end = ends_[e];
    const Each& cut = cut_[end.tensor];
    if (!open.contains(end.other)) {
      const FineTicks sign = inside.contains(end.other) ? 1 : -1;
      for (std::size_t i = 0; i < kRelaxations; ++i) own[i] += sign * cut[i];
      continue;
    }
    Each& theirs = worth_[end.other];
    const Each& moved = moved_[end.tensor];
    for (std::size_t i = 0; i < kRelaxations; ++i) {
      const FineTicks given = end.produces ? moved[i] : -moved[i];
      const FineTicks before = theirs[i] + given - (joined ? cut[i] : -cut[i]);
      own[i] -= given;
      if (joined) sure_[i] -= given - cut[i];
      hoped_[i] += std::max<FineTicks>(0, before) - std::max<FineTicks>(0, theirs[i]);
      theirs[i] = before;
    }
  }
  for (std::size_t i = 0; i < kRelaxations; ++i) {
    hoped_[i] += std::max<FineTicks>(0, own[i]);
    if (joined) sure_[i] -= own[i];
  }
}

void ExcessBound::tighten(const KernelSet& inside, const KernelSet& open) {
  if (used_ == 0) return;
  std::vector<Relaxation> tighter = *relaxations_;
  std::vector<std::pair<FineTicks, std::size_t>> values;
  for (std::size_t i = 0; i < tighter.size(); ++i) {
    values.emplace_back(improve_price(tighter[i], inside, open), i);
  }
  std::sort(values.begin(), values.end());
  std::vector<Relaxation> sorted;
  for (const auto& [value, place] : values) sorted.push_back(std::move(tighter[place]));
  take_over(std::make_shared<const std::vector<Relaxation>>(std::move(sorted)), inside, open);
}

void ExcessBound::take_over(const Relaxations& relaxations, const KernelSet& inside,
                            const KernelSet& open) {
  relaxations_ = relaxations;
  for (std::size_t i = 0; i < used_; ++i) use(i, inside, open);
}

/// Gives the bound that it then has.
FineTicks ExcessBound::improve_price(Relaxation& relaxation, const KernelSet& inside,
                                     const KernelSet& open) const {
  FineTicks least = balance(relaxation, inside, open);
  const FineTicks dearest = *std::max_element(duals_.kernels.begin(), duals_.kernels.end());
  if (greatest_price_ == 0.0L) return least;
  long double step = relaxation.price;
  if (!(step > 0.0L)) {
    step = std::min(greatest_price_, static_cast<long double>(dearest) / sram_) / 2;
  }
  for (int tried = 0; tried < kPricesTried; ++tried) {
    bool better = false;
    for (const long double price : {relaxation.price + step, relaxation.price - step}) {
      if (price < 0.0L || price > greatest_price_) continue;
      Relaxation other = relaxation;
      other.price = price;
      const FineTicks value = balance(other, inside, open);
      if (value >= least) continue;
      least = value;
      relaxation = std::move(other);
      better = true;
      break;
    }
    if (!better) step /= 2;
  }
  return least;
}

/// Moves worth from where there is some to where some is missing; gives the bound then.
FineTicks ExcessBound::balance(Relaxation& relaxation, const KernelSet& inside,
                               const KernelSet& open) const {
  Terms terms = spelled_out(relaxation);
  std::vector<FineTicks>& moved = relaxation.moved;
  for (std::size_t t = 0; t < moved.size(); ++t) {
    moved[t] = std::clamp(moved[t], -terms.cut[t], terms.cut[t]);
  }
  const FineTicks sure = settle(relaxation, terms, inside, open);
  const auto push = [&](std::size_t t, FineTicks worth) {
    const Tensor& tensor = tensors_[t];
    worth = std::clamp(worth, -terms.cut[t] - moved[t], terms.cut[t] - moved[t]);
    moved[t] += worth;
    terms.worth[tensor.from] -= worth;
    terms.worth[tensor.to] += worth;
    return worth != 0;
  };
  bool changed = true;
  for (int sweep = 0; changed && sweep < kSweeps; ++sweep) {
    changed = false;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      const std::size_t t = sweep % 2 == 0 ? i : moved.size() - 1 - i;
      const Tensor& tensor = tensors_[t];
      if (!open.contains(tensor.from) || !open.contains(tensor.to)) continue;
      const FineTicks from = terms.worth[tensor.from];
      const FineTicks to = terms.worth[tensor.to];
      if (from > 0 && to < 0) {
        changed |= push(t, std::min(from, -to));
      } else if (from < 0 && to > 0) {
        changed |= push(t, -std::min(-from, to));
      } else if (sweep < kSweeps / 2) {
        // Of one sign: what one has may soon go on from the other.
        changed |= push(t, (from - to) / 2);
      }
    }
  }
  FineTicks hoped = 0;
  open.for_each([&](std::size_t p) { hoped += std::max<FineTicks>(0, terms.worth[p]); });
  return sure + hoped;
}

ExcessBound::Terms ExcessBound::spelled_out(const Relaxation& relaxation) const {
  Terms terms{.worth = duals_.kernels, .cut = {}, .room = 0};
  const Ticks memory = in_mean(relaxation.shares, parts(overlap_, 0, 0, 1));
  for (std::size_t p = 0; p < terms.worth.size(); ++p) {
    const KernelCosts& kernel = tables_.kernel(p);
    const KernelParts own = parts(overlap_, kernel.compute, kernel.network, kernel.explicit_memory);
    terms.worth[p] -= in_mean(relaxation.shares, own) + paid(relaxation.price, bytes_[p]);
  }
  for (const Tensor& tensor : tensors_) {
    terms.cut.push_back(memory * tensor.transfer + paid(relaxation.price, tensor.apart));
  }
  terms.room = whole_fine_ticks(relaxation.price * static_cast<long double>(sram_)) + 2;
  return terms;
}

/// What such bytes cost, rounded down: together the bytes of a partition cost no more than the room
/// is worth.
FineTicks ExcessBound::paid(long double price, double bytes) {
  return std::max<FineTicks>(0, whole_fine_ticks(price * static_cast<long double>(bytes)) - 1);
}

/// Gives what is sure; adds to the worth of what is undecided what its tensors tell.
FineTicks ExcessBound::settle(const Relaxation& relaxation, Terms& terms, const KernelSet& inside,
                              const KernelSet& open) const {
  FineTicks sure = terms.room;
  inside.for_each([&](std::size_t p) { sure += terms.worth[p]; });
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const Tensor& tensor = tensors_[t];
    const bool from_open = open.contains(tensor.from);
    const bool to_open = open.contains(tensor.to);
    if (from_open && to_open) {
      terms.worth[tensor.from] -= relaxation.moved[t];
      terms.worth[tensor.to] += relaxation.moved[t];
    } else if (from_open || to_open) {
      const std::size_t undecided = from_open ? tensor.from : tensor.to;
      const bool other = inside.contains(from_open ? tensor.to : tensor.from);
      if (other) sure -= terms.cut[t];
      terms.worth[undecided] += other ? terms.cut[t] : -terms.cut[t];
    } else if (inside.contains(tensor.from) != inside.contains(tensor.to)) {
      sure -= terms.cut[t];
    }
  }
  return sure;
}

void ExcessBound::use(std::size_t place, const KernelSet& inside, const KernelSet& open) {
  const Relaxation& relaxation = (*relaxations_)[place];
  Terms terms = spelled_out(relaxation);
  for (std::size_t p = 0; p < base_.size(); ++p) base_[p][place] = terms.worth[p];
  sure_[place] = settle(relaxation, terms, inside, open);
  hoped_[place] = 0;
  open.for_each([&](std::size_t p) { hoped_[place] += std::max<FineTicks>(0, terms.worth[p]); });
  for (std::size_t p = 0; p < worth_.size(); ++p) worth_[p][place] = terms.worth[p];
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    cut_[t][place] = terms.cut[t];
    moved_[t][place] = relaxation.moved[t];
  }
}

/// What the last bytes gain if SRAM goes to the kernels that gain most with a byte, their
/// tensors moving nothing.
long double ExcessBound::first_price(const KernelParts& shares) const {
  std::vector<std::pair<long double, std::size_t>> offers;
  for (std::size_t p = 0; p < bytes_.size(); ++p) {
    const KernelCosts& kernel = tables_.kernel(p);
    const KernelParts own = parts(overlap_, kernel.compute, kernel.network, kernel.explicit_memory);
    const FineTicks gain = duals_.kernels[p] - in_mean(shares, own);
    if (gain > 0 && bytes_[p] > 0.0) {
      offers.emplace_back(static_cast<long double>(gain) / bytes_[p], p);
    }
  }
  std::sort(offers.begin(), offers.end(), std::greater<>());
  double room = sram_;
  for (const auto& [price, p] : offers) {
    room -= bytes_[p];
    if (room < 0.0) return std::min(price, greatest_price_);
  }
  return 0.0L;
}

}  // namespace dfsearch
