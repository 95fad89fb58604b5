#pragma once
// The layouts of the parts of a model, each found once.

#include <compare>
#include <map>
#include <memory>
#include <mutex>

#include "base/deadline.hpp"
#include "model/training/block.hpp"
#include "model/training/profile.hpp"

namespace dfsearch::training {

/// Any thread may ask.  Refers to the blocks.
class LayoutShelf {
 public:
  explicit LayoutShelf(const Task& task, const Blocks& blocks) : task_(task), blocks_(blocks) {}

  /// The layouts of a part that the model has.  They live as long as the shelf.  Throws Stopped.
  BlockLayouts layouts(Part part, const Degrees& degrees, TensorLayout order,
                       const Deadline& deadline = {});
  /// All parts' profiles; those of parts that the model has not are empty.  Throws Stopped.
  Profiles profiles(const Degrees& degrees, TensorLayout order, std::int64_t micro_batch,
                    const Deadline& deadline = {});

 private:
  struct Key {
    Part part;
    Role role;
    std::int64_t chips;
    TensorLayout order;
    std::int64_t tensor;  ///< what the context axis finds divided
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  const AxisLayout* find(const Key& key, const Deadline& deadline);

  const Task& task_;
  const Blocks& blocks_;
  std::mutex mutex_;
  std::map<Key, std::unique_ptr<const AxisLayout>> found_;  // guarded by mutex_
};

}  // namespace dfsearch::training
