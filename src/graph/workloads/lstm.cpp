// The graph of a language model of LSTM layers, with its backward pass.
//
// An embedding, layers of cells and a product with the vocabulary.  The four gates of a cell are
// the sum W x + U h: x is the output of the layer below at this step, h the output of the cell at
// the step before.  So W x may be one GEMM over all steps (folded), but U h is a GEMM for each
// step, for which the cell waits: the kernels of U h and of the cell have steps, and h goes to the
// next step.  The backward pass is alike, from the last step to the first.  The gradient of a
// weight is one GEMM over all steps, after the last step, and is then all-reduced (Hochreiter and
// Schmidhuber, 1997; Ardalani et al., "DeepFlow", figure 8).
//
// A cell hands its four gates to its backward kernel, and h, which is as long as one gate, to all
// other kernels.  It also reads and writes its state, and so does its backward kernel.  Kernels and
// tensors follow docs/model.md, section 9.

#include "graph/workloads/generators.hpp"

#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kGates = 4;

class LstmBuilder {
 public:
  LstmBuilder(const LstmShape& shape, Bytes word)
      : shape_(shape),
        gates_(kGates * shape.hidden),
        columns_(shape.steps * shape.local_batch),
        state_(word * (static_cast<double>(shape.hidden) * static_cast<double>(columns_))) {}

  DataflowGraph run() && {
    add_forward();
    graph_.begin_backward();
    add_backward();
    add_updates();
    return std::move(graph_).build();
  }

 private:
  /// An output that several kernels read: the number of its kernel, and the number of its rows, 0
  /// for all.
  struct Value {
    std::int64_t kernel = 0;
    std::int64_t rows = 0;
  };
  struct Layer {
    std::int64_t input = 0, state = 0, cell = 0;
    Value below;
    std::int64_t cell_bwd = 0;
  };

  /// Returns the number of the kernel that was added last.  The kernel does not wait for earlier
  /// steps.
  std::int64_t free_of_steps(Kernel& kernel) {
    if (!shape_.folded) kernel.steps = shape_.steps;
    return graph_.size();
  }
  std::int64_t recurrent(Kernel& kernel) {
    kernel.steps = shape_.steps;
    return graph_.size();
  }
  void read(const Value& value, std::int64_t reader) {
    graph_.connect_value(value.kernel, reader, value.rows);
  }
  void hand_to_next_step(const Value& value, std::int64_t reader) {
    if (shape_.steps > 1) graph_.hand_to_next_step(value.kernel, reader, value.rows);
  }

  void add_forward() {
    const std::int64_t d = shape_.hidden;
    Kernel& embedding = graph_.elementwise("Embedding", 1, d, columns_);
    embedding.sharded_memory = state_;
    Value below{.kernel = free_of_steps(embedding)};
    for (std::int64_t i = 1; i <= shape_.layers; ++i) {
      const std::string number = std::to_string(i);
      Layer& layer = layers_.emplace_back();
      layer.below = below;
      layer.input = free_of_steps(graph_.weight_gemm("Input_" + number, 1, gates_, d, columns_));
      layer.state = recurrent(graph_.weight_gemm("State_" + number, 1, gates_, d, columns_));
      Kernel& cell = graph_.elementwise2("Cell_" + number, 1, gates_, columns_);
      cell.sharded_memory = 2.0 * state_;
      layer.cell = recurrent(cell);
      read(below, layer.input);
      graph_.connect(layer.input, layer.cell);
      graph_.connect(layer.state, layer.cell);
      below = {.kernel = layer.cell, .rows = d};
      hand_to_next_step(below, layer.state);
    }
    top_ = below;
    output_ = free_of_steps(graph_.weight_gemm("Output", 1, shape_.vocabulary, d, columns_));
    Kernel& softmax = graph_.elementwise("Softmax", 1, shape_.vocabulary, columns_);
    softmax.coupled = 2;
    softmax_ = free_of_steps(softmax);
    read(top_, output_);
    graph_.connect(output_, softmax_);
  }

  void add_backward() {
    const std::int64_t d = shape_.hidden;
    softmax_bwd_ = free_of_steps(
        backward_of(softmax_, graph_.elementwise("Softmax_bwd", 1, shape_.vocabulary, columns_)));
    graph_.connect(softmax_, softmax_bwd_);
    std::int64_t above =
        free_of_steps(graph_.weight_gemm("Output_bwd", 1, d, shape_.vocabulary, columns_));
    graph_.share_weight("Output", "Output_bwd");
    read({softmax_bwd_}, above);
    for (std::int64_t i = shape_.layers; i >= 1; --i) {
      const std::string number = std::to_string(i);
      Layer& layer = layers_[static_cast<std::size_t>(i - 1)];
      Kernel& cell = graph_.elementwise2("Cell_" + number + "_bwd", 1, gates_, columns_);
      cell.sharded_memory = 2.0 * state_;
      layer.cell_bwd = recurrent(backward_of(layer.cell, cell));
      graph_.connect(above, layer.cell_bwd);
      read({layer.cell}, layer.cell_bwd);
      const std::int64_t state =
          recurrent(graph_.weight_gemm("State_" + number + "_bwd", 1, d, gates_, columns_));
      graph_.share_weight("State_" + number, "State_" + number + "_bwd");
      read({layer.cell_bwd}, state);
      hand_to_next_step({state}, layer.cell_bwd);
      above = free_of_steps(graph_.weight_gemm("Input_" + number + "_bwd", 1, d, gates_, columns_));
      graph_.share_weight("Input_" + number, "Input_" + number + "_bwd");
      read({layer.cell_bwd}, above);
    }
    Kernel& embedding = backward_of(1, graph_.elementwise("Embedding_bwd", 1, d, columns_));
    embedding.sharded_memory = state_;
    embedding.communication = Communication{.type = CommunicationType::GradientAllReduce};
    graph_.connect(above, free_of_steps(embedding));
  }

  void add_update(const std::string& of, std::int64_t rows, std::int64_t gradient,
                  const std::vector<Value>& inputs) {
    const auto columns = static_cast<std::int64_t>(inputs.size()) * shape_.hidden;
    graph_.weight_update(of + "_update", rows, columns_, columns);
    const std::int64_t update = graph_.size();
    graph_.share_weight(of, of + "_update");
    read({gradient}, update);
    for (const Value& input : inputs) read(input, update);
  }

  /// Adds the updates of the weights: one kernel for W and U of a layer.
  void add_updates() {
    add_update("Output", shape_.vocabulary, softmax_bwd_, {top_});
    for (std::int64_t i = shape_.layers; i >= 1; --i) {
      const Layer& layer = layers_[static_cast<std::size_t>(i - 1)];
      add_update("Input_" + std::to_string(i), gates_, layer.cell_bwd,
                 {layer.below, {layer.cell, shape_.hidden}});
    }
  }

  Kernel& backward_of(std::int64_t forward, Kernel& kernel) {
    kernel.backward_of = KernelId(static_cast<std::size_t>(forward - 1));
    return kernel;
  }

  const LstmShape& shape_;
  const std::int64_t gates_;
  const std::int64_t columns_;
  const Bytes state_;  // of the state of a cell, or of its output, over all steps
  GraphBuilder graph_;
  std::vector<Layer> layers_;
  Value top_;
  std::int64_t output_ = 0, softmax_ = 0, softmax_bwd_ = 0;
};

}  // namespace

DataflowGraph lstm_graph(const LstmShape& shape, Bytes word) {
  return LstmBuilder(shape, word).run();
}

}  // namespace dfsearch
