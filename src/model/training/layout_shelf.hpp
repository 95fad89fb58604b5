#pragma once
// The layouts of the parts of a model; each is computed once.

#include <compare>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "model/training/block.hpp"
#include "model/training/layouts.hpp"
#include "model/training/profile.hpp"

namespace dfsearch::training {

/// Any thread may use a shelf.  Refers to the task and the blocks.
class LayoutShelf {
 public:
  LayoutShelf(const Task& task, const Blocks& blocks);

  /// All layouts among the tensor ranks that a plan may have: least_sent and least_kept, then the
  /// front.  Throws Stopped.
  std::vector<TensorLayout> tensor_layouts(const Degrees& degrees, const Deadline& deadline = {});
  /// The layouts of a part that the model has, for one of `tensor_layouts`.  They live as long as
  /// the shelf.  Throws Stopped.
  BlockLayouts layouts(Part part, const Degrees& degrees, TensorLayout order,
                       const Deadline& deadline = {});
  /// The profiles of all parts; empty for parts that the model does not have.  Throws Stopped.
  Profiles profiles(const Degrees& degrees, TensorLayout order, std::int64_t micro_batch,
                    const Deadline& deadline = {});
  /// The more frequent kind of layers, whose front plans use.
  [[nodiscard]] Part most_layers() const { return most_layers_; }

 private:
  using Front = std::vector<AxisLayout>;
  /// A value that the first thread to need it computes; other threads wait.
  template <class Value>
  struct Once {
    std::mutex making;
    std::optional<Value> value;  // written once, guarded by `making`
  };
  /// The layouts, if given, of the value between layers, and of its gradient.
  struct Handed {
    std::optional<ValueLayout> input;
    std::optional<ValueLayout> gradient;
    friend auto operator<=>(const Handed&, const Handed&) = default;
  };
  struct Key {
    Part part;
    Role role;
    std::int64_t chips;
    TensorLayout order;   ///< LeastSent or LeastKept
    std::int64_t tensor;  ///< on the context axis the chips of the tensor axis, else 1
    Handed handed;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  [[nodiscard]] AxisRules rules_of(const Key& key) const;
  [[nodiscard]] Handed handed_by(Part part, const AxisLayout& layout) const;
  const AxisLayout* find(const Key& key, const Deadline& deadline);
  const Front& front(std::int64_t chips, const Deadline& deadline);
  /// The layout of the key.  Values between layers have the layouts that the layers that come first
  /// choose for them.  `key.handed` must be empty.
  const AxisLayout* beside_layers(Key key, const Deadline& deadline);
  const AxisLayout* on_front(Part part, std::int64_t chips, int place, const Deadline& deadline);

  const Task& task_;
  const Blocks& blocks_;
  const Part first_layers_, most_layers_, expert_layers_;
  std::mutex mutex_;
  // The maps are guarded by mutex_; their nodes stay where they are.
  std::map<Key, Once<AxisLayout>> found_;
  std::map<std::int64_t, Once<Front>> fronts_;
};

/// Values by the names of the kernels that compute them, in the order of the graph.
struct LayoutSummary {
  std::vector<std::string> whole;  ///< kept whole by every chip for the backward pass
  std::vector<std::string> again;  ///< kept split, and exchanged again for the backward pass
};

/// The summary of `layout`, which belongs to the block.
LayoutSummary summary_of(const Block& block, const AxisLayout& layout);

}  // namespace dfsearch::training
