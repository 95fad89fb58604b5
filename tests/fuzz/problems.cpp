#include "fuzz/problems.hpp"

#include <memory>
#include <stdexcept>
#include <string>

#include "engine/solve.hpp"
#include "io/config/load_config.hpp"

namespace dfsearch::fuzz {
namespace {

std::unique_ptr<const Example> load(std::string_view name) {
  const std::string file = "tests/fuzz/problems/" + std::string(name) + ".yaml";
  Problem problem = load_config(file, {}).problem;
  SearchResult result = solve(problem, {});
  if (!result.mapping) throw std::runtime_error(file + ": expected a problem that has a mapping");
  return std::make_unique<Example>(
      Example{.problem = std::move(problem), .mapping = std::move(*result.mapping)});
}

std::size_t offset(char letter) {
  return static_cast<std::uint8_t>(static_cast<unsigned char>(letter) - 'a');
}

}  // namespace

const Example& example(std::size_t number) {
  static std::array<std::unique_ptr<const Example>, kProblems.size()> examples;
  auto& place = examples.at(number);
  if (!place) place = load(kProblems.at(number));
  return *place;
}

const Example& example_for(char first_byte) {
  return example(offset(first_byte) % kProblems.size());
}

std::int64_t answers_for(char first_byte) {
  return offset(first_byte) / kProblems.size() % 2 == 0 ? 1 : 3;
}

}  // namespace dfsearch::fuzz
