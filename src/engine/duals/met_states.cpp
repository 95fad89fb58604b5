// A hash table of Pareto fronts.  What has replaced one state often replaces the next, too, so
// it moves to the front's beginning.

#include "engine/duals/met_states.hpp"

#include <algorithm>
#include <utility>

namespace dfsearch {
namespace {

constexpr std::size_t kHeads = std::size_t{1} << 14;
constexpr std::size_t kMostOfOneFuture = 64;  // all of them are looked at
constexpr std::size_t kFuturesPerCharge = 4096;

bool is_no_better(const StateOffer& a, const StateOffer& b) {
  return a.sram >= b.sram && a.kernels >= b.kernels && a.worth[0] <= b.worth[0] &&
         a.worth[1] <= b.worth[1] && a.worth[2] <= b.worth[2];
}

}  // namespace

MetStates::MetStates(std::size_t most, const Allowance& allowance)
    : most_(most), allowance_(allowance) {}

bool MetStates::is_worse(const std::array<KernelSet, 3>& future, const StateOffer& offer) {
  heads_.resize(kHeads);  // once
  std::size_t hash = 0;
  for (const KernelSet& set : future) hash = hash * 0x9e3779b97f4a7c15ULL + set.hash();
  std::uint32_t& head = heads_[hash % kHeads];
  std::uint32_t place = head;
  while (place != 0 && (futures_[place - 1].hash != hash || futures_[place - 1].sets != future)) {
    place = futures_[place - 1].next;
  }
  if (place == 0) {
    if (offers_ >= most_ || !has_room(future.front())) return false;
    futures_.push_back({.hash = hash, .next = head, .sets = future, .offers = {}});
    head = place = static_cast<std::uint32_t>(futures_.size());
  }
  std::vector<StateOffer>& offers = futures_[place - 1].offers;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (!is_no_better(offer, offers[i])) continue;
    std::swap(offers[i], offers[i / 2]);
    return true;
  }
  if (offers_ >= most_ || offers.size() >= kMostOfOneFuture) return false;
  offers_ -=
      std::erase_if(offers, [&](const StateOffer& other) { return is_no_better(other, offer); });
  offers.push_back(offer);
  ++offers_;
  return false;
}

/// For one more future, of such sets.
bool MetStates::has_room(const KernelSet& set) {
  if (futures_.size() < charged_) return true;
  const std::size_t of_one = sizeof(Future) + 3 * set.heap_bytes() + sizeof(StateOffer) +
                             (set.heap_bytes() > 0 ? 4 : 1) * kAllocation;
  if (allowance_.is_tight(kFuturesPerCharge * of_one)) return false;
  memory_.push_back(allowance_.charge(kFuturesPerCharge * of_one));
  charged_ += kFuturesPerCharge;
  return true;
}

void MetStates::clear() {
  if (futures_.empty()) return;
  std::fill(heads_.begin(), heads_.end(), 0U);
  futures_.clear();
  offers_ = 0;
}

}  // namespace dfsearch
