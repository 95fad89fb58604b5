// Linear layers as training libraries run them: one product for queries, keys and values, one for
// gate and up projection, and in the backward pass two products of the same size for each of them.
// Elementwise work is counted in passes over memory, in words of 16 bits for each token.

#include "model/stack/block_work.hpp"

#include <algorithm>

#include "base/counts.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"

namespace dfsearch::stack {
namespace {

/// The backward pass of a scan has twice its products, and repeats the forward products, as kernels
/// keep inputs but no states.
constexpr double kScanBackward = 3.0;
/// The number of gathers of a layer that the backward pass waits for.  Gradients of weights need
/// the inputs again, so libraries gather them for each half of a layer, beside the product for the
/// gradient of the input.  These products hide one of the two gathers (docs/truth.md, section 3).
constexpr double kGatheredAgain = 1.0;

/// A linear layer of one chip.
struct Product {
  double rows, in, out;
  double matrices = 1.0;  ///< weights that the product reads
  bool grouped = false;

  [[nodiscard]] double flop() const { return 2.0 * rows * in * out; }
  [[nodiscard]] double bytes() const { return kWord * (rows * (in + out) + matrices * in * out); }
};

class Counter {
 public:
  Counter(const Setup& setup, const Transformer& model, const Division& division,
          const memory::Lora* lora, const LayerForm* form = nullptr)
      : setup_(setup),
        model_(model),
        division_(division),
        lora_(lora),
        form_(form),
        switches_(setup.switches(model.experts.has_value())),
        kernels_(setup),
        tokens_(division.tokens()),
        tensor_(number(division.tensor)),
        hidden_(number(model.hidden)) {}

  BlockWork layer(bool of_experts) {
    work_.is_layer = true;
    add_linear_layers(of_experts);
    add_elementwise(of_experts);
    if (has_attention()) add_attention();
    if (form_ != nullptr) add_scans();
    add_exchanges(of_experts);
    add_host(of_experts);
    add_memory(of_experts);
    set_trained(work_.memory.adapters);
    return work_;
  }

  BlockWork first() {
    const double words = 2.0 * hidden_;
    elementwise(words, 1.0, 1.0);
    const double tables = model_.mixed ? model_.mixed->tables : 0.0;
    work_.parameters = (number(model_.vocabulary) * hidden_ + tables) / tensor_;
    work_.memory = memory::first_memory(model_, shares());
    set_trained(0.0);
    return work_;
  }

  BlockWork last() {
    const double vocabulary = number(model_.vocabulary) / tensor_;
    const Product head{.rows = tokens_, .in = hidden_, .out = vocabulary};
    // Each layer of multi-token prediction runs head and loss once more.
    const double heads = 1.0 + number(setup_.stack.software.mtp);
    const Seconds product = kernels_.product(head.flop(), head.bytes(), Bits::Sixteen) * heads;
    work_.forward.products += product;
    work_.backward.products += product * backward_products();
    const Operations once{.others = heads * head.flop(), .moved = heads * head.bytes()};
    work_.forward.all += once;
    work_.backward.all += once.times(backward_products());
    elementwise(2.0 * hidden_, heads, 1.0);
    const double logits = tokens_ * vocabulary;
    const double inputs = kWord * tokens_ * 2.0 * hidden_;
    const double of_loss = typical(setup_.stack.loss_bytes) * logits;
    work_.backward.elementwise += (kernels_.pass(inputs) + kernels_.pass(of_loss)) * heads;
    work_.backward.all.moved += (inputs + of_loss) * heads;
    work_.parameters = vocabulary * hidden_;
    work_.memory = memory::last_memory(model_, shares());
    set_trained(0.0);
    return work_;
  }

 private:
  [[nodiscard]] double key_heads() const {
    return std::max(number(model_.kv_heads) / tensor_, 1.0);
  }
  [[nodiscard]] double query_heads() const { return number(model_.heads) / tensor_; }
  [[nodiscard]] double up() const { return model_.gated ? 2.0 : 1.0; }
  [[nodiscard]] double norms() const {
    return form_ != nullptr ? form_->norms : model_.post_norm ? 4.0 : 2.0;
  }
  [[nodiscard]] bool has_attention() const { return form_ == nullptr || form_->has_attention; }
  /// Whether a layer without experts has an MLP.
  [[nodiscard]] bool has_mlp() const { return form_ == nullptr || form_->has_mlp; }
  /// Parts of a layer that add their output to its input.
  [[nodiscard]] double halves() const { return form_ != nullptr ? form_->halves : 2.0; }
  /// Width of the rows of experts.
  [[nodiscard]] double expert_hidden() const {
    return model_.experts->latent > 0 ? number(model_.experts->latent) : hidden_;
  }
  [[nodiscard]] bool makes_keys() const { return form_ == nullptr || form_->makes_keys; }
  [[nodiscard]] bool makes_values() const { return form_ == nullptr || form_->makes_values; }
  /// Tokens of an encoder for each token of the layer.
  [[nodiscard]] double encoded_ratio() const {
    return number(division_.encoded) / number(division_.sequence);
  }
  [[nodiscard]] bool is_unfused() const { return setup_.stack.attention == Attention::Unfused; }
  /// Ranks that divide the weights of an expert.
  [[nodiscard]] double expert_tensor() const { return division_.experts_whole ? 1.0 : tensor_; }
  /// Products of the backward pass for each linear layer: a frozen layer has no gradient of its
  /// weight.
  [[nodiscard]] double backward_products() const { return lora_ == nullptr ? 2.0 : 1.0; }
  void set_trained(double adapters) {
    work_.trained_parameters = lora_ == nullptr ? work_.parameters : adapters;
    work_.trained_expert_parameters = lora_ == nullptr ? work_.expert_parameters : 0.0;
  }
  /// Calls `add` and counts the kernels that it adds to the forward pass as a module.
  template <class Work>
  void in_module(memory::Module module, const Work& add) {
    const Seconds before = work_.forward.total();
    const Operations done = work_.forward.all;
    add();
    const auto index = static_cast<std::size_t>(module);
    work_.module_forward[index] += work_.forward.total() - before;
    work_.module_operations[index] += work_.forward.all;
    work_.module_operations[index] += done.times(-1.0);
  }
  /// Tokens of the fullest chip that go to experts; tensor ranks divide them if experts are whole.
  [[nodiscard]] double sent_tokens() const {
    return tokens_ * fullest_load(setup_.stack) / (division_.experts_whole ? tensor_ : 1.0);
  }
  [[nodiscard]] double expert_rows() const { return number(model_.experts->used) * sent_tokens(); }

  // docs/truth.md (4)
  void add_linear(const Product& linear) {
    const Bits bits = setup_.bits();
    const double rate = linear.grouped ? typical(setup_.stack.expert_products) : 1.0;
    const Seconds product = kernels_.product(linear.flop(), linear.bytes(), bits, rate);
    work_.forward.products += product;
    work_.backward.products += product * backward_products();
    // Times are those of the fullest chip, but FLOP are counted at the mean load of all chips.
    const double share = linear.grouped ? 1.0 / fullest_load(setup_.stack) : 1.0;
    const Operations once{.low = share * linear.flop(), .moved = linear.bytes()};
    work_.forward.all += once;
    work_.backward.all += once.times(backward_products());
    (linear.grouped ? work_.expert_parameters : work_.parameters) +=
        linear.matrices * linear.in * linear.out;
    if (bits == Bits::Sixteen) return;
    double words = typical(setup_.stack.cast_words);
    if (bits == Bits::Four) words += typical(setup_.stack.four_bit_words);
    if (setup_.precision == Precision::Fp8CurrentScaling) {
      words += typical(setup_.stack.scan_words);
    }
    pass(work_.forward, kWord * words * linear.rows * linear.in);
    pass(work_.backward, kWord * words * linear.rows * linear.out);
  }

  void add_mlp(double width) {
    add_linear({.rows = tokens_, .in = hidden_, .out = up() * width});
    add_linear({.rows = tokens_, .in = width, .out = hidden_});
  }

  void add_attention_linears() {
    const double values = query_heads() * number(model_.value_dim);
    if (model_.latent) {
      const LatentAttention& latent = *model_.latent;
      const double made = number(model_.head_dim - latent.rope_dim + model_.value_dim);
      const double queries = query_heads() * number(model_.head_dim);
      const bool short_queries = latent.query_rank > 0;
      const double rank = number(latent.query_rank);
      const double keys = number(latent.key_value_rank + latent.rope_dim);
      add_linear({.rows = tokens_, .in = hidden_, .out = keys + (short_queries ? rank : queries)});
      in_module(memory::Module::LatentUp, [&] {
        if (short_queries) add_linear({.rows = tokens_, .in = rank, .out = queries});
        add_linear(
            {.rows = tokens_, .in = number(latent.key_value_rank), .out = query_heads() * made});
      });
    } else {
      const double heads = query_heads() + (makes_keys() ? key_heads() : 0.0);
      const double made = makes_values() ? key_heads() : 0.0;
      add_linear({.rows = tokens_,
                  .in = hidden_,
                  .out = heads * number(model_.head_dim) + made * number(model_.value_dim)});
    }
    add_linear({.rows = tokens_, .in = values, .out = hidden_});
  }

  /// Queries are made of the tokens of the layer, keys and values of the output of the encoder.
  void add_cross_linears(const dfsearch::Block& cross) {
    const double values = number(cross.heads * cross.value) / tensor_;
    const double keys = std::max(number(cross.kv) / tensor_, 1.0);
    add_linear({.rows = tokens_, .in = hidden_, .out = number(cross.heads * cross.dim) / tensor_});
    add_linear({.rows = tokens_ * encoded_ratio(),
                .in = hidden_,
                .out = keys * number(cross.dim + cross.value)});
    add_linear({.rows = tokens_, .in = values, .out = hidden_});
  }

  void add_linear_layers(bool of_experts) {
    const bool is_compressed = form_ != nullptr && form_->is_compressed;
    if (has_attention() && !is_compressed) add_attention_linears();
    if (form_ != nullptr) add_further_linears();
    if (form_ != nullptr && form_->cross) add_cross_linears(*form_->cross);
    work_.parameters += norms() * hidden_;
    if (!of_experts) {
      if (!has_mlp()) return;
      in_module(memory::Module::Mlp, [&] { add_mlp(number(model_.mlp) / tensor_); });
      return;
    }
    in_module(memory::Module::Experts, [&] { add_experts(); });
  }

  void add_experts() {
    const Experts& experts = *model_.experts;
    if (experts.shared > 0) add_mlp(number(experts.shared * experts.mlp) / tensor_);
    const double width = number(experts.mlp) / expert_tensor();
    const double matrices = number(experts.count) / number(division_.expert);
    work_.parameters += hidden_ * number(experts.count);
    for (const bool is_up : {true, false}) {
      add_linear({.rows = expert_rows(),
                  .in = is_up ? expert_hidden() : width,
                  .out = is_up ? up() * width : expert_hidden(),
                  .matrices = matrices,
                  .grouped = true});
    }
  }

  /// Adds `kernels` passes over `words` words of each token to the forward pass, and as many passes
  /// over `backward` times these words to the backward pass.
  void elementwise(double words, double kernels, double backward) {
    const double all = kWord * tokens_ * words * typical(setup_.stack.elementwise);
    pass(work_.forward, all, kernels);
    pass(work_.backward, all * backward, kernels);
  }
  void pass(PassWork& work, double bytes, double kernels = 1.0) const {
    work.elementwise += kernels_.pass(bytes) * kernels;
    work.all.moved += bytes * kernels;
  }

  void add_elementwise(bool of_experts) {
    const double shared = division_.sequence_parallel ? tensor_ : 1.0;
    const double heads = query_heads() + (makes_keys() ? number(model_.kv_heads) / tensor_ : 0.0);
    in_module(memory::Module::Norms, [&] { elementwise(2.0 * hidden_ / shared, norms(), 2.0); });
    elementwise(3.0 * hidden_ / shared, halves(), 2.0);  // residuals
    const bool is_rotary = model_.positions == 0;
    if (has_attention()) {
      elementwise((is_rotary ? 2.0 : 0.5) * heads * number(model_.head_dim), 1.0, 2.0);
    }
    const double of_width = model_.gated ? 3.0 : 2.0;
    if (!of_experts) {
      if (!has_mlp()) return;
      in_module(memory::Module::Mlp,
                [&] { elementwise(of_width * number(model_.mlp) / tensor_, 1.0, 2.0); });
      return;
    }
    in_module(memory::Module::Experts, [&] { add_expert_passes(of_width); });
  }

  void add_expert_passes(double of_width) {
    const Experts& experts = *model_.experts;
    const double rows = expert_rows() / tokens_;
    // Half of the words move on the way to the experts, half on the way back.
    elementwise(permuted_words(setup_.stack, switches_) / 2.0 * rows * expert_hidden(), 2.0,
                kExpertBackward);
    in_module(memory::Module::ExpertActivation, [&] {
      elementwise(of_width * rows * number(experts.mlp) / expert_tensor(), 1.0, kExpertBackward);
    });
    elementwise(4.0 * number(experts.count) / tensor_, 1.0, kExpertBackward);  // router
    if (experts.shared > 0) {
      elementwise(of_width * number(experts.shared * experts.mlp) / tensor_, 1.0, 2.0);
    }
  }

  void add_attention() {
    in_module(memory::Module::CoreAttention, [&] {
      add_core_attention();
      if (form_ != nullptr && form_->cross) add_cross_attention(*form_->cross);
    });
  }

  /// Each token sees all tokens of the encoder.
  void add_cross_attention(const dfsearch::Block& cross) {
    const double rows = number(division_.samples) * number(cross.heads) / tensor_;
    const double pairs = number(division_.sequence) * number(division_.encoded);
    const double d = number(cross.dim), v = number(cross.value);
    for (const bool backward : {false, true}) {
      Seconds& sum = (backward ? work_.backward : work_.forward).attention;
      if (is_unfused()) {
        const UnfusedAttention products = kernels_.unfused(rows, pairs, cross.dim, backward);
        sum += products.products + products.passes;
        continue;
      }
      const double width = backward ? 3.0 * d + 2.0 * v : d + v;
      sum += kernels_.attention(2.0 * rows * pairs * width, division_.encoded, cross.dim, backward,
                                false);
    }
  }

  void add_core_attention() {
    const double tokens = number(division_.sequence);
    const double samples = number(division_.samples), ranks = number(division_.context);
    const double rows = samples * query_heads();
    const std::int64_t window = form_ != nullptr ? form_->seen() : model_.window;
    const double seen = window > 0 ? std::min(number(window), tokens) : tokens;
    const bool causal = form_ == nullptr || form_->causal;
    for (const bool backward : {false, true}) {
      PassWork& work = backward ? work_.backward : work_.forward;
      Seconds& sum = work.attention;
      const auto count = [&](double flop, double moved) {
        const Operations once{.others = flop, .moved = moved};
        work.all += once;
        work.attending += once;
      };
      if (is_unfused()) {
        const double scores = tokens * tokens / ranks;
        const UnfusedAttention products = kernels_.unfused(rows, scores, model_.head_dim, backward);
        sum += products.products + products.passes;
        count(products.flop, products.moved);
        if (products.is_slow) softmax_ = typical(setup_.stack.host_softmax);
        continue;
      }
      const double width = backward ? 3.0 * number(model_.head_dim) + 2.0 * number(model_.value_dim)
                                    : number(model_.head_dim + model_.value_dim);
      double pairs =
          (causal ? seen * (seen + 1.0) / 2.0 + (tokens - seen) * seen : seen * tokens) / ranks;
      if (form_ != nullptr && form_->rate > 0) {
        pairs += tokens * keys_seen({.window = form_->chosen, .rate = form_->rate}, tokens);
      }
      const double flop = 2.0 * rows * pairs * width;
      sum += kernels_.attention(flop, division_.sequence, model_.head_dim, backward,
                                division_.context > 1);
      // Queries, keys, values and results move once; backward, their gradients move as well.
      const double values = 2.0 * (query_heads() + key_heads()) * number(model_.head_dim);
      count(flop, kWord * tokens_ * values * (backward ? 2.0 : 1.0));
    }
    add_sinks();
  }

  /// Adds the kernels that sum the gradient of sinks; ranges count them as attention.
  // docs/truth.md (22)
  void add_sinks() {
    const auto& sinks = setup_.stack.software.sinks;
    if (!sinks || *sinks == Sinks::Fused) return;
    const Bytes moved = typical(setup_.stack.sink_bytes) * (tokens_ * query_heads());
    const double share = setup_.chip.elementwise.share.back();
    work_.backward.elementwise += moved / (setup_.chip.memory * share) * setup_.scenario.attention;
  }

  /// Adds matrices that no transformer has; matrices with the same input and division are one
  /// product.
  void add_further_linears() {
    for (const FurtherProduct& product : further_products(*form_, tensor_)) {
      add_linear({.rows = tokens_, .in = product.in, .out = product.out});
    }
    work_.parameters += form_->scan_vectors / tensor_;
  }

  // docs/truth.md, section 1
  void add_scans() {
    const LayerForm& form = *form_;
    if (!form.scans.empty()) {
      const double tokens = tokens_ / tensor_;
      const Seconds scan =
          kernels_.scan(tokens * form.scan, tokens * form.delta, tokens * form.scan_elementwise);
      work_.forward.scans += scan;
      work_.backward.scans += scan * kScanBackward;
      const Operations once{.others = tokens * (form.scan + form.delta + form.scan_elementwise)};
      work_.forward.all += once;
      work_.backward.all += once.times(kScanBackward);
      // Convolutions, and the gates and norms of outputs.
      elementwise(2.0 * form.channels / tensor_, 1.0, 2.0);
      elementwise(3.0 * form.inner / tensor_, 1.0, 2.0);
    }
    if (form.index_pair > 0.0) {
      const double s = number(division_.sequence);
      const double pairs =
          number(division_.samples) * s * (s + 1.0) / 2.0 / number(division_.context);
      const Seconds scores = kernels_.index(pairs * form.index_pair);
      work_.forward.scans += scores;
      work_.backward.scans += scores * 2.0;
      const Operations once{.others = pairs * form.index_pair};
      work_.forward.all += once;
      work_.backward.all += once.times(2.0);
    }
  }

  void add_exchanges(bool of_experts) {
    const bool is_dense = !of_experts || !division_.experts_whole || model_.experts->shared > 0 ||
                          (form_ != nullptr && form_->has_shared);
    if (division_.tensor > 1) {
      // Attention is one half of the layer.  The other half has no sums if its experts are whole on
      // ranks.
      const double parts = halves() - (is_dense ? 0.0 : 1.0);
      work_.tensor_whole = Bytes(kWord * tokens_ * hidden_);
      work_.tensor_passes = division_.sequence_parallel ? Passes::One : Passes::Two;
      work_.tensor_sums = parts;
      // The gradient of the output of an encoder is summed, too.
      if (form_ != nullptr && form_->cross) work_.tensor_sums += encoded_ratio() / 2.0;
      if (form_ != nullptr) {
        // Sums of these elements are all-reduces even if the sequence is divided.
        work_.tensor_sums +=
            summed_elements(*form_) / hidden_ * (division_.sequence_parallel ? 2.0 : 1.0);
      }
      if (division_.sequence_parallel) {
        work_.tensor_gathered = work_.tensor_whole * gathered_share(setup_);
        work_.tensor_gathers_forward = parts;
        work_.tensor_gathers_backward = parts + std::min(parts, kGatheredAgain);
        if (form_ != nullptr && form_->cross) {
          work_.tensor_gathers_forward += encoded_ratio();
          work_.tensor_gathers_backward += 2.0 * encoded_ratio();
        }
      }
    }
    if (division_.context > 1 && has_attention()) {
      const double width = key_heads() * number(model_.head_dim + model_.value_dim) +
                           (form_ != nullptr ? form_->index_cache : 0.0);
      work_.ring = Bytes(kWord * tokens_ * width * number(division_.context));
    }
    if (division_.context > 1 && form_ != nullptr) {
      work_.shifted =
          Bytes(kWord * tokens_ * shifted_elements(*form_, tensor_ * number(division_.context)) /
                tensor_);
    }
    if (of_experts && division_.expert > 1) {
      work_.dispatched = Bytes(kWord * expert_hidden() * sent_tokens());
    }
  }

  // docs/truth.md (6)
  void add_host(bool of_experts) {
    if (of_experts) {
      const double local = number(model_.experts->count) / number(division_.expert);
      work_.host = expert_host(setup_, switches_, local, halves());
    } else {
      const Seconds exchanges = typical(setup_.stack.host_exchange) * work_.tensor_sums;
      work_.host = dense_host(setup_, switches_, exchanges + softmax_, halves());
    }
  }

  /// The shares of a rank of the division, to count its memory.
  [[nodiscard]] memory::RankShares shares() const {
    const double ranks = number(division_.context);
    return {.tokens = tokens_,
            .sequence = number(division_.sequence) / ranks,
            .tensor = tensor_,
            .expert = number(division_.expert),
            .expert_tensor = expert_tensor(),
            .sequence_parallel = division_.sequence_parallel && division_.tensor > 1,
            .encoded = number(division_.encoded)};
  }

  void add_memory(bool of_experts) {
    const bool has_eight_bits = setup_.bits() != Bits::Sixteen;
    const memory::KeptRules rules{
        .eight_bits = has_eight_bits && setup_.stack.memory.eight_bit_inputs,
        .unfused = is_unfused() ? 1.0 : 0.0,
        .eager_widths = setup_.stack.memory.eager_widths,
        .lora = lora_};
    work_.memory = memory::layer_memory(model_, shares(), rules, of_experts, form_);
  }

  const Setup& setup_;
  const Transformer& model_;
  const Division& division_;
  const memory::Lora* const lora_;
  const LayerForm* const form_;  ///< null: all layers of the model are of one kind
  const Switches switches_;
  const KernelTimes kernels_;
  const double tokens_, tensor_, hidden_;
  Seconds softmax_{};
  BlockWork work_;
};

}  // namespace

double Division::tokens() const { return number(samples) * number(sequence) / number(context); }

PassWork& PassWork::operator+=(const PassWork& other) {
  products += other.products;
  attention += other.attention;
  elementwise += other.elementwise;
  scans += other.scans;
  all += other.all;
  attending += other.attending;
  return *this;
}

BlockWork layer_work(const Setup& setup, const Transformer& model, const Division& division,
                     bool of_experts, const memory::Lora* lora) {
  return Counter(setup, model, division, lora).layer(of_experts);
}

BlockWork layer_work(const Setup& setup, const LayerForm& form, const Division& division) {
  return Counter(setup, form.view, division, nullptr, &form).layer(form.has_experts);
}

BlockWork first_work(const Setup& setup, const Transformer& model, const Division& division,
                     const memory::Lora* lora) {
  return Counter(setup, model, division, lora).first();
}

BlockWork last_work(const Setup& setup, const Transformer& model, const Division& division,
                    const memory::Lora* lora) {
  return Counter(setup, model, division, lora).last();
}

}  // namespace dfsearch::stack
