// How libFuzzer changes contents of checkpoints.  Bytes changed at random rarely are
// CBOR still, since strings and lists say how long they are; so most changes are made
// to a value of the decoded map.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "fuzz/checkpoint_input.hpp"
#include "fuzz/fuzz_target.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Map = nlohmann::json;
using Random = std::minstd_rand;

void collect(Map& value, std::vector<Map*>& values) {
  values.push_back(&value);
  if (!value.is_structured()) return;
  for (Map& part : value) collect(part, values);
}

void change_binary(Map& value) {
  auto& bytes = value.get_binary();
  const std::size_t size = bytes.size();
  bytes.resize(size + 64);
  bytes.resize(LLVMFuzzerMutate(bytes.data(), size, bytes.size()));
}

Map other_number(const Map& value, Random& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::array<double, 8> kReals = {0.0,
                                            -0.0,
                                            -1.0,
                                            1e-300,
                                            1e30,
                                            kInfinity,
                                            std::numeric_limits<double>::max(),
                                            std::numeric_limits<double>::quiet_NaN()};
  constexpr std::array<std::int64_t, 8> kIntegers = {0,
                                                     1,
                                                     -1,
                                                     2,
                                                     1 << 30,
                                                     std::int64_t{1} << 32,
                                                     std::numeric_limits<std::int64_t>::min(),
                                                     std::numeric_limits<std::int64_t>::max()};
  if (value.is_number_float() || random() % 8 == 0) {
    if (random() % 2 == 0) return kReals[random() % kReals.size()];
    return (value.is_number() ? value.get<double>() : 1.0) *
           std::ldexp(1.0, static_cast<int>(random() % 9) - 4);
  }
  if (random() % 2 == 0) return kIntegers[random() % kIntegers.size()];
  const auto bits = value.is_number() ? value.get<std::uint64_t>() : 0;
  return random() % 2 == 0 ? bits + 1 : bits - 1;
}

void change_list(Map& list, Random& random) {
  if (list.empty() || random() % 4 == 0) {
    list.push_back(list.empty() ? Map(0) : list[random() % list.size()]);
  } else if (random() % 2 == 0) {
    list.erase(random() % list.size());
  } else {
    std::swap(list[random() % list.size()], list[random() % list.size()]);
  }
}

void change(Map& value, Random& random) {
  if (random() % 32 == 0) {
    value = Map(nullptr);
  } else if (value.is_binary()) {
    change_binary(value);
  } else if (value.is_boolean()) {
    value = !value.get<bool>();
  } else if (value.is_array()) {
    change_list(value, random);
  } else if (value.is_object() && random() % 4 == 0 && !value.empty()) {
    value.erase(std::next(value.begin(), static_cast<std::ptrdiff_t>(random() % value.size())));
  } else if (value.is_number() || random() % 2 == 0) {
    value = other_number(value, random);
  } else if (value.is_string()) {
    value = value.get<std::string>() + "x";
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned int seed) {
  Random random(seed);
  Map map;
  if (size > 0) map = dfsearch::fuzz::map_of(dfsearch::fuzz::text_of(data + 1, size - 1));
  if (!map.is_object() || random() % 16 == 0) return LLVMFuzzerMutate(data, size, most);
  std::vector<Map*> values;
  collect(map, values);
  // The packed nodes are where most of a search is.
  std::vector<Map*> packed;
  std::copy_if(values.begin(), values.end(), std::back_inserter(packed),
               [](const Map* value) { return value->is_binary(); });
  const std::vector<Map*>& from = packed.empty() || random() % 2 == 0 ? values : packed;
  change(*from[random() % from.size()], random);
  const std::vector<std::uint8_t> changed = Map::to_cbor(map);
  if (changed.size() + 1 > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data + 1, changed.data(), changed.size());
  return changed.size() + 1;
}
