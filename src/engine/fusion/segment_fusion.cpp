// Shortest path over segments.
//
// Vertices are (kernels done, partitions used), an edge closes the segment of
// kernels in between.  Segments grow kernel by kernel and end at the first that
// does not fit, so there are few of them when SRAM is scarce.  Only segments of
// one topological order are tried: the result is an upper bound, no optimum.

#include "engine/fusion/segment_fusion.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/fusion/open_partition.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kLargestTable = 4'000'000;

struct Vertex {
  Ticks time = kNever;
  std::size_t from = 0;  // kernels done before the last segment
  std::size_t used = 0;  // the vertex there
};

class SegmentPath {
 public:
  explicit SegmentPath(const FusionTables& tables)
      : tables_(tables),
        rules_(tables),
        counts_(table_columns(tables) > 1),
        columns_(table_columns(tables)),
        vertices_((tables.size() + 1) * columns_) {
    find_next_columns();
  }

  /// Numbers of partitions to tell apart, 0 among them; one column if they need
  /// not be, since every segment may have a partition of its own.  In halves the
  /// backward ones begin at their index however few kernels there are.
  static std::size_t table_columns(const FusionTables& tables) {
    const auto limit = static_cast<std::size_t>(tables.partition_limit());
    return limit >= tables.size() && !tables.has_halves() ? 1 : limit + 1;
  }

  std::optional<Fusion> find() {
    at(0, 0).time = tables_.weight_loads();
    KernelSet done(tables_.size());
    for (std::size_t begin = 0; begin < tables_.size(); ++begin) {
      extend_from(begin, done);
      done.insert(begin);
    }
    const std::size_t kernels = tables_.size();
    std::size_t best = 0;
    for (std::size_t used = 1; used < columns_; ++used) {
      if (at(kernels, used).time < at(kernels, best).time) best = used;
    }
    if (at(kernels, best).time >= kNever) return std::nullopt;
    return trace(best);
  }

 private:
  Vertex& at(std::size_t kernels, std::size_t used) { return vertices_[kernels * columns_ + used]; }

  void extend_from(std::size_t begin, const KernelSet& done) {
    tables_.deadline().check();
    const std::size_t columns = counts_ ? columns_ - 1 : 1;
    bool reached = false;
    for (std::size_t used = 0; used < columns; ++used) reached |= at(begin, used).time < kNever;
    if (!reached) return;
    OpenPartition segment(tables_, done);
    for (std::size_t end = begin; end < tables_.size(); ++end) {
      const KernelCosts& kernel = tables_.kernel(end);
      if (kernel.backward != tables_.kernel(begin).backward) return;
      const bool alone = !segment.fits(end);
      if (alone && (end > begin || !kernel.escapes)) return;
      segment.put_in(end);
      if (segment.fits_in_memory()) {
        tables_.deadline().check();
        const Ticks time = segment.time(kNever);
        for (std::size_t used = 0; used < columns; ++used) {
          relax(begin, used, end + 1, time);
        }
      }
      if (alone) return;
    }
  }

  /// The column that a segment leads to from each column, for forward and for backward
  /// ones.  With phases in halves the backward partitions start at their half,
  /// whatever number of forward ones came before.
  void find_next_columns() {
    for (const bool backward : {false, true}) {
      std::vector<std::size_t>& next = next_columns_[backward ? 1 : 0];
      if (!counts_) {
        next = {0};
        continue;
      }
      Unplaced left;
      (backward ? left.backward : left.forward) = 1;
      for (std::size_t used = 0; used + 1 < columns_; ++used) {
        next.push_back(columns_);
        for (const PartitionSlot& slot : rules_.slots(static_cast<std::int32_t>(used), left)) {
          if (!(backward ? slot.backward : slot.forward)) continue;
          next.back() = static_cast<std::size_t>(slot.index) + 1;
          break;
        }
      }
    }
  }

  void relax(std::size_t begin, std::size_t used, std::size_t end, Ticks time) {
    const Ticks before = at(begin, used).time;
    if (before >= kNever || time >= kNever) return;
    const std::size_t column = next_columns_[tables_.kernel(begin).backward ? 1 : 0][used];
    if (column >= columns_) return;
    Vertex& vertex = at(end, column);
    if (before + time < vertex.time) vertex = {.time = before + time, .from = begin, .used = used};
  }

  Fusion trace(std::size_t used) {
    struct Segment {
      std::size_t begin, end, column;
    };
    std::vector<Segment> segments;
    const Ticks time = at(tables_.size(), used).time;
    for (std::size_t end = tables_.size(); end > 0;) {
      const Vertex vertex = at(end, used);
      segments.push_back({.begin = vertex.from, .end = end, .column = used});
      end = vertex.from;
      used = vertex.used;
    }
    Fusion fusion{.time = time,
                  .partition = std::vector<std::int64_t>(tables_.size()),
                  .used = static_cast<std::int64_t>(segments.size())};
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const std::size_t index = counts_ ? segments[s].column - 1 : segments.size() - 1 - s;
      for (std::size_t p = segments[s].begin; p < segments[s].end; ++p) {
        fusion.partition[tables_.id(p).index()] = static_cast<std::int64_t>(index);
      }
    }
    return fusion;
  }

  const FusionTables& tables_;
  const PartitionRules rules_;
  const bool counts_;  // a column is a number of partitions; else there is one
  const std::size_t columns_;
  std::array<std::vector<std::size_t>, 2> next_columns_;  // forward, backward; columns_: none
  std::vector<Vertex> vertices_;
};

}  // namespace

std::optional<Fusion> best_segments(const FusionTables& tables) {
  const std::size_t vertices = (tables.size() + 1) * SegmentPath::table_columns(tables);
  const std::size_t bytes = vertices * sizeof(Vertex);
  if (vertices > kLargestTable || tables.allowance().is_tight(bytes)) return std::nullopt;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (tables.kernel(p).pin >= 0) return std::nullopt;
  }
  const MemoryCharge memory = tables.allowance().charge(bytes);
  return SegmentPath(tables).find();
}

}  // namespace dfsearch
