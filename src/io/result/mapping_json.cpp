#include "io/result/mapping_json.hpp"

#include <utility>

#include "engine/names.hpp"
#include "graph/names.hpp"
#include "model/machine/network_choices.hpp"
#include "model/names.hpp"

namespace dfsearch {

Json parallelism_json(const Mapping& mapping) {
  const Parallelism degrees = parallelism_of(mapping.network);
  return {{"tensor", degrees.tensor}, {"pipeline", degrees.pipeline}, {"data", degrees.data}};
}

Json network_json(const Mapping& mapping) {
  return json_list(mapping.network, [](const Mapping::Dimension& dimension) -> Json {
    return {{"degree", dimension.degree}, {"strategy", name_of(dimension.strategy)}};
  });
}

}  // namespace dfsearch
