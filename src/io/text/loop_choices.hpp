#pragma once
// Choices of a key for pairs of loops.

#include "graph/kernel.hpp"
#include "graph/loop_set.hpp"
#include "io/text/map_reader.hpp"
#include "schema/types.hpp"

namespace dfsearch {

/// Pairs in the order of their indices.
inline std::vector<Choice> loop_pair_choices() {
  std::vector<Choice> choices;
  for (const std::string& name : loop_pair_names()) {
    choices.push_back({name, static_cast<std::int64_t>(choices.size())});
  }
  return choices;
}

template <>
struct TypeOf<LoopPair> {
  static constexpr Type type{
      .form = Form::Choice,
      .put =
          [](void* member, std::int64_t value) {
            *static_cast<LoopPair*>(member) = LoopPair::at(static_cast<std::size_t>(value));
          },
      .get =
          [](const void* member) {
            return static_cast<std::int64_t>(static_cast<const LoopPair*>(member)->index());
          },
      .choices = &loop_pair_choices};
};

/// Choices for kernels that are sharded along this number of axes.
inline Choices<LoopPair> loop_choices(int tensor_axes) {
  Choices<LoopPair> choices;
  for (const Loop second : {Loop::None, Loop::Outer, Loop::M, Loop::K, Loop::N}) {
    if (second != Loop::None && tensor_axes == 1) break;
    for (const Loop first : {Loop::Outer, Loop::M, Loop::K, Loop::N, Loop::None}) {
      const LoopPair pair(first, second);
      choices.emplace_back(loop_pair_names()[pair.index()], pair);
    }
  }
  return choices;
}

}  // namespace dfsearch
