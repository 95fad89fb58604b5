#include "model/memory/stage_memory.hpp"

#include <algorithm>

#include "base/counts.hpp"

namespace dfsearch::memory {
namespace {

/// Elements of the weights of a stage.
struct Elements {
  double dense = 0.0, ends = 0.0, experts = 0.0, adapters = 0.0;

  void add(const LayerMemory& layer, double count) {
    dense += layer.dense * count;
    ends += layer.end * count;
    experts += layer.experts * count;
    adapters += layer.adapters * count;
  }
};

/// Divides bytes among the ranks that have the same weights, if the step divides them.
class Division {
 public:
  Division(const StepMemory& step, bool is_divided)
      : all_(is_divided ? step.replicas : 1.0), experts_(is_divided ? step.expert_replicas : 1.0) {}

  [[nodiscard]] double operator()(double all, double experts) const {
    return all / all_ + experts / experts_;
  }

 private:
  const double all_, experts_;
};

double at(const StackFigures& figures, const Amount& amount) {
  return figures.spread * (amount.bytes + figures.imbalance * amount.routed);
}

class Stage {
 public:
  Stage(const StepMemory& step, const StageLayers& stage) : step_(step), stage_(stage) {
    for (const auto& [layer, count] : stage.layers) {
      if (count > 0.0) elements_.add(*layer, count);
    }
    if (stage.first != nullptr) elements_.add(*stage.first, 1.0);
    if (stage.last != nullptr) elements_.add(*stage.last, 1.0);
    if (stage.last != nullptr && shares_head()) elements_.ends -= stage.last->end;
  }

  StageMemory memory() {
    set_states();
    const StackFigures& figures = step_.figures;
    double layers = 0.0;
    for (const auto& [layer, count] : stage_.layers) {
      if (!(count > 0.0)) continue;
      layers += count;
      use_.activations += count * stage_.alive * at(figures, layer->kept(step_.recompute));
      add_work(*layer);
    }
    if (stage_.first != nullptr) {
      use_.activations += stage_.alive * stage_.first->input;
    }
    add_loss();
    add_gathered();
    take_largest(layers);
    use_.resident = figures.resident;
    use_.context = figures.context + figures.group * step_.groups;
    add_fragments();
    return use_;
  }

 private:
  [[nodiscard]] bool shares_head() const { return step_.shares_head && stage_.first != nullptr; }
  [[nodiscard]] bool gathers() const { return step_.zero >= 3 && step_.replicas > 1.0; }
  /// Bytes of an element of a frozen linear.
  [[nodiscard]] double frozen() const { return bytes_of(step_.lora->frozen); }

  void set_states() {
    const States& states = step_.states;
    // In a pipeline the gradients of micro-batches are added up undivided, and reduced once a step.
    const bool divides_gradients = step_.zero >= 3 || (step_.zero == 2 && !step_.in_pipeline);
    const Division weights(step_, step_.zero >= 3), gradients(step_, divides_gradients),
        optimizer(step_, step_.zero >= 1);
    const auto& [dense, ends, experts, adapters] = elements_;
    if (step_.lora != nullptr) {
      const double each = step_.lora->adapter_bytes;
      use_.weights = weights(frozen() * dense + kWord * ends, frozen() * experts);
      use_.adapters = weights(each * adapters, 0.0);
      use_.gradients = gradients(each * adapters, 0.0);
      use_.optimizer = optimizer(2.0 * each * adapters, 0.0);
      return;
    }
    const double all = dense + ends;
    use_.weights = weights(states.weight * all, states.weight * experts);
    const double gradient = states.gradient + (step_.zero >= 1 ? states.buffer : 0.0);
    use_.gradients = gradients(gradient * all, gradient * experts);
    const double moments = states.master + states.moments;
    use_.optimizer = optimizer(moments * all, moments * experts);
    use_.step = weights(states.step * all, states.step * experts);
    if (!gathers() || !step_.in_pipeline) return;
    // A pipeline gathers weights once a step and adds up undivided gradients.
    use_.weights += kWord * (all + experts);
    use_.gradients += 4.0 * (all + experts);
  }

  void add_work(const LayerMemory& layer) {
    double work = at(step_.figures, layer.working);
    if (step_.recompute >= Recompute::Full) work += at(step_.figures, layer.all);
    use_.working = std::max(use_.working, work);
    if (!gathers()) return;
    const bool trains = step_.lora == nullptr;
    const double words = (trains ? kWord : gathered_bytes()) * layer.weights();
    const double gradient = trains ? (kWord + step_.states.gradient) * layer.weights() : 0.0;
    layer_gathered_ = std::max(layer_gathered_, step_.facts.gathered_layers * words + gradient);
  }

  /// Bytes that a rank gathers for an element of a frozen linear.
  [[nodiscard]] double gathered_bytes() const {
    return step_.lora->frozen == Frozen::SixteenBits ? kWord : 0.52;
  }

  void add_loss() {
    if (stage_.last == nullptr) return;
    const LayerMemory& last = *stage_.last;
    const double chunk = 12.0 * last.columns * number(step_.loss.chunk);
    switch (step_.loss.kind) {
      case LossKind::FusedLinear:
        use_.loss = chunk + kWord * last.head_input;
        if (step_.lora == nullptr) use_.loss += kWord * last.end;
        break;
      case LossKind::Chunked:
        use_.loss = step_.figures.logit * last.logits + chunk;
        break;
      default:
        use_.loss = step_.figures.logit * last.logits;
    }
    loss_input_ = last.input;
  }

  void add_gathered() {
    if (!gathers()) return;
    if (stage_.first != nullptr) ends_gathered_ += kWord * stage_.first->end;
    if (stage_.last != nullptr && !shares_head()) ends_gathered_ += kWord * stage_.last->end;
  }

  /// Fragments count only at the moments before the optimizer works.  If the largest of these with
  /// its fragments exceeds the largest of all moments without fragments, the difference is added.
  void add_fragments() {
    const double held = use_.weights + use_.adapters + use_.optimizer + use_.gradients;
    const double largest = use_.moments[static_cast<std::size_t>(use_.moment)];
    const double earlier =
        *std::max_element(use_.moments.begin(), use_.moments.begin() + kMoments - 1);
    use_.fragments =
        std::max(0.0, earlier + step_.figures.fragment * std::max(0.0, earlier - held) - largest);
  }

  void take_largest(double layers) {
    const double held = use_.weights + use_.adapters + use_.optimizer;
    const double during = held + (step_.makes_gradients() ? 0.0 : use_.gradients);
    const double gathered = ends_gathered_ + layer_gathered_;
    const double twice = step_.facts.twice_with_adapters && step_.lora != nullptr && gathers()
                             ? use_.activations
                             : 0.0;
    const double after = held + use_.gradients;
    use_.moments = {
        during + use_.activations + use_.loss + ends_gathered_ + loss_input_,
        during + use_.activations + twice + use_.working + gathered,
        after + (layers > 0.0 ? use_.activations / layers : 0.0) + use_.working + gathered,
        after + use_.step};
    const auto largest = std::max_element(use_.moments.begin(), use_.moments.end());
    use_.moment = static_cast<Moment>(largest - use_.moments.begin());
    const bool is_loss = use_.moment == Moment::Loss;
    const bool is_step = use_.moment == Moment::Step;
    if (!is_loss) use_.loss = 0.0;
    if (is_loss || is_step) use_.working = 0.0;
    use_.gathered = is_step ? 0.0 : is_loss ? ends_gathered_ : gathered;
    if (!is_step) use_.step = 0.0;
  }

  const StepMemory& step_;
  const StageLayers& stage_;
  Elements elements_;
  StageMemory use_;
  double layer_gathered_ = 0.0, ends_gathered_ = 0.0, loss_input_ = 0.0;
};

}  // namespace

StageMemory stage_memory(const StepMemory& step, const StageLayers& stage) {
  return Stage(step, stage).memory();
}

}  // namespace dfsearch::memory
