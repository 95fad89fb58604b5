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
  /// From 2^least to 2^most, every size as likely.
  double size(int least, int most);

 private:
  std::mt19937_64 random_;
};

/// A number of base units as text: "12 GB/s" is quantity(12e9, "B/s").
std::string quantity(double amount, const char* unit);
/// The number of such a text.
double amount(const Json& text);

/// The value at `key`, or something else if it is not there.
template <class Value>
Value value_or(const Json& map, const char* key, Value otherwise) {
  return map.contains(key) ? map.at(key).get<Value>() : otherwise;
}

/// A question for a mapping.
Json random_mapping_config(std::uint64_t seed);
/// A question for a plan of training steps.
Json random_plan_config(std::uint64_t seed);

}  // namespace dfsearch::test
