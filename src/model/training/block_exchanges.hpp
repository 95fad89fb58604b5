#pragma once
// What the chips of a block exchange for one micro-batch (docs/training.md, section 2).

#include <cstdint>
#include <vector>

#include "model/training/profile.hpp"

namespace dfsearch::training {

/// How the values of a block are divided among the chips of the axes.
struct ValueShares {
  std::int64_t tensor = 1, context = 1, expert = 1;
  double samples = 1.0;  ///< of a micro-batch

  /// Elements of a value on one chip, in these layouts; the expert axis divides samples.
  [[nodiscard]] double elements(const Block::Value& value, ValueLayout on_tensor,
                                ValueLayout on_context) const;
};

/// Each conversion of each axis with the length that its value has then on the others.  A value
/// that is converted on several axes takes the way on which least is sent; of equal ones the one
/// that sends least among context and expert ranks, whose groups lie further apart.
std::vector<BlockExchange> exchanges_of(const Block& block, const BlockLayouts& layouts,
                                        const ValueShares& shares, Bytes word);

}  // namespace dfsearch::training
