// Value by value and phase by phase: where it begins, what its consumers want, and which
// conversions each axis has for it by itself.  Where only one axis converts there is nothing to
// choose; else the cheapest way through all of them counts (joint_conversions.hpp).

#include "model/training/block_exchanges.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "model/layer/shard.hpp"
#include "model/training/joint_conversions.hpp"

namespace dfsearch::training {
namespace {

constexpr std::array kRoleOfAxis = {Role::Tensor, Role::Context, Role::Expert};

double number(std::int64_t value) { return static_cast<double>(value); }

/// A value on its way to the consumers of a phase.
struct Delivery {
  JointLayout root{};
  std::vector<JointLayout> wanted;
  JointPassages passages;
};

class ExchangeFinder {
 public:
  ExchangeFinder(const Block& block, const BlockLayouts& layouts, const ValueShares& shares,
                 Bytes word)
      : block_(block),
        graph_(block.graph()),
        axes_{layouts.tensor, layouts.context, layouts.expert},
        shares_(shares),
        word_(word) {}

  std::vector<BlockExchange> run() {
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      if (axes_[axis] == nullptr) continue;
      for (const Conversion& conversion : axes_[axis]->conversions) {
        Delivery& delivery = deliveries_[key_of(conversion)];
        delivery.passages[axis].push_back(
            {.from = conversion.from, .to = conversion.to, .by = &conversion});
      }
    }
    for (auto& [key, delivery] : deliveries_) {
      const auto& [at_end, place, phase] = key;
      if (at_end) {
        find_end(KernelId(place), delivery);
      } else {
        find_wanted(place, phase, delivery);
      }
      add_slices(delivery);
      add(delivery);
    }
    return std::move(found_);
  }

 private:
  /// Whether it is what the block hands on; then its producer, else the value; the phase.
  using Key = std::tuple<bool, std::size_t, Phase>;

  [[nodiscard]] bool is_at_end(const Conversion& conversion) const {
    return conversion.value == kNoValue ||
           block_.values()[conversion.value].producer != conversion.producer;
  }
  [[nodiscard]] Key key_of(const Conversion& conversion) const {
    const bool at_end = is_at_end(conversion);
    return {at_end, at_end ? conversion.producer.index() : conversion.value, conversion.phase};
  }

  /// The layout on each axis, of one that divides nothing Replicated.
  template <class OfAxis>
  [[nodiscard]] JointLayout joint(const OfAxis& of_axis) const {
    JointLayout layout{};
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      layout[axis] = axes_[axis] == nullptr ? ValueLayout::Replicated : of_axis(*axes_[axis]);
    }
    return layout;
  }

  /// Who takes it over is the kernel that stands for it there, or takes it as it is converted.
  void find_end(KernelId producer, Delivery& delivery) const {
    delivery.root =
        joint([&](const AxisLayout& axis) { return axis.rules[producer.index()].output; });
    JointLayout wanted = delivery.root;
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      for (const AxisPassage& passage : delivery.passages[axis]) {
        wanted[axis] = passage.to;
        const Conversion& by = *passage.by;
        if (by.value == kNoValue) continue;
        const KernelId taker = block_.values()[by.value].producer;
        wanted = joint([&](const AxisLayout& a) { return a.rules[taker.index()].output; });
      }
    }
    delivery.wanted = {wanted};
  }

  void find_wanted(std::size_t v, Phase phase, Delivery& delivery) const {
    const JointLayout made = joint([&](const AxisLayout& axis) { return axis.produced[v]; });
    const JointLayout kept = joint([&](const AxisLayout& axis) { return axis.kept[v]; });
    const bool is_forward = graph_.kernel(block_.values()[v].producer).phase == Phase::Forward;
    delivery.root = is_forward && phase == Phase::Backward ? kept : made;
    bool is_kept = false;
    for (const TensorId t : graph_.values()[v]) {
      const KernelId consumer = graph_.tensor(t).to;
      const Phase of_consumer = graph_.kernel(consumer).phase;
      is_kept = is_kept || (is_forward && of_consumer == Phase::Backward);
      if (of_consumer != phase) continue;
      std::size_t input = 0;
      while (graph_.inputs(consumer)[input] != t) ++input;
      delivery.wanted.push_back(joint(
          [&](const AxisLayout& axis) { return axis.rules[consumer.index()].inputs[input]; }));
    }
    if (is_kept && phase == Phase::Forward) delivery.wanted.push_back(kept);
  }

  /// What is wanted and nobody sends is a slice of the whole.
  static void add_slices(Delivery& delivery) {
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      std::vector<AxisPassage>& passages = delivery.passages[axis];
      for (const JointLayout& wanted : delivery.wanted) {
        const bool is_made =
            wanted[axis] == delivery.root[axis] ||
            std::any_of(passages.begin(), passages.end(),
                        [&](const AxisPassage& passage) { return passage.to == wanted[axis]; });
        if (is_made) continue;
        passages.push_back({.from = ValueLayout::Replicated, .to = wanted[axis], .by = nullptr});
      }
    }
  }

  void add(const Delivery& delivery) {
    const auto moves = [](const std::vector<AxisPassage>& passages) { return !passages.empty(); };
    if (std::count_if(delivery.passages.begin(), delivery.passages.end(), moves) == 1) {
      for (std::size_t axis = 0; axis < kAxes; ++axis) {
        for (const AxisPassage& passage : delivery.passages[axis]) {
          JointStep step{.axis = axis, .passage = passage, .at = delivery.root};
          step.at[axis] = passage.from;
          if (passage.by != nullptr) add(step);
        }
      }
      return;
    }
    const auto cost = [&](const JointStep& step) { return sent(step); };
    for (const JointStep& step :
         cheapest_steps(delivery.root, delivery.passages, delivery.wanted, cost)) {
      if (step.passage.by != nullptr) add(step);
    }
  }

  /// Of all samples of a micro-batch, on the expert axis of those of all chips.
  [[nodiscard]] double whole(const JointStep& step) const {
    const Role role = kRoleOfAxis[step.axis];
    const double held = shares_.elements(
        value_of(*step.passage.by), role == Role::Tensor ? ValueLayout::Replicated : step.at[0],
        role == Role::Context ? ValueLayout::Replicated : step.at[1]);
    return role == Role::Expert ? held * number(shares_.expert) : held;
  }

  [[nodiscard]] JointCost sent(const JointStep& step) const {
    const std::array chips = {shares_.tensor, shares_.context, shares_.expert};
    Conversion conversion = *step.passage.by;
    conversion.elements = whole(step);
    const double elements = sent_elements(conversion, chips[step.axis]);
    return {elements, kRoleOfAxis[step.axis] == Role::Tensor ? 0.0 : elements};
  }

  void add(const JointStep& step) {
    const Conversion& conversion = *step.passage.by;
    const Role role = kRoleOfAxis[step.axis];
    const bool ring = role == Role::Context && conversion.exchange != Exchange::AllToAll &&
                      feeds_attention(conversion);
    found_.push_back({.role = role,
                      .exchange = conversion.exchange,
                      .phase = conversion.phase,
                      .behind_attention = ring,
                      .whole = word_ * whole(step)});
  }

  /// The value of a conversion: at an end of the block all that its producer computes.
  [[nodiscard]] Block::Value value_of(const Conversion& conversion) const {
    if (conversion.value != kNoValue) return block_.values()[conversion.value];
    const Kernel& kernel = graph_.kernel(conversion.producer);
    return {.producer = conversion.producer,
            .heads = kernel.outer,
            .rows = kernel.m,
            .columns = kernel.n};
  }

  [[nodiscard]] bool feeds_attention(const Conversion& conversion) const {
    if (conversion.value == kNoValue) return false;
    const auto& tensors = graph_.values()[conversion.value];
    const auto is_attention = [&](KernelId kernel) {
      return graph_.kernel(kernel).kind == KernelKind::Attention || block_.is_scoring(kernel);
    };
    return is_attention(block_.values()[conversion.value].producer) ||
           std::any_of(tensors.begin(), tensors.end(),
                       [&](TensorId t) { return is_attention(graph_.tensor(t).to); });
  }

  const Block& block_;
  const DataflowGraph& graph_;
  const std::array<const AxisLayout*, kAxes> axes_;
  const ValueShares& shares_;
  const Bytes word_;
  std::map<Key, Delivery> deliveries_;
  std::vector<BlockExchange> found_;
};

}  // namespace

double ValueShares::elements(const Block::Value& value, ValueLayout on_tensor,
                             ValueLayout on_context) const {
  std::int64_t heads = value.heads, rows = value.rows, columns = value.columns;
  const auto divide = [&](ValueLayout layout, std::int64_t chips) {
    if (layout == ValueLayout::Tokens) columns = ceil_div(columns, chips);
    if (layout != ValueLayout::Features) return;
    std::int64_t& extent = heads > 1 ? heads : rows;
    extent = ceil_div(extent, chips);
  };
  divide(on_tensor, tensor);
  divide(on_context, context);
  return number(heads) * number(rows) * number(columns) * samples;
}

std::vector<BlockExchange> exchanges_of(const Block& block, const BlockLayouts& layouts,
                                        const ValueShares& shares, Bytes word) {
  return ExchangeFinder(block, layouts, shares, word).run();
}

}  // namespace dfsearch::training
