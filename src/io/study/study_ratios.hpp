#pragma once
// Ratios of a study: the figures of one group of its points over the figures of another group.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/study/study_file.hpp"
#include "study/point_answer.hpp"

namespace dfsearch {

/// The value of a ratio.
struct RatioResult {
  std::string name;
  std::int64_t of = 0;  ///< points of either group
  std::int64_t over = 0;
  std::map<study::Figure, double> values;  ///< figures that all points have
  std::map<study::Figure, std::string> printed;

  /// Whether the value has the published digits of a figure; nothing if none are published.
  [[nodiscard]] std::optional<bool> agrees(study::Figure figure) const;
};

/// All ratios of a study, over the answers that are known.
std::vector<RatioResult> ratios_of(const Study& study, const study::Grid& grid,
                                   const study::PointAnswers& answers);

/// A table for people.
std::string ratios_text(const std::vector<RatioResult>& ratios);

}  // namespace dfsearch
