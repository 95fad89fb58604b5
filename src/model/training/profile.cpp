#include "model/training/profile.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "graph/workloads/blocks/mixed_layers.hpp"
#include "model/layer/shard.hpp"
#include "model/training/kernel_shares.hpp"
#include "model/training/value_conversions.hpp"

// A profile is computed kernel by kernel: the rule of each axis gives the extents on one chip,
// these give FLOP and bytes, and the rate for this amount of work gives the time.

namespace dfsearch::training {

namespace {

class Profiler {
 public:
  Profiler(const Task& task, const Block& block, const KernelShares& shares)
      : task_(task), block_(block), graph_(block.graph()), shares_(shares) {}

  BlockProfile run() {
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) add_kernel(KernelId(k));
    for (std::size_t v = 0; v < block_.values().size(); ++v) add_value(v);
    return std::move(profile_);
  }

 private:
  /// Bytes that a kernel reads and writes, without its weight.
  [[nodiscard]] Bytes streamed(KernelId id, const Extents& extents) const {
    Bytes sum = shares_.results(id, extents);
    for (std::size_t i = 0; i < graph_.inputs(id).size(); ++i) sum += shares_.read(id, i);
    for (const std::size_t v : block_.computed(id)) sum += shares_.produced(v);
    return sum;
  }

  // docs/training.md (8)
  [[nodiscard]] WorkTime time_of(KernelId id, const Extents& extents, Bytes streamed) const {
    const Seconds compute = shares_.compute(id, extents);
    const Bytes moved = streamed + shares_.weight(id, extents);
    const Seconds memory = task_.machine.memory[0].time(moved);
    const Seconds both =
        task_.overlap == Overlap::None ? compute + memory : std::max(compute, memory);
    return {.time = both,
            .memory = task_.overlap == Overlap::None ? both - compute : Seconds{},
            .flop = shares_.flops(id, extents),
            .moved = moved};
  }

  void add_kernel(KernelId id) {
    // docs/training.md (1)
    const double parameters = shares_.parameters(id);
    (block_.is_grouped(id) ? profile_.expert_parameters : profile_.parameters) += parameters;
    if (block_.part() == Part::Last && graph_.kernel(id).has_weight()) {
      profile_.head_parameters += parameters;
    }
    const Block::Pass pass = block_.pass(id);
    if (pass == Block::Pass::None) return;
    const Extents extents = shares_.extents(id);
    const Bytes moved = streamed(id, extents);
    const WorkTime time = time_of(id, extents, moved);
    const bool is_attention = graph_.kernel(id).kind == KernelKind::Attention;
    if (pass == Block::Pass::Forward) {
      profile_.forward += time;
      if (block_.is_scoring(id)) profile_.scoring += time;
      if (is_attention || block_.is_scoring(id)) profile_.attention_forward += time.time;
      return;
    }
    if (is_attention) profile_.attention_backward += time.time;
    (pass == Block::Pass::WeightGradient ? profile_.weight_gradient : profile_.input_gradient) +=
        time;
    profile_.working = std::max(profile_.working, moved);
  }

  // docs/training.md (3)
  void add_value(std::size_t v) {
    const Block::Value& value = block_.values()[v];
    if (value.is_kept) (value.is_score ? profile_.kept_scores : profile_.kept) += shares_.kept(v);
    if (value.is_input) profile_.input += shares_.produced(v);
  }

  const Task& task_;
  const Block& block_;
  const DataflowGraph& graph_;
  const KernelShares& shares_;
  BlockProfile profile_;
};

}  // namespace

BlockProfile profile(const Task& task, const Block& block, const BlockLayouts& layouts,
                     const Degrees& degrees, std::int64_t micro_batch) {
  const KernelShares shares(task, block, layouts, degrees, micro_batch);
  BlockProfile profile = Profiler(task, block, shares).run();
  profile.exchanges = exchanges_of(block, layouts, shares.values(), task.pass.word);
  return profile;
}

// Exchanges are found value by value and phase by phase, from the first layout of the value, the
// layouts that its consumers require, and the conversions of each axis.  If only one axis converts,
// there is nothing to choose; otherwise the cheapest sequence of all conversions counts
// (value_conversions.hpp).

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
  /// Conversions with the same key are one delivery.  The key states first whether they are at an
  /// end of the block.  The index is that of the producer for conversions at an end, and that of
  /// the value for all others.  The phase is that of the consumers.
  using Key = std::tuple<bool, std::size_t, Phase>;

  [[nodiscard]] bool is_at_end(const Conversion& conversion) const {
    return conversion.value == kNoValue ||
           block_.values()[conversion.value].producer != conversion.producer;
  }
  [[nodiscard]] Key key_of(const Conversion& conversion) const {
    const bool at_end = is_at_end(conversion);
    return {at_end, at_end ? conversion.producer.index() : conversion.value, conversion.phase};
  }

  /// The layout on each axis; Replicated on an axis that divides nothing.
  template <class OfAxis>
  [[nodiscard]] JointLayout joint(const OfAxis& of_axis) const {
    JointLayout layout{};
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      layout[axis] = axes_[axis] == nullptr ? ValueLayout::Replicated : of_axis(*axes_[axis]);
    }
    return layout;
  }

  /// Finds the layout that the next block requires of a value at the end of the block.  It is the
  /// output layout of the kernel that represents this value in the next block (INPUT or GRADIENT).
  /// If the graph has no such kernel, the result of the last conversion on each axis counts.
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

  /// Adds slices: a required layout that no conversion makes is a slice of the whole value.
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

  /// The elements of the converted value that all chips of the axis have together.  On the expert
  /// axis each chip has samples of its own.
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

  /// The value of a conversion; at an end of the block, the whole output of its producer.
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

// Training libraries divide a layer by features, with or without sequence parallelism.  The
// profiles with a stack count this division, and no layout is searched.

Profiles stack_profiles(const Task& task, const Degrees& degrees, TensorLayout layout,
                        std::int64_t micro_batch) {
  const bool whole = layout == TensorLayout::WholeExperts || degrees[Role::Tensor] == 1;
  const std::int64_t encoded = task.model.encoder_tokens(task.pass.tokens);
  const stack::Division division{
      .sequence = task.pass.tokens,
      .encoded = encoded,
      .samples = micro_batch,
      .tensor = degrees[Role::Tensor],
      .context = degrees[Role::Context],
      .expert = degrees[Role::Expert] * (whole ? degrees[Role::Tensor] : 1),
      .experts_whole = whole,
      .sequence_parallel = layout != TensorLayout::LeastSent};
  Profiles profiles;
  const auto set = [&](BlockProfile& profile, const stack::BlockWork& work) {
    profile.work = work;
    profile.parameters = work.parameters;
    profile.expert_parameters = work.expert_parameters;
  };
  const auto place = [&](Part part) -> BlockProfile& {
    return profiles[static_cast<std::size_t>(part)];
  };
  const stack::Setup& setup = *task.stack;
  const Transformer& model = task.model;
  const memory::Lora* const lora = task.lora ? &*task.lora : nullptr;
  if (model.vocabulary > 0) {
    set(place(Part::First), first_work(setup, model, division, lora));
    set(place(Part::Last), last_work(setup, model, division, lora));
    place(Part::Last).head_parameters = place(Part::Last).parameters;
  }
  if (model.mixed) {
    profiles.further.resize(std::max<std::size_t>(model.mixed->forms.size(), 2) - 2);
    for (std::size_t kind = 0; kind < model.mixed->forms.size(); ++kind) {
      const LayerForm& form = model.mixed->forms[kind];
      stack::Division own = division;
      if (form.encodes) own.sequence = encoded;
      set(kind < 2 ? profiles[kind] : profiles.further[kind - 2], layer_work(setup, form, own));
    }
    return profiles;
  }
  const LayerOrder order = layer_order(model);
  const bool alternates = model.alternates();
  if (order.layers > 0) {
    set(place(Part::Layer), layer_work(setup, model, division, alternates && model.experts, lora));
  }
  if (order.other_layers > 0) {
    set(place(Part::OtherLayer), layer_work(setup, alternates ? model.seeing(0) : model, division,
                                            model.experts.has_value(), lora));
  }
  return profiles;
}

}  // namespace dfsearch::training
