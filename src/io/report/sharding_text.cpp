#include "io/report/report_parts.hpp"

#include <array>

#include "io/text/text_table.hpp"
#include "model/layer/shard.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

class ShardingSummary {
 public:
  ShardingSummary(const Problem& problem, const Mapping& mapping)
      : problem_(problem),
        graph_(problem.workload.graph),
        network_(mapping.network),
        sharding_(mapping.sharding) {}

  [[nodiscard]] Sheet text() const {
    if (degree_of(network_, Strategy::Tensor) == 1) {
      return labelled("sharding", "none: the tensor degree is 1") + spread_lines() +
             own_communication();
    }
    Sheet text;
    for (const Loop second : kShown) {
      for (const Loop first : kShown) {
        const LoopPair loops(first, second);
        text += line(text.empty() ? "sharding" : "",
                     (loops == Loop::None ? "not sharded" : name_of(loops)) + ":",
                     names_of([&](std::size_t k) {
                       return sharding_[k] == loops && spread(k) == Spread::Tensor;
                     }));
      }
    }
    text += line("all-reduce", "", names_of([&](std::size_t k) {
                   return reduces_output(graph_.kernels()[k], sharding_[k], problem_.tensor_axes);
                 }));
    return text + spread_lines() + conversions() + own_communication() + outer_note();
  }

 private:
  static constexpr std::array kShown = {Loop::Outer, Loop::M, Loop::K, Loop::N, Loop::None};

  template <class Predicate>
  [[nodiscard]] std::string names_of(Predicate wanted) const {
    std::string names;
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) {
      if (wanted(k)) names += (names.empty() ? "" : ", ") + graph_.kernels()[k].name;
    }
    return names;
  }

  [[nodiscard]] Spread spread(std::size_t k) const { return graph_.kernels()[k].spread; }

  /// Kernels that the workload spreads over the machine for any sharding.
  [[nodiscard]] Sheet spread_lines() const {
    const ChipGrid grid = chip_grid(network_, problem_.equations);
    const auto names = [this](Spread over) {
      return names_of([&](std::size_t k) { return spread(k) == over; });
    };
    return line("grid", fmt::format("M over {} chips, K over {}:", grid.x, grid.y),
                names(Spread::Grid)) +
           line("all chips", fmt::format("N over {}:", grid.chips()), names(Spread::Machine));
  }

  static Sheet line(std::string_view label, const std::string& head, const std::string& names) {
    if (names.empty()) return "";
    return labelled(label, head.empty() ? names : head + " " + names);
  }

  [[nodiscard]] Sheet conversions() const {
    std::string gathers;
    std::string exchanges;
    const auto add = [&](const Tensor& tensor, const char* layer) {
      const LayoutPair from = produced_layouts(sharding_[tensor.from.index()]);
      const LayoutPair to = wanted_layouts(problem_, tensor, sharding_[tensor.to.index()]);
      const std::string name =
          graph_.kernel(tensor.from).name + " -> " + layer + graph_.kernel(tensor.to).name;
      const auto list = [&](Conversion kind, std::string& names) {
        const bool is_needed =
            conversion(from[0], to[0]) == kind || conversion(from[1], to[1]) == kind;
        if (is_needed) names += (names.empty() ? "" : ", ") + name;
      };
      list(Conversion::AllGather, gathers);
      list(Conversion::AllToAll, exchanges);
    };
    for (const Tensor& tensor : graph_.tensors()) add(tensor, "");
    for (const Tensor& seam : charged_seams(problem_)) add(seam, "next ");
    return line("all-gather", "", gathers) + line("all-to-all", "", exchanges);
  }

  /// Communication of kernels that no sharding changes.
  [[nodiscard]] Sheet own_communication() const {
    const auto names = [&](bool gradient) {
      return names_of([&](std::size_t k) {
        const auto& own = graph_.kernels()[k].communication;
        return own && is_gradient(own->type) == gradient;
      });
    };
    Sheet text = line("own traffic", "", names(false));
    if (degree_of(network_, Strategy::Data) > 1)
      text += line("gradients", "all-reduced:", names(true));
    return text;
  }

  /// Note on kernels that the published layout rules split wrongly (docs/model.md, section 4): each
  /// head needs the whole input, unless the producer has as many heads as the consumer.
  [[nodiscard]] Sheet outer_note() const {
    std::string names;
    for (const Tensor& tensor : graph_.tensors()) {
      const Kernel& from = graph_.kernel(tensor.from);
      const Kernel& to = graph_.kernel(tensor.to);
      const LoopPair loops = sharding_[tensor.to.index()];
      const LayoutPair made = produced_layouts(sharding_[tensor.from.index()]);
      const LayoutPair wanted = wanted_layouts(problem_, tensor, loops);
      bool splits_rows = false;
      for (std::size_t axis = 0; axis < kTensorAxes; ++axis) {
        splits_rows =
            splits_rows || (loops.loops[axis] == Loop::Outer && made[axis] == Layout::RowSplit &&
                            wanted[axis] == Layout::RowSplit);
      }
      if (!splits_rows || to.kind != KernelKind::WeightGemm || from.outer == to.outer) continue;
      names += (names.empty() ? "" : ", ") + from.name + " -> " + to.name;
    }
    if (names.empty()) return "";
    return labelled("note",
                    "the published layout rules allow a row-split input for a weight GEMM that is "
                    "sharded on outer, although every head needs the whole input: " +
                        names);
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  const NetworkChoice& network_;
  const std::vector<LoopPair>& sharding_;
};

}  // namespace

Sheet sharding_lines(const Problem& problem, const Mapping& mapping) {
  return ShardingSummary(problem, mapping).text();
}

}  // namespace dfsearch
