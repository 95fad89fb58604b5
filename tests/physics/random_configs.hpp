#pragma once
// Small random configs of every kind of workload, as values that the tests change and print.

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace dfsearch::test {

/// A config as docs/formats.md describes it; JSON is YAML as well.  Quantities are in base units.
using Json = nlohmann::ordered_json;

/// Random numbers that are the same on every machine.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15U + 1) {}

  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return *std::next(values.begin(), pick(0, static_cast<std::int64_t>(values.size()) - 1));
  }
  /// From 2^least to 2^most, with all sizes equally likely.
  double size(int least, int most);

 private:
  std::mt19937_64 random_;
};

/// A number of base units as text: "12 GB/s" is quantity(12e9, "B/s").
std::string quantity(double amount, const char* unit);

/// The value at `key`, or something else if it is not there.
template <class Value>
Value value_or(const Json& map, const char* key, Value otherwise) {
  return map.contains(key) ? map.at(key).get<Value>() : otherwise;
}

// Parts of configs.

/// A machine; `use` is what all dimensions of its network serve, if anything.
Json random_system(Draws& draws, std::int64_t copies, std::int64_t most_chips, const char* use);
Json random_llm(Draws& draws, const char* kind);
Json random_graph(Draws& draws);

/// A question for a mapping.
Json random_mapping_config(std::uint64_t seed);
/// A question for a plan of training steps.
Json random_plan_config(std::uint64_t seed);
/// For a plan with the software and a measured chip of the shelf, and states of any size.
Json random_states_config(std::uint64_t seed);

// Configs of other kinds (random_questions.cpp).

/// For a plan with the kernels, links and software of a measured chip.
Json random_stack_config(std::uint64_t seed);
/// For a plan with shares of the peak by the work of a kernel, or with fused kernels.
Json random_rated_plan_config(std::uint64_t seed);
/// For an execution of Calculon's model.
Json random_execution_config(std::uint64_t seed);
/// For a deployment, a front of them or a fleet.
Json random_serving_config(std::uint64_t seed);
/// For a mapping onto chips from budgets, whose split may be open.
Json random_budget_config(std::uint64_t seed);
/// For stages that divide a graph or the layers of an LSTM, or for a mapping of the latter.
Json random_stages_config(std::uint64_t seed);
/// For all points of a study.
Json random_study_config(std::uint64_t seed);
/// A config of any kind above; every kind comes in its turn.
Json random_question(std::uint64_t seed);

}  // namespace dfsearch::test
