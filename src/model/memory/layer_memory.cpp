#include "model/memory/layer_memory.hpp"

#include <algorithm>

#include "base/counts.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"

namespace dfsearch::memory {
namespace {

/// Counts the memory of a layer.  docs/truth.md, section 5, defines the letters.
class Counter {
 public:
  Counter(const Transformer& model, const RankShares& shares, const KeptRules& rules,
          const LayerForm* form)
      : model_(model),
        rules_(rules),
        form_(form),
        tokens_(shares.tokens),
        h_(number(model.hidden)),
        a_(number(model.heads)),
        g_(std::max(number(model.kv_heads), shares.tensor)),
        d_(number(model.head_dim)),
        dv_(number(model.value_dim)),
        t_(shares.tensor),
        s_(shares.sequence_parallel ? shares.tensor : 1.0),
        mats_(number(model.mlp_matrices())),
        q8_(rules.eight_bits ? 1.0 : kWord),
        shares_(shares) {}

  LayerMemory layer(bool of_experts) {
    // add_further() counts the matrices of compressed attention and the bytes that it keeps.
    const bool has_attention = form_ == nullptr || (form_->has_attention && !form_->is_compressed);
    if (has_attention) add_attention();
    if (form_ != nullptr && form_->cross) add_cross(*form_->cross);
    add_norms();
    double width = 0.0;
    if (of_experts) {
      width = number(model_.experts->shared * model_.experts->mlp);
    } else if (form_ == nullptr || form_->has_mlp) {
      width = number(model_.mlp);
    }
    add_mlp(width, of_experts);
    if (form_ != nullptr) add_further();
    if (of_experts) add_experts();
    layer_.all.bytes += kWord * rules_.eager_widths * tokens_ * h_ / t_;
    layer_.input = kWord * tokens_ * h_ / s_;
    // Outputs of every second product: of queries, keys, attention and one half of the MLP.
    const double of_attention = has_attention ? a_ * d_ + g_ * d_ + a_ * dv_ : 0.0;
    const double outputs = (of_attention + width) / t_;
    layer_.every_second_product.bytes +=
        tokens_ * (2.0 * kWord * h_ / s_ + kWord * outputs + (has_attention ? 4.0 * a_ / t_ : 0.0));
    if (of_experts && shares_.expert > 1.0) {
      layer_.every_second_product.bytes += 4.0 * even_rows() * expert_hidden();
    }
    layer_.working.bytes +=
        tokens_ * (8.0 * h_ / s_ + (shares_.sequence_parallel ? 4.0 * h_ : 0.0));
    return layer_;
  }

 private:
  Amount& part(Module module) { return layer_.part[static_cast<std::size_t>(module)]; }
  void keep(Module module, const Amount& amount) {
    layer_.all += amount;
    part(module) += amount;
  }
  /// Rows of the experts of a rank at an even load.
  [[nodiscard]] double even_rows() const {
    return tokens_ * number(model_.experts->used) * shares_.expert_tensor / t_;
  }
  void add_adapter(Target target, double in, double out) {
    if (rules_.lora == nullptr || !rules_.lora->has(target)) return;
    layer_.adapters += number(rules_.lora->rank) * (in + out) / t_;
  }

  void add_attention() {
    const double each = tokens_ / t_;
    double values = kWord * ((a_ + 2.0 * g_) * d_ + a_ * dv_);
    const bool makes_keys = form_ == nullptr || form_->makes_keys;
    const bool makes_values = form_ == nullptr || form_->makes_values;
    if (!makes_keys) values -= kWord * 2.0 * g_ * d_;
    if (model_.latent) {
      const double rq = number(model_.latent->query_rank);
      const double rk = number(model_.latent->key_value_rank);
      const double dr = number(model_.latent->rope_dim);
      layer_.dense += h_ * rq + (rq > 0.0 ? rq : h_) * a_ * d_ / t_ + h_ * (rk + dr) +
                      rk * a_ * (d_ - dr + dv_) / t_ + a_ * dv_ * h_ / t_;
      layer_.dense += rq + rk;
      values = kWord * a_ * (2.0 * d_ + 2.0 * dv_);
      layer_.all.bytes += tokens_ / s_ * (2.0 * kWord * (rq + rk) + kWord * dr);
      part(Module::LatentUp).bytes += each * kWord * a_ * (2.0 * d_ + dv_);
    } else {
      const double keys = makes_keys ? h_ * g_ * d_ : 0.0, own = makes_values ? h_ * g_ * dv_ : 0.0;
      layer_.dense += (h_ * a_ * d_ + keys + own + a_ * dv_ * h_) / t_;
      if (model_.bias != Bias::None) layer_.dense += ((a_ + g_) * d_ + g_ * dv_) / t_;
      if (model_.bias == Bias::All) layer_.dense += h_;
      add_adapter(Target::Query, h_, a_ * d_);
      add_adapter(Target::Key, h_, g_ * d_);
      add_adapter(Target::Value, h_, g_ * dv_);
      add_adapter(Target::Output, a_ * dv_, h_);
    }
    layer_.all.bytes += each * (values + 4.0 * a_ + (rules_.eight_bits ? a_ * dv_ : 0.0));
    keep(Module::CoreAttention,
         {rules_.unfused * each * a_ * shares_.sequence * (model_.dropout ? 5.0 : 4.0)});
  }

  /// Attention to the output of an encoder keeps queries and outputs for each token of the layer,
  /// keys and values for each token of the encoder.
  void add_cross(const Block& cross) {
    const double a = number(cross.heads), g = std::max(number(cross.kv), t_);
    const double d = number(cross.dim), dv = number(cross.value);
    layer_.dense += (h_ * a * (d + dv) + h_ * g * (d + dv)) / t_;
    const double ratio = shares_.encoded / shares_.sequence;
    const double values = kWord * (a * (d + dv) + ratio * g * (d + dv)) + 4.0 * a;
    layer_.all.bytes += tokens_ / t_ * values;
    layer_.every_second_product.bytes += tokens_ / t_ * values / 2.0;
    keep(Module::CoreAttention,
         {rules_.unfused * tokens_ / t_ * a * shares_.encoded * (model_.dropout ? 5.0 : 4.0)});
  }

  /// Width of the rows of experts.
  [[nodiscard]] double expert_hidden() const {
    return model_.experts->latent > 0 ? number(model_.experts->latent) : h_;
  }

  /// Adds blocks with a state.  They keep the inputs of their kernels and compute states again.
  void add_further() {
    layer_.dense += form_->scan_vectors / t_;
    for (const Linear& linear : form_->linears) {
      const double elements = number(linear.in) * number(linear.out * linear.copies);
      layer_.dense += linear_split(linear.role) == LinearSplit::Whole ? elements : elements / t_;
    }
    const double bytes = kWord * tokens_ * form_->kept / t_;
    layer_.all.bytes += bytes;
    layer_.every_second_product.bytes += bytes / 2.0;
    layer_.working.bytes += kWord * tokens_ * (form_->channels + form_->inner) / t_;
  }

  void add_norms() {
    // A layer of one half has one norm and one sum.
    const double halves = form_ == nullptr ? 2.0 : form_->halves;
    layer_.dense += form_ == nullptr ? (model_.gated ? 2.0 : 4.0) * h_ : form_->norms * h_;
    const double each = tokens_ / s_ * (halves / 2.0);
    keep(Module::Norms, {each * 2.0 * q8_ * h_});
    layer_.all.bytes += each * (2.0 * kWord * h_ + 16.0 + (model_.dropout ? 2.0 * h_ : 0.0));
  }

  void add_mlp(double width, bool is_shared) {
    const double each = tokens_ * width / t_;
    layer_.dense += mats_ * h_ * width / t_;
    if (model_.bias == Bias::All && !is_shared) {
      layer_.dense += (mats_ - 1.0) * width / t_ + h_;
    }
    keep(is_shared ? Module::Experts : Module::Mlp, {each * (kWord * (mats_ - 1.0) + q8_)});
    layer_.working.bytes += each * kWord * mats_;
    if (is_shared) return;
    if (model_.gated) add_adapter(Target::Gate, h_, width);
    add_adapter(Target::Up, h_, width);
    add_adapter(Target::Down, width, h_);
  }

  void add_experts() {
    const Experts& experts = *model_.experts;
    const double count = number(experts.count);
    const double width = number(experts.mlp) / shares_.expert_tensor;
    const double rows = even_rows();
    layer_.dense += h_ * count;
    const double in = expert_hidden();
    layer_.experts += mats_ * in * width * count / shares_.expert;
    keep(Module::Experts,
         {.bytes = tokens_ * 12.0 * count / s_,
          .routed = rows * (q8_ * in + kWord * (mats_ - 1.0) * width + q8_ * width + kWord * in)});
    part(Module::ExpertActivation).routed += rows * q8_ * width;
    layer_.working.routed += rows * kWord * (in + mats_ * width);
  }

  const Transformer& model_;
  const KeptRules& rules_;
  const LayerForm* const form_;  ///< null: all layers of the model are of one kind
  const double tokens_, h_, a_, g_, d_, dv_, t_, s_, mats_, q8_;
  const RankShares& shares_;
  LayerMemory layer_;
};

}  // namespace

Amount LayerMemory::kept(Recompute recompute) const {
  if (recompute == Recompute::Full) return {input};
  if (recompute == Recompute::EverySecondProduct) return every_second_product;
  Amount kept = all;
  for (std::size_t i = 0; i < kModules; ++i) {
    const auto module = static_cast<Module>(i);
    // The module of all experts contains the module of their activation.
    const bool is_within = module == Module::ExpertActivation && has(recompute, Module::Experts);
    if (has(recompute, module) && !is_within) kept += -1.0 * part[i];
  }
  return kept;
}

LayerMemory layer_memory(const Transformer& model, const RankShares& shares, const KeptRules& rules,
                         bool of_experts, const LayerForm* form) {
  return Counter(model, shares, rules, form).layer(of_experts);
}

LayerMemory first_memory(const Transformer& model, const RankShares& shares) {
  const double hidden = number(model.hidden);
  LayerMemory first;
  const double tables = model.mixed ? model.mixed->tables : 0.0;
  first.end = (number(model.vocabulary) * hidden + tables) / shares.tensor +
              number(model.positions) * hidden;
  first.input = kWord * shares.tokens * hidden / (shares.sequence_parallel ? shares.tensor : 1.0);
  return first;
}

LayerMemory last_memory(const Transformer& model, const RankShares& shares) {
  const double hidden = number(model.hidden), columns = number(model.vocabulary) / shares.tensor;
  LayerMemory last;
  last.end = columns * hidden;
  last.dense = hidden;
  last.columns = columns;
  last.logits = shares.tokens * columns;
  last.head_input = shares.tokens * hidden;
  last.input = kWord * last.head_input / (shares.sequence_parallel ? shares.tensor : 1.0);
  return last;
}

}  // namespace dfsearch::memory
