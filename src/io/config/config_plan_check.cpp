// Whether some plan has all that is given.
//
// A dimension of the network that serves one role makes the degree of this role a multiple of its
// own; dimensions that are left open can be divided among the roles in any way, prime by prime.
// So there is a plan if and only if the roles have degrees, each a divisor of what it divides and
// a multiple of its dimensions, whose product is the number of chips, and with stages and
// micro-batches as the schedule wants them.  These are gone through here, from
// the inside out, to say which of them is missing; tests/io/config/wrong_training_config_test.cpp
// compares with the space of the search.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/divisors.hpp"
#include "io/config/plan_text.hpp"
#include "io/text/map_reader.hpp"
#include "model/training/chunked_stages.hpp"
#include "model/training/names.hpp"

namespace dfsearch {
namespace {

using training::kRoles;
using training::Role;
using training::Schedule;
using training::Task;

using Degrees = std::vector<std::int64_t>;

class PlanCheck {
 public:
  PlanCheck(const YamlNode& root, const Task& task, InputMessages& messages)
      : root_(root),
        task_(task),
        choices_(task.choices),
        messages_(messages),
        chips_(divisors(task.machine.chips)) {}

  /// A part that stands on a wrong one says nothing.
  void run() {
    const bool roles = check_roles(), schedule = check_schedule();
    const bool samples = of(Role::Data).empty() || check_micro_batch();
    const bool stages = of(Role::Pipeline).empty() || check_layers();
    const bool chunks = of(Role::Pipeline).empty() || !stages || !schedule || check_chunks();
    check_recompute();
    if (roles && schedule && samples && stages && chunks && check_product() && check_rounds() &&
        task_.framework) {
      check_framework();
    }
  }

 private:
  Degrees& of(Role role) { return degrees_[static_cast<std::size_t>(role)]; }
  [[nodiscard]] const DegreeChoice& choice(Role role) const {
    return choices_.degrees[static_cast<std::size_t>(role)];
  }
  [[nodiscard]] const YamlEntry* entry(std::string_view section, std::string_view key) const {
    const YamlEntry* found = root_.find(section);
    return found ? found->value.find(key) : nullptr;
  }
  [[nodiscard]] const YamlEntry* degree_entry(Role role) const {
    return entry("parallelism", training::name_of(role));
  }
  /// The first dimension that serves this role alone.
  [[nodiscard]] const YamlEntry* strategy_entry(Role role) const {
    for (std::size_t d = 0; d < choices_.network.size(); ++d) {
      if (choices_.network[d] == role) {
        return entry("system", "network")->value.items[d].find("strategy");
      }
    }
    return nullptr;
  }
  bool wrong(std::initializer_list<const YamlEntry*> entries, std::string_view key,
             const std::string& what) {
    messages_.add(place_of_conflict(entries), key, what);
    return false;
  }

  /// The product of the dimensions that serve this role alone.
  [[nodiscard]] std::int64_t pinned(Role role) const {
    std::int64_t product = 1;
    for (std::size_t d = 0; d < choices_.network.size(); ++d) {
      if (choices_.network[d] == role) product *= *task_.machine.network[d].degree;
    }
    return product;
  }
  /// What the degree of a role divides beside the chips.
  [[nodiscard]] std::int64_t divided(Role role) const {
    switch (role) {
      case Role::Tensor:
        return task_.model.heads;
      case Role::Context:
        return task_.pass.tokens;
      case Role::Expert:
        return task_.model.experts ? task_.model.experts->count : 1;
      case Role::Data:
        return task_.global_batch;
      case Role::Pipeline:
        break;
    }
    return task_.machine.chips;
  }
  [[nodiscard]] bool is_legal(Role role, std::int64_t degree) {
    if (divided(role) % degree != 0) return false;
    if (role == Role::Expert) {
      const Degrees& tensors = of(Role::Tensor);
      const auto allows = [&](std::int64_t tensor) { return allows_experts(tensor, degree); };
      const bool some = std::any_of(tensors.begin(), tensors.end(), allows);
      return degree % pinned(role) == 0 && (some || (tensors.empty() && allows(1)));
    }
    if (!choice(role).allows(degree)) return false;
    if (role == Role::Pipeline && degree > task_.model.layers) return false;
    if (role != Role::Data) return degree % pinned(role) == 0;
    return std::any_of(of(Role::Expert).begin(), of(Role::Expert).end(), [&](std::int64_t expert) {
      return degree % (expert * pinned(Role::Data)) == 0;
    });
  }

  [[nodiscard]] bool allows_experts(std::int64_t tensor, std::int64_t expert) const {
    training::Degrees degrees;
    degrees[Role::Tensor] = tensor;
    degrees[Role::Expert] = expert;
    return task_.allows_experts(degrees);
  }

  bool check_roles() {
    bool right = true;
    for (const Role role : kRoles) {
      if (role == Role::Data && of(Role::Expert).empty()) continue;  // a multiple of those
      for (const std::int64_t degree : chips_) {
        if (is_legal(role, degree)) of(role).push_back(degree);
      }
      if (of(role).empty()) right = no_degree(role);
    }
    return right;
  }

  bool no_degree(Role role) {
    const YamlEntry* given = degree_entry(role);
    const char* key = given ? training::name_of(role) : "strategy";
    std::string what;
    if (role == Role::Expert && !task_.model.experts) {
      what = given ? "expected 1, as the model has no experts"
                   : "expected another role, as the model has no experts";
    } else if (role == Role::Pipeline) {
      what = fmt::format("expected a divisor of the chips, {}, of at most the layers, {}",
                         task_.machine.chips, task_.model.layers);
    } else {
      constexpr std::array kWhole = {"heads", "sequence", "experts", "global batch"};
      what =
          fmt::format("expected a divisor of the chips, {}, and of the {}, {}", task_.machine.chips,
                      kWhole[static_cast<std::size_t>(role)], divided(role));
    }
    if (pinned(role) > 1 && what.find(" divisor ") != std::string::npos) {
      what += fmt::format(", that is a multiple of {}, the degree of the dimensions that serve it",
                          pinned(role));
    } else if (role == Role::Data && of(Role::Expert).front() > 1) {
      what +=
          fmt::format(", that is a multiple of the expert degree, {}", of(Role::Expert).front());
    }
    if (choice(role).values.size() == 1) what += fmt::format(", got {}", choice(role).values[0]);
    return wrong({given, strategy_entry(role)}, key, what);
  }

  [[nodiscard]] bool divides_samples(std::int64_t micro_batch, std::int64_t replicas) const {
    return task_.global_batch / replicas % micro_batch == 0;
  }

  bool check_micro_batch() {
    if (choices_.micro_batches.empty()) return true;
    const std::int64_t micro_batch = choices_.micro_batches.front();
    Degrees& data = of(Role::Data);
    const std::int64_t samples = task_.global_batch / data.front();
    std::erase_if(data, [&](std::int64_t d) { return !divides_samples(micro_batch, d); });
    if (!data.empty()) return true;
    return wrong({entry("workload", "micro_batch"), degree_entry(Role::Data),
                  entry("workload", "global_batch")},
                 "micro_batch",
                 fmt::format("expected a divisor of the {} samples of a replica, got {}", samples,
                             micro_batch));
  }

  bool check_layers() {
    if (choices_.layers.empty()) return true;
    const auto stages = static_cast<std::int64_t>(choices_.layers.size());
    Degrees& pipeline = of(Role::Pipeline);
    const bool is_one = pipeline.size() == 1;
    const std::string expected =
        is_one ? fmt::format("{} stages", pipeline.front())
               : fmt::format("as many stages as a divisor of the chips, {}", task_.machine.chips);
    std::erase_if(pipeline, [&](std::int64_t p) { return p != stages; });
    if (!pipeline.empty()) return true;
    return wrong({entry("training", "layers"), degree_entry(Role::Pipeline)}, "layers",
                 fmt::format("expected the layers of {}, got those of {}", expected, stages));
  }

  [[nodiscard]] bool has(Schedule schedule) const {
    const auto& given = choices_.schedules;
    return given.empty() || std::find(given.begin(), given.end(), schedule) != given.end();
  }
  [[nodiscard]] bool may_be_whole() const {
    const auto& given = choices_.chunks;
    return given.empty() || std::find(given.begin(), given.end(), 1) != given.end();
  }
  /// Whether stages are interleaved in every plan that is left.
  [[nodiscard]] bool is_interleaved() const {
    const auto& given = choices_.schedules;
    return !may_be_whole() ||
           (!given.empty() && std::all_of(given.begin(), given.end(), [](Schedule schedule) {
             return schedule == Schedule::Interleaved;
           }));
  }
  /// Whether `stages` stages have some of the chunks (chunked_stages.hpp).
  [[nodiscard]] bool can_interleave(std::int64_t stages) const {
    const auto may_have = [&](std::int64_t chunks) {
      if (chunks == 1) return false;
      return choices_.layers.empty() ? training::have_chunks(task_.model.layers, stages, chunks)
                                     : training::chunk_slots(choices_.layers, chunks).has_value();
    };
    const auto& given = choices_.chunks;
    if (!given.empty()) return std::any_of(given.begin(), given.end(), may_have);
    for (std::int64_t chunks = 2; chunks <= (task_.model.layers + 2) / stages; ++chunks) {
      if (may_have(chunks)) return true;
    }
    return false;
  }

  bool check_schedule() {
    if (!is_interleaved()) return true;
    const YamlEntry* chunks = entry("training", "chunks");
    const YamlEntry* schedule = entry("training", "schedule");
    if (!has(Schedule::Interleaved)) {
      return wrong({chunks, schedule}, "chunks",
                   fmt::format("expected 1, as only interleaved stages have chunks, got {}",
                               choices_.chunks.front()));
    }
    if (choices_.chunks.size() == 1 && choices_.chunks.front() == 1) {
      return wrong({chunks, schedule}, "chunks",
                   "expected at least 2, as the stages are interleaved, got 1");
    }
    return true;
  }

  bool check_chunks() {
    if (!is_interleaved()) return true;
    const YamlEntry* chunks = entry("training", "chunks");
    const YamlEntry* schedule = entry("training", "schedule");
    Degrees& pipeline = of(Role::Pipeline);
    std::erase_if(pipeline, [&](std::int64_t p) { return !can_interleave(p); });
    if (!pipeline.empty()) return true;
    return wrong({chunks, schedule, entry("training", "layers"), degree_entry(Role::Pipeline)},
                 chunks ? "chunks" : "schedule",
                 fmt::format("expected at least two stages of equally many of the {} layers, where "
                             "the embedding and the loss may each count as one more, or with a "
                             "first and a last stage of other layers, and chunks that divide these",
                             task_.model.layers));
  }

  /// Whether some degrees of all roles agree with `suits`.
  template <class Suits>
  [[nodiscard]] bool any_degrees(const Degrees& replicas, const Degrees& experts,
                                 const Suits& suits) {
    const Degrees& pipeline = of(Role::Pipeline);
    training::Degrees degrees;
    for (const std::int64_t tensor : of(Role::Tensor)) {
      degrees[Role::Tensor] = tensor;
      for (const std::int64_t context : of(Role::Context)) {
        if (task_.machine.chips / tensor % context != 0) continue;
        degrees[Role::Context] = context;
        const std::int64_t left = task_.machine.chips / tensor / context;
        for (const std::int64_t data : replicas) {
          if (left % data != 0 ||
              !std::binary_search(pipeline.begin(), pipeline.end(), left / data)) {
            continue;
          }
          degrees[Role::Pipeline] = left / data;
          for (const std::int64_t expert : experts) {
            if (data % (expert * pinned(Role::Data)) != 0) continue;
            degrees[Role::Expert] = expert;
            degrees[Role::Data] = data / expert;
            if (suits(degrees)) return true;
          }
        }
      }
    }
    return false;
  }
  /// Whether some do that the config allows.
  template <class Suits>
  [[nodiscard]] bool any_degrees(const Suits& suits) {
    return any_degrees(of(Role::Data), of(Role::Expert), [&](const training::Degrees& degrees) {
      return task_.allows_experts(degrees) && suits(degrees);
    });
  }

  /// The most replicas of any degrees, if experts were on all of them.
  [[nodiscard]] std::int64_t most_replicas() {
    Degrees replicas;
    for (const std::int64_t degree : chips_) {
      if (choice(Role::Data).allows(degree) && task_.global_batch % degree == 0) {
        replicas.push_back(degree);
      }
    }
    std::int64_t most = 0;
    (void)any_degrees(replicas, {1}, [&](const training::Degrees& degrees) {
      most = std::max(most, degrees.replicas());
      return false;
    });
    return most;
  }

  bool check_product() {
    if (any_degrees([](const training::Degrees&) { return true; })) return true;
    const YamlEntry* given = root_.find("parallelism");
    const YamlEntry* expert = degree_entry(Role::Expert);
    if (expert == nullptr) expert = strategy_entry(Role::Expert);
    if (const std::int64_t most = most_replicas(); most > 0 && expert != nullptr) {
      std::string what = fmt::format(
          "expected a divisor of the replicas, of which the other degrees leave at most {}", most);
      if (task_.stack) what += ", or with whole_experts of these times the tensor ranks";
      const auto& values = choice(Role::Expert).values;
      if (values.size() == 1) what += fmt::format(", got {}", values[0]);
      return wrong({expert}, expert == degree_entry(Role::Expert) ? "expert" : "strategy", what);
    }
    if (given) {
      return wrong({degree_entry(Role::Tensor), degree_entry(Role::Context),
                    degree_entry(Role::Data), degree_entry(Role::Pipeline), given},
                   "parallelism",
                   fmt::format("expected degrees of tensor, context, data and pipeline whose "
                               "product is the number of chips, {}",
                               task_.machine.chips));
    }
    return wrong({entry("system", "chips")}, "chips",
                 fmt::format("expected a product of degrees: of a divisor of the heads, {}, of the "
                             "sequence, {}, and of the global batch, {}, and of at most {} stages, "
                             "got {}",
                             task_.model.heads, task_.pass.tokens, task_.global_batch,
                             task_.model.layers, task_.machine.chips));
  }

  /// Whether the framework runs some of the degrees.
  bool check_framework() {
    std::vector<std::string_view> lacks;
    const auto runs = [&](const training::Degrees& degrees) {
      std::vector<std::string_view> found =
          training::lacks(*task_.framework, task_.facts(), degrees);
      const bool none = found.empty();
      if (lacks.empty()) lacks = std::move(found);
      return none;
    };
    if (any_degrees(runs)) return true;
    return wrong(
        {entry("training", "framework"), degree_entry(Role::Tensor), degree_entry(Role::Context),
         degree_entry(Role::Expert), degree_entry(Role::Pipeline)},
        "framework",
        fmt::format("{} runs none of these degrees: {}; heads {}, of keys and values {}, "
                    "sequence {}",
                    name_of(*task_.framework), fmt::join(lacks, "; "), task_.model.heads,
                    task_.model.kv_heads, task_.pass.tokens));
  }

  /// Interleaved stages work on as many micro-batches at a time as there are stages.
  [[nodiscard]] bool has_rounds(std::int64_t replicas, std::int64_t stages) const {
    if (!is_interleaved()) return true;
    const std::int64_t micro_batch =
        choices_.micro_batches.empty() ? 1 : choices_.micro_batches.front();
    return task_.global_batch / replicas / micro_batch % stages == 0;
  }

  bool check_rounds() {
    const auto suits = [&](const training::Degrees& degrees) {
      return has_rounds(degrees.replicas(), degrees[Role::Pipeline]);
    };
    if (any_degrees(suits)) return true;
    return wrong({entry("training", "schedule"), entry("training", "chunks")}, "schedule",
                 "expected micro-batches of a replica in multiples of the stages, as these are "
                 "interleaved");
  }

  bool check_recompute() {
    const auto& given = choices_.recomputes;
    const bool only_selective =
        !given.empty() && std::all_of(given.begin(), given.end(), [](training::Recompute r) {
          return r == training::Recompute::Selective;
        });
    if (!only_selective || !task_.pass.fused || task_.stack) return true;
    return wrong({entry("training", "recompute")}, "recompute",
                 "fused attention leaves nothing to select, expected none or full, or "
                 "'attention: unfused' in the workload");
  }

  const YamlNode& root_;
  const Task& task_;
  const training::Choices& choices_;
  InputMessages& messages_;
  const Degrees chips_;                                   // the divisors of their number
  std::array<Degrees, training::kRoles.size()> degrees_;  // those left, by role
};

}  // namespace

void check_plan_choices(const YamlNode& root, const Task& task, InputMessages& messages) {
  PlanCheck(root, task, messages).run();
}

}  // namespace dfsearch
