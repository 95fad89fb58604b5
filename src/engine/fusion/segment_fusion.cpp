// Shortest path over segments.
//
// A vertex is a number of kernels done; an edge closes the segment of kernels between two vertices.
// Segments grow kernel by kernel and end before the first kernel that does not fit, so there are
// few of them when SRAM is scarce.  Only segments of one topological order are tried, so the result
// is an upper bound and not the optimum.
//
// The first attempt takes the shortest path and, among several, one with the fewest segments;
// mostly it keeps the limit of partitions.  If it does not, vertices become pairs (kernels done,
// partitions used).  This table would also find the path of the first attempt if that keeps the
// limit: let t be its time and u its number of segments.  No path within the limit is shorter, and
// no path of time t has fewer than u segments.  By induction from the end, both attempts enter each
// vertex by the longest segment that keeps time and number at their least.  If the table would be
// too large, each partition is charged an extra cost instead (Lagrangian relaxation of the limit).

// `Search` is a best-first search in one thread, without ties: the engine's branch and bound in its
// smallest form, for use inside an expansion.

#include "engine/fusion/segment_fusion.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/fusion/open_partition.hpp"
#include "engine/fusion/transpositions.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {
namespace {

// Limits on the table and on the list of segments, which take some ten megabytes each.
constexpr std::size_t kLargestTable = 1'000'000;
constexpr std::size_t kMostSegments = 1'000'000;
// After this number of halvings the charge of a partition is within a millionth.
constexpr int kHalvings = 20;
constexpr Work kWordsOfSegment = 32;
constexpr Work kWordsBetweenChecks = 100'000;

struct Vertex {
  Ticks time = kNever;
  std::size_t from = 0;  // kernels done before the last segment
  std::size_t used = 0;  // partitions used; in the table: indices used before the last segment
};

/// Kernels that fit into a partition together, and its time.
struct Segment {
  std::size_t begin, end;
  Ticks time;
};

class SegmentPath {
 public:
  SegmentPath(const FusionTables& tables, std::vector<std::size_t> order)
      : tables_(tables),
        order_(std::move(order)),
        rules_(tables),
        counts_(tables.has_halves() ||
                tables.partition_limit() < static_cast<std::int64_t>(tables.size())),
        least_used_(tables.size() + 1, kUnreached) {
    least_used_[0] = 0;
  }

  std::optional<Fusion> find() {
    std::vector<Vertex> least = origin();
    // A segment that takes longer does not make the path to its end shorter.
    const auto most = [&](std::size_t begin, std::size_t end) {
      return counts_ ? kNever : least[end].time - least[begin].time - 1;
    };
    for_each_segment(most, [&](const Segment& segment) {
      if (counts_ && segments_.size() <= kMostSegments) segments_.push_back(segment);
      relax(least, segment, [&](const Vertex& a, const Vertex& b) {
        return a.time < b.time || (counts_ && a.time == b.time && a.used < b.used);
      });
    });
    if (least.back().time >= kNever) return std::nullopt;
    // Mostly the shortest path is within the limit of partitions.
    if (auto found = fusion(path(least))) return found;
    if (segments_.size() > kMostSegments) return std::nullopt;
    const std::size_t columns = static_cast<std::size_t>(tables_.partition_limit()) + 1;
    const std::size_t vertices = (tables_.size() + 1) * columns;
    const std::size_t bytes = vertices * sizeof(Vertex);
    if (vertices > kLargestTable || tables_.allowance().is_tight(bytes)) return find_by_charge();
    const MemoryCharge memory = tables_.allowance().charge(bytes);
    return find_by_table(columns);
  }

  [[nodiscard]] Work work() const { return work_; }

 private:
  using Indices = std::vector<std::int64_t>;
  static constexpr std::int64_t kUnreached = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] bool is_backward(std::size_t place) const {
    return tables_.kernel(order_[place]).backward;
  }

  /// The initial labels of a shortest path, one for each vertex.
  [[nodiscard]] std::vector<Vertex> origin() const {
    std::vector<Vertex> least(tables_.size() + 1);
    least[0].time = tables_.weight_loads();
    return least;
  }

  template <class Precedes>
  static void relax(std::vector<Vertex>& least, const Segment& segment, const Precedes& precedes) {
    const Vertex& from = least[segment.begin];
    const Vertex to{.time = from.time + segment.time, .from = segment.begin, .used = from.used + 1};
    if (precedes(to, least[segment.end])) least[segment.end] = to;
  }

  [[nodiscard]] static std::vector<Segment> path(const std::vector<Vertex>& least) {
    std::vector<Segment> path;
    for (std::size_t end = least.size() - 1; end > 0; end = least[end].from) {
      const std::size_t begin = least[end].from;
      path.push_back({.begin = begin, .end = end, .time = least[end].time - least[begin].time});
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  /// Visits each segment once, in ascending order of their begins.  Segments may be left out if
  /// they take longer than `most(begin, end)`.
  template <class Most, class Visit>
  void for_each_segment(const Most& most, const Visit& visit) {
    OpenPartition partition(tables_, KernelSet(tables_.size()));
    for (std::size_t begin = 0; begin < tables_.size(); ++begin) {
      if (least_used_[begin] < kUnreached) visit_from(begin, partition, most, visit);
      partition.put_before(order_[begin]);
    }
  }

  template <class Most, class Visit>
  void visit_from(std::size_t begin, OpenPartition& partition, const Most& most,
                  const Visit& visit) {
    tables_.deadline().check();
    const auto index = index_after(least_used_[begin], is_backward(begin));
    if (!index) return;
    bool alone = false;
    for (std::size_t end = begin; end < tables_.size() && !alone; ++end) {
      if (is_backward(end) != is_backward(begin)) break;
      if (!partition.put_in_if_fits(order_[end])) {
        alone = true;
        if (end > begin || !tables_.kernel(order_[end]).escapes) break;
        partition.put_in(order_[end]);
      }
      if (!partition.fits_in_memory()) continue;
      const Work work = kWordsOfSegment + partition.allocation_work();
      paced_.check(work);
      work_ += work;
      const Ticks time = partition.time(most(begin, end + 1));
      if (time >= kNever) continue;
      least_used_[end + 1] = std::min(least_used_[end + 1], *index + 1);
      visit(Segment{.begin = begin, .end = end + 1, .time = time});
    }
    partition.take_out_all();
  }

  /// The index of the partition of each segment; nothing if there are not enough indices.  With
  /// phases in halves the backward segments start at their half, even if fewer forward segments
  /// come before.
  [[nodiscard]] std::optional<Indices> indices_of(const std::vector<Segment>& path) const {
    Indices indices;
    for (const Segment& segment : path) {
      const std::int64_t next = indices.empty() ? 0 : indices.back() + 1;
      const auto index = index_after(next, is_backward(segment.begin));
      if (!index) return std::nullopt;
      indices.push_back(*index);
    }
    return indices;
  }

  /// The index of the next partition if `used` indices are taken or skipped; nothing if none is
  /// left.
  [[nodiscard]] std::optional<std::int64_t> index_after(std::int64_t used, bool backward) const {
    if (!counts_) return used;
    Unplaced left;
    (backward ? left.backward : left.forward) = 1;
    for (const PartitionSlot& slot : rules_.slots(static_cast<std::int32_t>(used), left)) {
      if (backward ? slot.backward : slot.forward) return slot.index;
    }
    return std::nullopt;
  }

  /// The shortest path for which the indices suffice.  The table has the least time for each number
  /// of kernels done and of indices used.
  std::optional<Fusion> find_by_table(std::size_t columns) {
    std::array<std::vector<std::size_t>, 2> next;  // column after each column, by phase
    for (const bool backward : {false, true}) {
      for (std::size_t used = 0; used + 1 < columns; ++used) {
        const auto index = index_after(static_cast<std::int64_t>(used), backward);
        next[backward ? 1 : 0].push_back(index ? static_cast<std::size_t>(*index) + 1 : columns);
      }
    }
    std::vector<Vertex> table((tables_.size() + 1) * columns);
    table[0].time = tables_.weight_loads();
    for (const Segment& segment : segments_) {
      const std::vector<std::size_t>& leads_to = next[is_backward(segment.begin) ? 1 : 0];
      const Vertex* from = &table[segment.begin * columns];
      Vertex* to = &table[segment.end * columns];
      for (std::size_t used = 0; used + 1 < columns; ++used) {
        if (from[used].time >= kNever || leads_to[used] >= columns) continue;
        const Ticks time = from[used].time + segment.time;
        Vertex& vertex = to[leads_to[used]];
        if (time < vertex.time) vertex = {.time = time, .from = segment.begin, .used = used};
      }
      work_ += static_cast<Work>(columns);
      tables_.deadline().check();
    }
    const auto at = [&](std::size_t done, std::size_t used) {
      return table[done * columns + used];
    };
    const std::size_t kernels = tables_.size();
    std::size_t best = 0;
    for (std::size_t used = 1; used < columns; ++used) {
      if (at(kernels, used).time < at(kernels, best).time) best = used;
    }
    if (at(kernels, best).time >= kNever) return std::nullopt;
    std::vector<Segment> path;
    for (std::size_t end = kernels, used = best; end > 0;) {
      const Vertex vertex = at(end, used);
      path.push_back({.begin = vertex.from,
                      .end = end,
                      .time = vertex.time - at(vertex.from, vertex.used).time});
      end = vertex.from;
      used = vertex.used;
    }
    std::reverse(path.begin(), path.end());
    return fusion(path);
  }

  /// Finds a shortest path in which each partition costs its time and a charge, at the least charge
  /// whose path has few enough segments.  No path with at most as many segments is shorter.  Serves
  /// where the table would be too large.
  std::optional<Fusion> find_by_charge() {
    const auto charged_with = [&](double charge) {
      const auto cost = [charge](const Vertex& vertex) {
        return static_cast<double>(vertex.time) + charge * static_cast<double>(vertex.used);
      };
      std::vector<Vertex> least = origin();
      for (const Segment& segment : segments_) {
        relax(least, segment, [&](const Vertex& a, const Vertex& b) {
          if (b.time >= kNever || cost(a) != cost(b)) return b.time >= kNever || cost(a) < cost(b);
          return a.used != b.used ? a.used < b.used : a.time < b.time;
        });
      }
      work_ += static_cast<Work>(segments_.size()) * 4;
      tables_.deadline().check();
      return fusion(path(least));
    };
    // An infinite charge leads to the path with the fewest segments.
    std::optional<Fusion> best = charged_with(std::numeric_limits<double>::infinity());
    if (!best) return std::nullopt;
    double too_little = 0.0;
    double enough = static_cast<double>(best->time);
    for (int i = 0; i < kHalvings; ++i) {
      const double charge = (too_little + enough) / 2.0;
      auto found = charged_with(charge);
      (found ? enough : too_little) = charge;
      if (found && found->time < best->time) best = std::move(found);
    }
    return best;
  }

  /// The fusion of a path; nothing if the indices do not suffice.
  [[nodiscard]] std::optional<Fusion> fusion(const std::vector<Segment>& path) const {
    const auto indices = indices_of(path);
    if (!indices) return std::nullopt;
    Fusion fusion{.time = tables_.weight_loads(),
                  .partition = std::vector<std::int64_t>(tables_.size())};
    for (std::size_t s = 0; s < path.size(); ++s) {
      fusion.time += path[s].time;
      for (std::size_t p = path[s].begin; p < path[s].end; ++p) {
        fusion.partition[tables_.id(order_[p]).index()] = (*indices)[s];
      }
    }
    return fusion;
  }

  const FusionTables& tables_;
  const std::vector<std::size_t> order_;  // kernels, each after its producers
  const PartitionRules rules_;
  const bool counts_;                     // whether the limit of partitions may bind
  std::vector<std::int64_t> least_used_;  // least next index after the first n kernels
  std::vector<Segment> segments_;         // edges of the graph, if partitions are counted
  Work work_ = 0;
  PacedDeadline paced_{tables_.deadline(), kWordsBetweenChecks};
};

/// The order of the tables: each kernel after its producers.
std::vector<std::size_t> order_of_tables(const FusionTables& tables) {
  std::vector<std::size_t> order(tables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

std::optional<Fusion> segments_of(const FusionTables& tables, std::vector<std::size_t> order,
                                  Work& work) {
  CountedCall call(tables.allowance().efforts, SearchBound::Segments);
  SegmentPath path(tables, std::move(order));
  auto found = path.find();
  work += path.work();
  call.found(found.has_value());
  return found;
}

class Search final : public FusionSink {
 public:
  Search(const FusionTables& tables, Ticks limit)
      : search_(tables), seen_(search_, tables.bounds(), tables.allowance()), limit_(limit) {}

  RelaxedFusion run(std::int64_t steps) {
    child(search_.root());
    for (; !heap_.empty(); steps -= kStepsPerNode) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      const FusionNode node = std::move(heap_.back());
      heap_.pop_back();
      if (node.bound > limit_) break;
      if (steps <= 0) {
        found_.bound = node.bound;
        return std::move(found_);
      }
      if (!node.opened && seen_.superseded(node)) continue;
      search_.branch(node, kStepsPerNode, *this);
    }
    if (found_.fusion) found_.bound = found_.fusion->time;
    return std::move(found_);
  }

  [[nodiscard]] Ticks limit() const override { return limit_; }

  void child(FusionNode&& node) override {
    if (node.bound > limit_ || (!node.opened && !seen_.admit(node))) return;
    heap_.push_back(std::move(node));
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  void complete(Fusion&& fusion) override {
    if (fusion.time > limit_) return;
    limit_ = fusion.time - 1;  // only better fusions from now on
    found_.fusion = std::move(fusion);
  }

 private:
  static constexpr std::int64_t kStepsPerNode = 1000;
  /// Order of the heap: the least bound is first and, among equal bounds, the most partitions.
  static bool later(const FusionNode& a, const FusionNode& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.used < b.used;
  }

  const FusionTree search_;
  Transpositions seen_;
  Ticks limit_;
  std::vector<FusionNode> heap_;
  RelaxedFusion found_;
};

}  // namespace

std::optional<Fusion> best_segments(const FusionTables& tables, Work& work) {
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (tables.kernel(p).pin >= 0) return std::nullopt;
  }
  return segments_of(tables, order_of_tables(tables), work);
}

std::optional<Fusion> best_segments(const FusionTables& tables) {
  Work uncounted = 0;
  return best_segments(tables, uncounted);
}

std::optional<Fusion> best_segments(const FusionTables& tables,
                                    std::span<const std::uint32_t> places, Work& work) {
  std::vector<std::size_t> order = order_of_tables(tables);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
  return segments_of(tables, std::move(order), work);
}

RelaxedFusion relaxed_fusion(const FusionTables& tables, Ticks limit, std::int64_t steps) {
  Search search(tables, limit);
  if (tables.bounds().use(SearchBound::Segments)) {
    if (auto segments = best_segments(tables)) search.complete(std::move(*segments));
  }
  return search.run(steps);
}

}  // namespace dfsearch
