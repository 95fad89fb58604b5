#include "model/calculon/execution.hpp"

#include <limits>
#include <type_traits>

namespace dfsearch::calculon {
namespace {

/// Domains name "yes" before "no".
std::int64_t place_of(bool yes) { return yes ? 0 : 1; }

}  // namespace

std::vector<std::int64_t> decisions_of(const Execution& e) {
  return {e.tensor,
          e.pipeline,
          e.data,
          e.global_batch,
          e.micro_batch,
          e.chunks,
          static_cast<std::int64_t>(e.recompute),
          place_of(e.sharding),
          static_cast<std::int64_t>(e.communication),
          place_of(e.redo),
          static_cast<std::int64_t>(e.overlap),
          place_of(e.fused),
          place_of(e.offload.weights),
          place_of(e.offload.activations),
          place_of(e.offload.optimizer),
          place_of(e.data_overlap),
          static_cast<std::int64_t>(e.networks[0]),
          static_cast<std::int64_t>(e.networks[1]),
          static_cast<std::int64_t>(e.networks[2])};
}

std::optional<Execution> execution_of(const std::vector<std::int64_t>& decisions) {
  Execution e;
  std::size_t next = 0;
  bool is_right = true;
  const auto number = [&](std::int64_t& value) {
    if (next < decisions.size()) value = decisions[next++];
  };
  const auto place = [&](auto& value, std::int64_t most) {
    if (next == decisions.size()) return;
    is_right = is_right && decisions[next] >= 0 && decisions[next] <= most;
    value = static_cast<std::remove_reference_t<decltype(value)>>(decisions[next++]);
  };
  const auto flag = [&](bool& value) {
    bool is_no = !value;
    place(is_no, 1);
    value = !is_no;
  };
  for (std::int64_t* value :
       {&e.tensor, &e.pipeline, &e.data, &e.global_batch, &e.micro_batch, &e.chunks}) {
    number(*value);
  }
  place(e.recompute, static_cast<std::int64_t>(Recompute::None));
  flag(e.sharding);
  place(e.communication, static_cast<std::int64_t>(Communication::ReduceScatter));
  flag(e.redo);
  place(e.overlap, static_cast<std::int64_t>(Overlap::Pipe));
  flag(e.fused);
  flag(e.offload.weights);
  flag(e.offload.activations);
  flag(e.offload.optimizer);
  flag(e.data_overlap);
  for (std::size_t& network : e.networks) {
    place(network, std::numeric_limits<std::int64_t>::max());
  }
  if (!is_right || next != decisions.size()) return std::nullopt;
  return e;
}

}  // namespace dfsearch::calculon
