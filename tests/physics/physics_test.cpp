// Limits that no machine can beat, over thousands of random configs of every kind.
//
// The limits are computed from the numbers of a config by first principles (limits.hpp), so that
// no flaw of the model can hide in them; comparisons of two answers need no model at all
// (comparisons.hpp).  A config that fails is printed, made as small as it can be while it still
// fails, ready to be run:
//
//     dfsearch CONFIG.json
//
// PHYSICS_SEEDS="5000 9000" in the environment tries other configs, and PHYSICS_REPORT=FILE keeps
// their violations.

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "physics/comparisons.hpp"
#include "physics/limits.hpp"
#include "physics/numbers.hpp"
#include "support/worlds.hpp"

using namespace dfsearch;
using namespace dfsearch::test;

namespace {

/// What is asked, in a few words.
std::string kind_of(const Json& config) {
  if (config.contains("study")) return "study";
  if (config.contains("fleet")) return "fleet";
  std::string kind = config["workload"]["kind"];
  const Json& system = config.value("system", Json::object());
  const Json& execution = config.value("execution", Json::object());
  if (config.contains("calculon")) kind += ", Calculon";
  if (config.contains("training")) kind += ", plan";
  if (execution.contains("stack")) kind += " with a stack";
  if (execution.contains("stages")) kind += " in stages";
  if (system.contains("technology")) kind += " on a chip from a budget";
  return kind;
}

/// Failures by check and kind; of each the first config is kept.
class Findings {
 public:
  void add(std::uint64_t seed, const Json& config, const NamedCheck& check,
           const Violation& violation) {
    Finding& finding = findings_[violation.check + " [" + kind_of(config) + "]"];
    if (finding.count++ == 0) finding = {1, seed, config, check, violation};
  }
  void report() const {
    const char* file = std::getenv("PHYSICS_REPORT");
    std::ofstream out(file ? file : "/dev/null", std::ios::app);
    for (const auto& [name, finding] : findings_) {
      const std::string text = described(name, finding);
      out << text << std::flush;
      INFO(text);
      CHECK_MESSAGE(false, name);
    }
  }

 private:
  struct Finding {
    int count = 0;
    std::uint64_t seed = 0;
    Json config;
    NamedCheck check;
    Violation violation;
  };

  static std::string described(const std::string& name, const Finding& finding) {
    const Json least = shrunk(finding.config, finding.check.check, finding.violation.check);
    const auto answer = answer_to(least);
    const auto again = answer ? finding.check.check(least, *answer) : std::nullopt;
    const Violation& violation = again ? *again : finding.violation;
    std::ostringstream text;
    text.precision(9);
    text << name << ": " << finding.count << " times, first seed " << finding.seed
         << "; least: limit " << violation.limit << ", got " << violation.got << "\n"
         << least.dump() << "\n";
    return text.str();
  }

  std::map<std::string, Finding> findings_;
};

/// Larger states of the optimizer, of gradients or of a stack make no step faster.
std::optional<Violation> larger_states(const Json& config, const Answer& answer) {
  for (const char* path : {"/training/states/moments", "/training/states/gradient",
                           "/execution/stack/states/master"}) {
    const Json::json_pointer at(path);
    if (!config.contains(at)) continue;
    Json larger = config;
    larger[at] = config[at].get<double>() + 7.0;
    const auto slower = answer_to(larger);
    if (!slower || !slower->found() || !is_less(slower->step, answer.lower_bound)) continue;
    return Violation{at.to_string(), answer.lower_bound, slower->step};
  }
  return std::nullopt;
}

/// Runs all of `always` and one of each list in `some` on `configs` random configs that are not
/// refused.
void check_configs(Json (*make)(std::uint64_t), int configs, const std::vector<NamedCheck>& always,
                   std::initializer_list<const std::vector<NamedCheck>*> some,
                   std::uint64_t seed = 0) {
  std::uint64_t last = UINT64_MAX;
  if (const char* given = std::getenv("PHYSICS_SEEDS")) std::istringstream(given) >> seed >> last;
  Findings findings;
  int tried = 0, found = 0;
  std::map<std::string, std::array<int, 3>> kinds;
  for (; seed < last && (tried < configs || last != UINT64_MAX); ++seed) {
    const Json config = make(seed);
    const auto answer = answer_to(config);
    auto& [asked_of, tried_of, found_of] = kinds[kind_of(config)];
    ++asked_of;
    if (!answer) continue;
    ++tried;
    ++tried_of;
    found += answer->found() ? 1 : 0;
    found_of += answer->found() ? 1 : 0;
    const auto run = [&](const NamedCheck& check) {
      if (const auto violation = check.check(config, *answer)) {
        findings.add(seed, config, check, *violation);
      }
    };
    for (const NamedCheck& check : always) run(check);
    Draws draws(seed + 7);
    for (const auto* checks : some) {
      run((*checks)[static_cast<std::size_t>(
          draws.pick(0, static_cast<std::int64_t>(checks->size()) - 1))]);
    }
  }
  findings.report();
  for (const auto& [kind, counts] : kinds) {
    CAPTURE(kind);
    MESSAGE(kind << ": asked " << counts[0] << ", tried " << counts[1] << ", answers to "
                 << counts[2]);
    // A kind that is always refused, or never fits, would show nothing.
    if (configs >= 1000) CHECK(6 * counts[2] > counts[0]);
  }
  MESSAGE("tried " << tried << " configs, answers to " << found << ", the last seed " << seed);
  CHECK(2 * found > tried);  // the rest shows that nothing fits
}

TEST_CASE("no answer of any kind beats a roofline, a share of the configs") {
  check_configs(random_question, 160, rooflines(), {});
}

// A chip that waits for its memory may compute more slowly, and copies run beside that, too.  With
// ZB-H1 gradients of weights fill the bubble, and fill less of it where they are faster.
TEST_CASE("copies to a second memory take no longer with more of anything" *
          doctest::test_suite("worlds")) {
  int tried = 0;
  for (std::uint64_t seed = 0; tried < test::share_of(40); ++seed) {
    CAPTURE(seed);
    Json config = random_plan_config(seed);
    if (!config["system"]["memory"].contains("second")) continue;
    config["execution"]["overlap"] = "perfect";
    if (seed % 4 == 0) continue;
    config["training"]["schedule"] = "1f1b";
    config["training"]["offload"] = {"weights", "activations", "optimizer"};
    const auto answer = answer_to(config);
    if (!answer || !answer->found()) continue;
    ++tried;
    for (const NamedCheck& check : growth_checks()) {
      CAPTURE(check.name);
      CHECK_FALSE(check.check(config, *answer).has_value());
    }
  }
}

TEST_SUITE("slow") {
  TEST_CASE("no answer of any kind beats a roofline") {
    check_configs(random_question, 3000, rooflines(), {}, 160);
  }

  TEST_CASE("mappings keep the limits of physics, pins and growth") {
    std::vector<NamedCheck> limits = mapping_limits();
    limits.insert(limits.end(), layout_limits().begin(), layout_limits().end());
    limits.insert(limits.end(), sign_checks().begin(), sign_checks().end());
    check_configs(random_mapping_config, 2000, limits,
                  {&growth_checks(), &pin_checks(), &neutral_checks()});
  }

  TEST_CASE("plans keep the limits of physics, pins and growth") {
    std::vector<NamedCheck> limits = plan_limits();
    limits.insert(limits.end(), sign_checks().begin(), sign_checks().end());
    check_configs(random_plan_config, 2000, limits,
                  {&growth_checks(), &pin_checks(), &neutral_checks()});
  }

  TEST_CASE("plans with a stack hold no less than nothing, and no less for larger states") {
    std::vector<NamedCheck> checks = sign_checks();
    checks.push_back({"states", [](const Json& config, const Answer& answer) {
                        return larger_states(config, answer);
                      }});
    check_configs(random_states_config, 1000, checks, {});
  }
}

}  // namespace
