#pragma once
// A language model of LSTM layers and what goes through it in a training step.

#include <cstdint>

namespace dfsearch {

/// An embedding, `layers` of cells with the width `hidden`, and a softmax over the vocabulary,
/// through all of which `batch` samples go for so many steps.  Each is at least 1.
struct LstmModel {
  std::int64_t batch = 1, hidden = 1, vocabulary = 1, layers = 1, steps = 1;
};

}  // namespace dfsearch
