// Large-neighbourhood search (Shaw 1998).
//
// Some partitions of the fusion are taken apart, and what is best in their place is found by the
// same search that solves whole problems, on tables of just these kernels.  The partitions of
// a window are joined by tensors, or consecutive, and have between them all that lies on paths
// from one to the other: then all others can come before or after them.  Windows begin small,
// at every partition in turn, and grow when none of a size is left that brings anything.
//
// What a window's search says is not believed: new partitions are costed by the tables of
// the whole.
//
// tests/engine/fusion/window_fusion_test.cpp: never worse, feasible, against brute force.

#include "engine/fusion/window_fusion.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "engine/fusion/costed_parts.hpp"
#include "engine/fusion/relaxed_fusion.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kFirstWindow = 12;  // kernels
constexpr std::int64_t kLastWindow = 48;
constexpr std::int64_t kStepsOfWindow = 60'000;
// What a window costs beside its search.
constexpr std::int64_t kStepsBeside = 1'000;

}  // namespace

bool WindowSearch::is_possible(const FusionTables& tables) {
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (tables.kernel(p).pin >= 0) return false;
  }
  return true;
}

WindowSearch::WindowSearch(const FusionTables& tables, const Fusion& start)
    : tables_(tables), rules_(tables), place_of_(tables.size()), most_(kFirstWindow) {
  OpenPartition open(tables, KernelSet(tables.size()));
  for (KernelSet& set : parts_of(tables, start)) parts_.push_back(part_of(std::move(set), open));
  index_parts();
}

/// The next one, which is closed.  Its time is kNever if it does not fit.
WindowSearch::Part WindowSearch::part_of(KernelSet&& kernels, OpenPartition& open) const {
  Part part{.kernels = std::move(kernels)};
  bool fits = true;
  part.kernels.for_each([&](std::size_t p) {
    ++part.size;
    (tables_.kernel(p).backward ? part.backward : part.forward) = true;
    fits = fits && (open.fits(p) || (open.kernels().empty() && tables_.kernel(p).escapes));
    open.put_in(p);
  });
  const bool alone = part.size == 1 && tables_.kernel(part.kernels.first_from(0)).escapes;
  fits = fits && (alone || open.totals().sram <= tables_.sram()) && open.fits_in_memory();
  part.time = fits ? open.time(kNever) : kNever;
  open.close();
  return part;
}

void WindowSearch::index_parts() {
  time_ = tables_.weight_loads();
  for (std::size_t place = 0; place < parts_.size(); ++place) {
    time_ = capped_sum(time_, parts_[place].time);
    parts_[place].kernels.for_each(
        [&](std::size_t p) { place_of_[p] = static_cast<std::uint32_t>(place); });
  }
  join_parts();
}

void WindowSearch::join_parts() {
  const auto add_others = [&](std::size_t place, std::span<const Arc> arcs, Places& others) {
    for (const Arc& arc : arcs) {
      if (place_of_[arc.other] != place) others.push_back(place_of_[arc.other]);
    }
  };
  const auto sort_once = [](Places& places) {
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
  };
  for (std::size_t place = 0; place < parts_.size(); ++place) {
    Part& part = parts_[place];
    part.inputs.clear();
    part.outputs.clear();
    part.kernels.for_each([&](std::size_t p) {
      add_others(place, tables_.inputs(p), part.inputs);
      add_others(place, tables_.outputs(p), part.outputs);
    });
    sort_once(part.inputs);
    sort_once(part.outputs);
  }
}

Fusion WindowSearch::best() const {
  Fusion fusion{.time = time_,
                .partition = std::vector<std::int64_t>(tables_.size(), -1),
                .used = static_cast<std::int64_t>(parts_.size())};
  KernelSet done(tables_.size());
  std::int32_t next_index = 0;
  for (const Part& part : parts_) {
    const auto index = rules_.index_for(part.kernels, next_index, rules_.unplaced(done));
    part.kernels.for_each([&](std::size_t p) {
      fusion.partition[tables_.id(p).index()] = index.value_or(next_index);
    });
    next_index = index.value_or(next_index) + 1;
    done |= part.kernels;
  }
  return fusion;
}

bool WindowSearch::advance(std::int64_t steps, const std::function<void()>& between) {
  while (steps > 0) {
    tables_.deadline().check();
    if (between) between();
    if (since_better_ >= 2 * std::ssize(parts_)) {
      if (most_ >= kLastWindow || most_ >= std::ssize(place_of_)) return true;
      most_ += most_ / 2;
      since_better_ = 0;
    }
    if (seed_ >= parts_.size()) {
      seed_ = 0;
      kind_ = kind_ == Kind::Joined ? Kind::Consecutive : Kind::Joined;
    }
    ++since_better_;
    const Places places = window(seed_++, kind_);
    steps -= kStepsBeside;
    if (!places.empty()) steps -= search(places, between);
  }
  return false;
}

std::int64_t WindowSearch::size(const Places& places) const {
  std::int64_t sum = 0;
  for (const std::size_t place : places) sum += parts_[place].size;
  return sum;
}

/// Around the seed, as many kernels as a window may have; nothing if the seed is too large.
WindowSearch::Places WindowSearch::window(std::size_t seed, Kind kind) const {
  Places places{seed};
  const bool one_phase = tables_.has_halves();
  const auto goes = [&](const Part& part) {
    return !one_phase || (part.forward == parts_[seed].forward &&
                          part.backward == parts_[seed].backward && part.forward != part.backward);
  };
  if (!goes(parts_[seed]) || parts_[seed].size > most_) return {};
  std::vector<bool> refused(parts_.size());
  for (std::size_t next = seed + 1;; ++next) {
    if (kind == Kind::Joined) next = joined_most(places, refused);
    if (next >= parts_.size()) return places;
    Places more = places;
    more.insert(std::upper_bound(more.begin(), more.end(), next), next);
    more = closed(more);
    const bool good = size(more) <= most_ && std::all_of(more.begin(), more.end(), [&](auto place) {
                        return goes(parts_[place]);
                      });
    if (good) {
      places = std::move(more);
    } else if (kind == Kind::Consecutive) {
      return places;
    }
    refused[next] = true;
  }
}

/// Of the parts that are not refused the one that most is handed to and from; if there is
/// none, what does not exist.
std::size_t WindowSearch::joined_most(const Places& places,
                                      const std::vector<bool>& refused) const {
  std::vector<std::pair<std::size_t, Ticks>> joined;
  const auto add = [&](std::span<const Arc> arcs) {
    for (const Arc& arc : arcs) {
      const std::size_t place = place_of_[arc.other];
      if (refused[place] || std::binary_search(places.begin(), places.end(), place)) continue;
      const auto known = std::find_if(joined.begin(), joined.end(),
                                      [&](const auto& other) { return other.first == place; });
      if (known == joined.end()) {
        joined.emplace_back(place, arc.transfer);
      } else {
        known->second = capped_sum(known->second, arc.transfer);
      }
    }
  };
  for (const std::size_t place : places) {
    parts_[place].kernels.for_each([&](std::size_t p) {
      add(tables_.inputs(p));
      add(tables_.outputs(p));
    });
  }
  const auto most =
      std::max_element(joined.begin(), joined.end(), [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second < b.second : a.first > b.first;
      });
  return most == joined.end() ? parts_.size() : most->first;
}

/// Whether it needs one of those marked done; backward parts need all forward ones.
bool WindowSearch::follows(std::size_t place, const std::vector<bool>& marked, bool forward) const {
  const Part& part = parts_[place];
  return (forward && part.backward) ||
         std::any_of(part.inputs.begin(), part.inputs.end(), [&](auto p) { return marked[p]; });
}

bool WindowSearch::precedes(std::size_t place, const std::vector<bool>& marked,
                            bool backward) const {
  const Part& part = parts_[place];
  return (backward && part.forward) ||
         std::any_of(part.outputs.begin(), part.outputs.end(), [&](auto p) { return marked[p]; });
}

/// Marks them and all parts up to the last of them that must come after one of them.
std::vector<bool> WindowSearch::after(const Places& places) const {
  std::vector<bool> marked(parts_.size());
  bool forward = false;
  for (std::size_t place = places.front(); place <= places.back(); ++place) {
    marked[place] =
        std::binary_search(places.begin(), places.end(), place) || follows(place, marked, forward);
    forward = forward || (marked[place] && parts_[place].forward);
  }
  return marked;
}

/// With all parts between two of them: those after one that come before one.  What lies on the way
/// from there is after one, too.  If they turn out to be too large for a window, only some.
WindowSearch::Places WindowSearch::closed(const Places& places) const {
  const std::vector<bool> later = after(places);
  std::vector<bool> marked(parts_.size());
  bool backward = false;
  std::int64_t kernels = 0;
  Places all;
  for (std::size_t place = places.back() + 1; place-- > places.front() && kernels <= most_;) {
    if (!later[place]) continue;
    marked[place] = std::binary_search(places.begin(), places.end(), place) ||
                    precedes(place, marked, backward);
    if (!marked[place]) continue;
    backward = backward || parts_[place].backward;
    kernels += parts_[place].size;
    all.push_back(place);
  }
  std::reverse(all.begin(), all.end());
  return all;
}

/// The partitions of the window and those that are not used.
std::int64_t WindowSearch::partitions_for(const Places& places) const {
  if (!tables_.has_halves()) {
    return tables_.partition_limit() - std::ssize(parts_) + std::ssize(places);
  }
  const bool backward = parts_[places.front()].backward;
  const auto others = std::count_if(parts_.begin(), parts_.end(),
                                    [&](const Part& part) { return part.backward == backward; });
  return rules_.left(rules_.group(backward), 0) - others + std::ssize(places);
}

/// What is best in place of these parts; returns the steps that took.
std::int64_t WindowSearch::search(const Places& places, const std::function<void()>& between) {
  Ticks time = 0;
  std::vector<std::size_t> kernels;
  for (const std::size_t place : places) {
    time += parts_[place].time;
    parts_[place].kernels.for_each([&](std::size_t p) { kernels.push_back(p); });
  }
  std::sort(kernels.begin(), kernels.end());
  const FusionTables window(tables_, kernels, partitions_for(places));
  const FusionTree tree(window);
  if (tree.root().bound >= time) return 0;
  std::int64_t steps = kStepsOfWindow;
  const RelaxedFusion found = relaxed_fusion(window, time - 1, steps, between);
  if (found.fusion && found.fusion->time < time) {
    std::vector<std::vector<std::size_t>> by(kernels.size());
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      by[static_cast<std::size_t>(found.fusion->partition[i])].push_back(kernels[i]);
    }
    if (replace(places, by)) since_better_ = 0;
  }
  return steps;
}

/// False if that brings nothing after all.
bool WindowSearch::replace(const Places& places, const std::vector<std::vector<std::size_t>>& by) {
  const std::vector<bool> later = after(places);
  std::vector<Part> parts;
  KernelSet done(tables_.size());
  for (std::size_t place = 0; place <= places.back(); ++place) {
    if (later[place]) continue;
    parts.push_back(parts_[place]);
    done |= parts_[place].kernels;
  }
  OpenPartition open(tables_, done);
  Ticks time = 0;
  for (const std::vector<std::size_t>& kernels : by) {
    if (kernels.empty()) continue;
    KernelSet set(tables_.size());
    for (const std::size_t p : kernels) set.insert(p);
    parts.push_back(part_of(std::move(set), open));
    time = capped_sum(time, parts.back().time);
  }
  for (const std::size_t place : places) time -= parts_[place].time;
  if (time >= 0) return false;
  for (std::size_t place = 0; place < parts_.size(); ++place) {
    const bool kept = place <= places.back() && !later[place];
    if (!kept && !std::binary_search(places.begin(), places.end(), place)) {
      parts.push_back(parts_[place]);
    }
  }
  if (!is_allowed(parts)) return false;
  parts_ = std::move(parts);
  index_parts();
  return true;
}

/// Whether there are indices for them, and memory for what waits in it.
bool WindowSearch::is_allowed(const std::vector<Part>& parts) const {
  const bool limited = tables_.capacity_for_activations() < Bytes::infinity();
  KernelSet done(tables_.size());
  OpenPartition open(tables_, done);
  std::int32_t next_index = 0;
  for (const Part& part : parts) {
    const auto index = rules_.index_for(part.kernels, next_index, rules_.unplaced(done));
    if (!index) return false;
    next_index = *index + 1;
    if (limited && part_of(KernelSet(part.kernels), open).time >= kNever) return false;
    done |= part.kernels;
  }
  return true;
}

}  // namespace dfsearch
