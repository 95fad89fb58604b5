// A graph is written for a layer of each form, and the layers of a period are then joined at their
// seams.  LayerWriter writes the parts of a form that a transformer also has; further matrices and
// scans are written here.  Elements of vectors that no kernel stores are added to the first matrix.

#include "graph/workloads/llm/layer_list_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/counts.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "graph/workloads/blocks/model_shape.hpp"
#include "graph/workloads/llm/scan_writer.hpp"

namespace dfsearch {
namespace {

using ValueId = ValueGraph::ValueId;

/// The part of a form for which there are no kernels; empty if all parts have kernels.
std::string missing_part(const LayerForm& form) {
  if (form.encodes || form.cross) return "an encoder";
  if (form.is_compressed) return "compressed attention";
  if (form.index_pair > 0.0) return "scores of an index";
  if (!form.makes_keys) return "layers that have the keys of another layer";
  if (!form.makes_values) return "values that are the keys";
  if (form.scans.size() > 1) return "several blocks with a state in a layer";
  for (const Block& scan : form.scans) {
    if (!has_scan_kernels(scan)) return "the block " + std::string(name_of(scan.kind));
  }
  std::int64_t up = 0, down = 0;  // of an MLP beside experts
  for (const Linear& linear : form.linears) {
    if (linear.role == LinearRole::Other) return "further matrices";
    if (linear.role == LinearRole::Up) up += linear.copies;
    if (linear.role == LinearRole::Down) down += linear.copies;
  }
  return up == (form.view.gated ? 2 : 1) * down ? "" : "an MLP with gates beside one without";
}

std::string missing_part(const MixedLayers& mixed) {
  for (const LayerForm& form : mixed.forms) {
    const std::string part = missing_part(form);
    if (!part.empty()) return part + ", in layers " + form.name;
  }
  return mixed.shape.stacks.front().has_head ? "" : "a model without a head for tokens";
}

class FormWriter {
 public:
  FormWriter(const Transformer& model, const LayerForm& form, const TransformerPass& pass,
             PassKind kind)
      : form_(form),
        view_(form.view),
        pass_(pass),
        kind_(kind),
        layer_(graph_, view_, pass_, kind == PassKind::Decode) {
    view_.positions = model.positions;
    view_.dropout = model.dropout && kind == PassKind::Training;
    pass_.causal = pass.causal && form.causal;
    pass_.fused = pass.fused || view_.latent || kind == PassKind::Decode;
  }

  DataflowGraph write() {
    const ValueId input = layer_.source("INPUT", view_.hidden);
    ValueId value = input;
    ValueId normed = norm("NORM_1", input);
    std::vector<ValueId> sums = mixers(normed);
    const bool has_channels = form_.has_mlp || form_.has_experts;
    if (has_channels && !sums.empty() && form_.norms >= 2.0) {
      value = add("ADD_1", "NORM_3", std::move(sums), value);
      normed = norm("NORM_2", value);
      sums.clear();
    }
    if (has_channels) {
      for (const ValueId v : channels(normed)) sums.push_back(v);
    }
    value = add("ADD_2", "NORM_4", std::move(sums), value);
    graph_.hand_over(value, input);
    store_rest();
    if (kind_ == PassKind::Training) graph_.add_backward(value, false);
    if (kind_ == PassKind::Decode) read_from_memory(graph_, view_, pass_);
    return graph_.build();
  }

 private:
  ValueId norm(const std::string& name, ValueId of) {
    return layer_.norm(name, 1, view_.hidden, of);
  }

  /// The residual sum.  If the layer has four norms, the values are normed before they are added.
  ValueId add(const std::string& name, const std::string& norm_name, std::vector<ValueId> sums,
              ValueId to) {
    if (form_.norms >= 4.0) {
      const ValueId all = sums.size() > 1 ? layer_.sum("OF_" + norm_name, sums) : sums.front();
      sums = {norm(norm_name, all)};
    }
    sums.push_back(to);
    return layer_.sum(name, sums);
  }

  /// The first further matrices with the role; null if there are none.
  [[nodiscard]] const Linear* find(LinearRole role) const {
    const auto found = std::find_if(form_.linears.begin(), form_.linears.end(),
                                    [role](const Linear& linear) { return linear.role == role; });
    return found == form_.linears.end() ? nullptr : &*found;
  }

  std::vector<ValueId> mixers(ValueId normed) {
    std::vector<ValueId> sums;
    if (form_.has_attention) {
      if (const Linear* gate = find(LinearRole::OutputGate)) layer_.gate_attention(gate->out);
      sums.push_back(layer_.attention_half(normed));
    }
    for (const Block& scan : form_.scans) {
      sums.push_back(scan_kernels(graph_, layer_, scan, view_.hidden, normed));
    }
    return sums;
  }

  std::vector<ValueId> channels(ValueId normed) {
    std::vector<ValueId> sums;
    if (form_.has_experts) {
      sums = layer_.experts(normed);
      for (const LinearRole role : {LinearRole::SharedDown, LinearRole::Down}) {
        const Linear* down = find(role);
        if (down) sums.push_back(beside_experts(*down, normed));
      }
    } else {
      sums.push_back(layer_.mlp("", view_.mlp, false, normed));
    }
    if (view_.dropout) sums.front() = layer_.dropout("DROPOUT_3", 1, sums.front());
    return sums;
  }

  /// An MLP that every token uses.  A shared expert may be scaled by a number for each token.
  ValueId beside_experts(const Linear& down, ValueId normed) {
    const bool is_shared = down.role == LinearRole::SharedDown;
    const ValueId out =
        layer_.mlp(is_shared ? "SHARED_" : "DENSE_", down.in * down.copies, false, normed);
    if (!is_shared || !find(LinearRole::SharedGate)) return out;
    return layer_.gated("SCALED_SHARED", out,
                        layer_.weight_gemm("SHARED_SCALE", 1, 1, view_.hidden, normed));
  }

  void store_rest() {
    double rest = form_.vectors;
    Kernel* first = nullptr;
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) {
      Kernel& kernel = graph_.kernel(k);
      rest -= number(kernel.parameters);
      if (!first && kernel.has_weight()) first = &kernel;
    }
    first->parameters += static_cast<std::int64_t>(rest);
  }

  ValueGraph graph_;
  const LayerForm& form_;
  Transformer view_;
  TransformerPass pass_;
  PassKind kind_;
  LayerWriter layer_;
};

}  // namespace

std::int64_t period_of(const MixedLayers& mixed) {
  const std::vector<std::uint16_t>& layers = mixed.layers;
  std::size_t period = 1;
  for (; period < layers.size(); ++period) {
    if (layers.size() % period != 0) continue;
    if (std::equal(layers.begin() + static_cast<std::ptrdiff_t>(period), layers.end(),
                   layers.begin())) {
      break;
    }
  }
  return static_cast<std::int64_t>(period);
}

LayerListGraph layer_list_graph(const Transformer& model, const TransformerPass& pass,
                                PassKind kind, std::int64_t layers) {
  const MixedLayers& mixed = *model.mixed;
  LayerListGraph result;
  result.why = missing_part(mixed);
  if (!result.why.empty()) return result;
  const std::int64_t period = period_of(mixed);
  if (layers == 0 && period > 1 && period == model.layers) {
    result.why = fmt::format(
        "a list that never begins again; 'repeat_layers: {}' makes one graph of it", period);
    return result;
  }
  result.layers = layers > 0 ? layers : period;
  std::vector<std::optional<DataflowGraph>> of_form(mixed.forms.size());
  std::vector<const DataflowGraph*> graphs;
  for (std::int64_t i = 0; i < result.layers; ++i) {
    const std::size_t form = mixed.layers[static_cast<std::size_t>(i)];
    if (!of_form[form]) {
      of_form[form] = FormWriter(model, mixed.forms[form], pass, kind).write();
    }
    graphs.push_back(&*of_form[form]);
  }
  result.graph = unrolled_layers(graphs);
  return result;
}

Bytes kept_of_sequence(const MixedLayers& mixed, std::int64_t context, Bytes word) {
  Bytes sum{};
  for (std::size_t i = 0; i < mixed.forms.size(); ++i) {
    const LayerForm& form = mixed.forms[i];
    const std::int64_t tokens = form.seen() > 0 ? std::min(form.seen(), context) : context;
    sum += number(mixed.before.back()[i]) *
           (word * (form.cached(1.0) * number(tokens) + form.conv_state) + kStateWord * form.state);
  }
  return sum;
}

}  // namespace dfsearch
