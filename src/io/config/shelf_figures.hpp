#pragma once
// The main figures of each file of the shelf, for lists.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/workload.hpp"
#include "io/config/shelf.hpp"
#include "model/machine/machine.hpp"

namespace dfsearch {

/// A machine; one of Calculon's model has neither SRAM nor topologies.
struct SystemFigures {
  std::optional<std::int64_t> chips;  ///< nothing: left to the config
  Machine machine;
};

struct WorkloadFigures {
  WorkloadKind kind = WorkloadKind::Graph;
  std::int64_t layers = 1;
  std::int64_t global_batch = 1;
  Flops flop{};  ///< of a step
  std::optional<ModelCounts> counts;
};

/// One axis of a study, or several that are zipped, and the number of their choices.
struct DimensionOfStudy {
  std::vector<std::string> axes;
  std::size_t choices = 0;
};

/// The dimensions of a study, in the order of its file; several bases form the first dimension.
struct StudyFigures {
  std::vector<DimensionOfStudy> dimensions;
};

/// The figures of a file, whose kind is in the name of the function; throws InputError if the file
/// has a mistake.  For a study only the axes are checked, as the files of its bases need not exist.
SystemFigures system_figures(const ShelfFile& file);
WorkloadFigures workload_figures(const ShelfFile& file);
StudyFigures study_figures(const ShelfFile& file);

}  // namespace dfsearch
