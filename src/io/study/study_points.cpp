#include "io/study/study_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <variant>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "io/result/result_json.hpp"
#include "io/study/point_facts.hpp"
#include "io/study/result_row.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"
#include "model/kernel_rates.hpp"
#include "model/machine/network_choices.hpp"
#include "model/machine/price_power.hpp"

namespace dfsearch {
namespace {

using study::Growth;
using study::PointFacts;
using study::PointIndex;

/// Advice on how a config gets a figure of dollars or watts.
std::string source_of(study::Figure figure) {
  const std::string_view unit = study::unit_of(figure);
  if (unit.ends_with('$')) return ", or a config with 'price: {accelerator: DOLLARS}'";
  return unit.ends_with('W') ? ", or a config with 'power: {accelerator: WATTS}'" : "";
}

/// Node limit of the first search of a point: most points are solved soon, others take long.
constexpr std::int64_t kShortNodes = 512;
constexpr std::int64_t kFewPoints = 2'000;

/// Lower bounds on the price and power of all network choices.
PointFacts facts_of(const Problem& problem) {
  PointFacts facts;
  const Machine& system = problem.system;
  facts.peak = peak_of_products(problem).in_base_units() * static_cast<double>(system.chips);
  facts.flop = problem.workload.flops().in_base_units();
  const EnergyRates& energy = system.energy;
  const double chips = static_cast<double>(system.chips);
  facts.idle_power = ((energy.idle + energy.host) * chips).in_base_units();
  JoulesPerFlop least = JoulesPerFlop::infinity();
  for (const Kernel& kernel : problem.workload.graph.kernels()) {
    least = std::min(least, energy.of(math_of(problem, kernel)));
  }
  facts.work = *facts.flop * least.in_base_units();
  const bool given = std::all_of(system.network.begin(), system.network.end(),
                                 [](const NetworkDimension& d) { return d.degree.has_value(); });
  std::vector<NetworkChoice> networks;
  if (given) {
    NetworkChoice network;
    for (const NetworkDimension& dimension : system.network) {
      network.push_back({.degree = *dimension.degree});
    }
    networks.push_back(std::move(network));
  } else {
    networks = network_choices(problem);
  }
  if (networks.empty()) return facts;
  facts.price = facts.power = std::numeric_limits<double>::infinity();
  for (const NetworkChoice& network : networks) {
    facts.price = std::min(facts.price, system_price(problem, network).in_base_units());
    facts.power = std::min(facts.power, system_power(problem, network).in_base_units());
  }
  return facts;
}

}  // namespace

StudyPoints::StudyPoints(const Study& study, const PointSearch& search)
    : study_(study), search_(search), grid_(grid_of(study)) {}

std::string StudyPoints::name(PointIndex point) const {
  std::string name;
  for (const auto& [axis, label] : grid_.labels(point)) {
    name += fmt::format("{}{}={}", name.empty() ? "" : ", ", axis, label);
  }
  return name;
}

PointIndex StudyPoints::find(const std::string& text) const {
  PointIndex index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error == std::errc() && end == text.data() + text.size()) {
    if (index >= 0 && index < grid_.count()) return index;
    throw InputError(
        fmt::format("point: expected a number from 0 to {} or a label for each axis, "
                    "got {}",
                    grid_.count() - 1, in_quotes(text)));
  }
  study::Choices choices(grid_.dimensions(), -1);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::string part = text.substr(at, comma - at);
    part.erase(0,
               part.find_first_not_of(' ') == std::string::npos ? 0 : part.find_first_not_of(' '));
    at = comma + 1;
    const std::size_t equals = part.find('=');
    const auto axis =
        std::find_if(study_.axes.begin(), study_.axes.end(),
                     [&](const StudyAxis& other) { return other.name == part.substr(0, equals); });
    const std::string label = equals == std::string::npos ? "" : part.substr(equals + 1);
    const auto place = axis == study_.axes.end()
                           ? std::vector<std::string>::const_iterator()
                           : std::find(axis->labels.begin(), axis->labels.end(), label);
    if (axis == study_.axes.end() || place == axis->labels.end()) {
      throw InputError("point: expected AXIS=LABEL as in '" + name(0) + "', got " +
                       in_quotes(part));
    }
    choices[axis->dimension] = static_cast<std::int32_t>(place - axis->labels.begin());
  }
  for (const StudyAxis& axis : study_.axes) {
    if (choices[axis.dimension] >= 0) continue;
    throw InputError("point: a label of the axis " + in_quotes(axis.name) + " is missing in " +
                     in_quotes(text));
  }
  return grid_.index(choices);
}

const StudyBase& StudyPoints::base_of(const study::Choices& choices) const {
  // If there are several bases, the first axis chooses among them.
  return study_.bases[study_.has_base_axis() ? static_cast<std::size_t>(choices[0]) : 0];
}

std::vector<Override> StudyPoints::changes_of(const study::Choices& choices) const {
  std::vector<Override> changes = base_of(choices).changes;
  for (const StudyAxis& axis : study_.axes) {
    const auto& of = axis.changes[static_cast<std::size_t>(choices[axis.dimension])];
    changes.insert(changes.end(), of.begin(), of.end());
  }
  return changes;
}

AnyConfig StudyPoints::config(PointIndex point) const {
  const study::Choices choices = grid_.choices(point);
  try {
    return base_of(choices).config.with(changes_of(choices));
  } catch (const InputError& wrong) {
    std::vector<std::string> messages;
    for (const std::string& message : wrong.messages()) {
      messages.push_back(message + " (point " + name(point) + ")");
    }
    throw InputError(messages);
  }
}

std::string StudyPoints::config_text(PointIndex point) const {
  const study::Choices choices = grid_.choices(point);
  return yaml_text(base_of(choices).config.portable_tree_with(changes_of(choices)));
}

std::vector<PointIndex> StudyPoints::samples() const {
  std::vector<PointIndex> samples;
  if (grid_.count() <= kFewPoints) {
    for (PointIndex i = 0; i < grid_.count(); ++i) samples.push_back(i);
  } else {
    std::set<PointIndex> some;
    study::Choices first(grid_.dimensions(), 0), last(first);
    for (std::size_t d = 0; d < last.size(); ++d) last[d] = grid_.size(d) - 1;
    for (const study::Choices& others : {first, last}) {
      for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
        study::Choices choices = others;
        for (choices[d] = 0; choices[d] < grid_.size(d); ++choices[d]) {
          some.insert(grid_.index(choices));
        }
      }
    }
    samples.assign(some.begin(), some.end());
  }
  std::erase_if(samples, [&](PointIndex i) { return grid_.is_excluded(grid_.choices(i)); });
  return samples;
}

/// Checks that the point has the figures of the goal: without them it would be on no front.
void StudyPoints::check_figures(PointIndex point, const AnyConfig& config,
                                std::map<study::Figure, std::string>& lacking) const {
  if (lacking.size() == study_.figure_places.size()) return;
  const std::vector<study::Figure> figures = figures_of(config);
  for (const auto& [figure, place] : study_.figure_places) {
    if (std::find(figures.begin(), figures.end(), figure) != figures.end()) continue;
    const auto names = names_of(figures, [](study::Figure of) { return study::name_of(of); });
    lacking.try_emplace(figure, fmt::format("{}: {}: a point has none ({}), expected {}{}",
                                            place.to_text(), study::name_of(figure), name(point),
                                            joined_choices(names), source_of(figure)));
  }
}

void StudyPoints::check() const {
  constexpr std::size_t kMostMessages = 20;
  std::vector<std::string> messages;
  std::map<study::Figure, std::string> lacking;
  for (const PointIndex point : samples()) {
    try {
      check_figures(point, config(point), lacking);
    } catch (const InputError& wrong) {
      messages.insert(messages.end(), wrong.messages().begin(), wrong.messages().end());
      if (messages.size() >= kMostMessages) break;
    }
    search_.deadline.check();
  }
  for (const auto& [figure, message] : lacking) messages.push_back(message);
  if (!messages.empty()) throw InputError(messages);
}

std::uint64_t StudyPoints::fingerprint() const {
  Hash hash;
  const auto add = [&hash](std::string_view text) { hash.put(text); };
  for (const StudyAxis& axis : study_.axes) {
    add(axis.name + "\n");
    for (const std::string& label : axis.labels) add(label + "\n");
  }
  for (const study::Selection& exclusion : study_.excluded) {
    for (const auto& [dimension, places] : exclusion.places) {
      add(fmt::format("{}: {}\n", dimension, fmt::join(places, " ")));
    }
    add("\n");
  }
  for (const PointIndex point : samples()) {
    search_.deadline.check();
    const study::Choices choices = grid_.choices(point);
    add(yaml_text(base_of(choices).config.tree_with(changes_of(choices))));
  }
  return hash.value();
}

Growth StudyPoints::growth_along(std::size_t dimension) const {
  if (!sets_quantities(study_, dimension)) return Growth::None;
  study::Choices choices(grid_.dimensions(), 0);
  bool ascends = true, descends = true;
  std::optional<Config> before;
  for (std::int32_t place = 0; place < grid_.size(dimension); ++place) {
    search_.deadline.check();
    choices[dimension] = place;
    AnyConfig any = config(grid_.index(choices));
    auto* config = std::get_if<Config>(&any);
    if (config == nullptr) return Growth::None;
    if (before) {
      ascends = ascends && is_no_less(*before, *config);
      descends = descends && is_no_less(*config, *before);
    } else if (!grows(*config)) {
      return Growth::None;
    }
    if (!ascends && !descends) return Growth::None;
    before = std::move(*config);
  }
  return ascends ? Growth::Ascending : Growth::Descending;
}

std::vector<Growth> StudyPoints::growth() const {
  std::vector<Growth> growth;
  for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
    try {
      growth.push_back(growth_along(d));
    } catch (const InputError&) {
      growth.push_back(Growth::None);  // an excluded combination has no config
    }
  }
  return growth;
}

PointFacts StudyPoints::facts(PointIndex point) const {
  try {
    const AnyConfig any = config(point);
    const auto* config = std::get_if<Config>(&any);
    if (config == nullptr) return {};
    if (config->design && !config->chip) return {};
    PointFacts facts = facts_of(config->problem);
    facts.grows = grows(*config);
    return facts;
  } catch (const std::exception&) {
    return {};  // nothing is known of a config that cannot be loaded
  }
}

Hint StudyPoints::hint_for(const AnyConfig& any, const study::PointEffort& effort) const {
  const auto* config = std::get_if<Config>(&any);
  // The mapping of the last point of a lane depends on timing, so a deterministic search has none.
  if (config == nullptr || search_.request.deterministic) return {};
  const std::lock_guard lock(mutex_);
  const auto found = last_.find(effort.lane);
  if (found == last_.end()) return {};
  const Mapping& mapping = found->second;
  const Problem& problem = config->problem;
  const bool fits = mapping.partition.size() == problem.workload.graph.kernel_count() &&
                    mapping.network.size() == problem.system.network.size();
  return fits ? Hint(mapping) : Hint();
}

Limits StudyPoints::limits_of(const AnyConfig& any, const study::PointEffort& effort) const {
  const SearchSettings& settings = settings_of(any);
  Limits limits;
  const SearchRequest& request = search_.request;
  limits.deadline = search_.deadline.within(
      std::min(request.time_limit.value_or(Seconds::infinity()), settings.time_limit));
  limits.memory =
      std::min(request.memory_limit.value_or(Bytes::infinity()) / std::max(request.threads, 1),
               settings.memory_limit.value_or(Bytes::infinity()));
  limits.gap = request.gap.value_or(settings.gap);
  limits.nodes = request.node_limit.value_or(limits.nodes);
  // A node of a search over splits contains a search for mappings.
  if (!effort.whole && !searches_splits(any)) limits.nodes = std::min(limits.nodes, kShortNodes);
  return limits;
}

AnswerJson StudyPoints::answer_json(const AnyConfig& any, const study::PointEffort& effort,
                                    bool& stopped_by_effort) const {
  const auto question = question_of(any);
  SolveOptions options;
  options.limits = limits_of(any, effort);
  options.threads = effort.threads;
  options.deterministic = search_.request.deterministic;
  options.hint = hint_for(any, effort);
  const Result result = question->solve(options);
  stopped_by_effort = result.stopped_by == StopReason::Nodes &&
                      options.limits->nodes < search_.request.node_limit.value_or(Limits{}.nodes);
  if (const auto* found = std::get_if<SearchResult>(&result.found); found && found->mapping) {
    const std::lock_guard lock(mutex_);
    last_.insert_or_assign(effort.lane, *found->mapping);
  }
  return question->json(result);
}

study::PointAnswer StudyPoints::solve(PointIndex point, const study::PointEffort& effort) const {
  ResultRow row{.index = point,
                .axes = grid_.labels(point),
                .reason = {},
                .tells_time = !search_.request.deterministic};
  bool stopped_by_effort = false;
  Json result;
  try {
    const AnyConfig any = config(point);
    row.rates = rates_of(any);
    std::map<study::Figure, std::string> lacking;
    check_figures(point, any, lacking);
    if (!lacking.empty()) throw InputError(lacking.begin()->second);
    result = answer_json(any, effort, stopped_by_effort).tree;
  } catch (const Stopped&) {
    result["status"] = "no_solution";
    result["stopped_by"] = name_of(StopReason::Time);
  } catch (const std::exception& error) {
    // An error of a point becomes a row with its reason; the study goes on.
    row.reason = error.what();
    result["status"] = "failed";
  }
  study::PointAnswer answer = answer_of(row, result);
  answer.stopped_by_effort = stopped_by_effort;
  return answer;
}

}  // namespace dfsearch
