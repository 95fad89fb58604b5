#pragma once

// A training step of a language model of LSTM layers on a chip alone (docs/technology.md, section
// 4), as Ardalani, Pal and Gupta time it ("DeepFlow", ACM TODAES 2024, figure 8).

#include <cstdint>
#include <optional>

#include "base/units.hpp"
#include "technology/chip.hpp"

namespace dfsearch {

/// An embedding, `layers` of cells with the width `hidden`, and a softmax over the vocabulary, for
/// `batch` samples of `steps` tokens.  Each is at least 1.
struct LstmModel {
  std::int64_t batch = 1, hidden = 1, vocabulary = 1, layers = 1, steps = 1;
};

[[nodiscard]] double parameters_of(const LstmModel& model);

struct LstmTime {
  Seconds forward{}, backward{}, embedding{};

  [[nodiscard]] Seconds total() const { return forward + backward + embedding; }
};

/// The time of a training step if every kernel is a launch; the chip has a memory.  `folded`: the
/// product of the gates with the layer below, and the softmax, are computed for all steps at once,
/// since they do not wait for the step before.
LstmTime lstm_time(const Technology& technology, const Chip& chip, const LstmModel& model,
                   Bytes word, Seconds launch_overhead, bool folded);

/// Times of the public code of DeepFlow: the cell and the softmax of one step in each direction,
/// the embedding, the updates of the weights of both, and the times of all steps together.
struct PublishedLstmTime {
  Seconds cell_forward{}, cell_backward{}, softmax_forward{}, softmax_backward{};
  Seconds embedding_forward{}, embedding_backward{};
  Seconds update_cells{}, update_softmax{};
  Seconds body{};  ///< without the updates
  Seconds total{};
};

/// Nothing if published_gemm_time returns nothing.
std::optional<PublishedLstmTime> published_lstm_time(const Technology& technology, const Chip& chip,
                                                     const LstmModel& model, Bytes word,
                                                     Seconds launch_overhead);

}  // namespace dfsearch
