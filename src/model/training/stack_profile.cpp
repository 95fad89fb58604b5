// With a stack a layer is counted as training libraries run it, in a division by features with or
// without sequence parallelism; no layout is searched.

#include "model/training/profile.hpp"

namespace dfsearch::training {

Profiles stack_profiles(const Task& task, const Degrees& degrees, TensorLayout layout,
                        std::int64_t micro_batch) {
  const bool whole = layout == TensorLayout::WholeExperts || degrees[Role::Tensor] == 1;
  const stack::Division division{
      .sequence = task.pass.tokens,
      .samples = micro_batch,
      .tensor = degrees[Role::Tensor],
      .context = degrees[Role::Context],
      .expert = degrees[Role::Expert] * (whole ? degrees[Role::Tensor] : 1),
      .experts_whole = whole,
      .sequence_parallel = layout != TensorLayout::LeastSent};
  Profiles profiles;
  const auto set = [&](Part part, const stack::BlockWork& work) {
    BlockProfile& profile = profiles[static_cast<std::size_t>(part)];
    profile.work = work;
    profile.parameters = work.parameters;
    profile.expert_parameters = work.expert_parameters;
    if (part == Part::Last) profile.head_parameters = work.parameters;
    profile.kept = part == Part::Last ? work.logits : work.kept;
    profile.kept_scores = work.kept_scores;
    profile.input = work.input;
  };
  const stack::Setup& setup = *task.stack;
  const Transformer& model = task.model;
  const LayerOrder order = layer_order(model);
  const bool alternates = model.alternates();
  if (order.layers > 0) {
    set(Part::Layer, layer_work(setup, model, division, alternates && model.experts));
  }
  if (order.other_layers > 0) {
    set(Part::OtherLayer, layer_work(setup, alternates ? model.seeing(0) : model, division,
                                     model.experts.has_value()));
  }
  if (model.vocabulary > 0) {
    set(Part::First, first_work(setup, model, division));
    set(Part::Last, last_work(setup, model, division));
  }
  return profiles;
}

}  // namespace dfsearch::training
