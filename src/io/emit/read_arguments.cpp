// Reads a plan from options of Megatron-LM (core 0.13: megatron/training/arguments.py) and sections
// of torchtitan (torchtitan/config/job_config.py).  Rows with one count each are shared with the
// writer (argument_text.hpp).

#include "io/emit/read_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "io/emit/argument_text.hpp"
#include "model/memory/trained.hpp"

namespace dfsearch {
namespace {

/// Whether a name differs from a known flag by at most two letters, or by a missing word.  A looser
/// test would find false matches, since frameworks have many more flags.
bool is_nearly(std::string_view given, std::string_view known) {
  constexpr std::size_t kMost = 2;
  if (edit_distance(given, known) <= kMost) return true;
  // Removes the first word that differs from the known name.
  const auto differs = std::mismatch(given.begin(), given.end(), known.begin(), known.end());
  const auto same = static_cast<std::size_t>(differs.first - given.begin());
  const std::size_t begin = known.find_last_of("-_.", same) + 1;
  const std::size_t end = known.find_first_of("-_", begin);
  if (begin < kMost + 1 || end == std::string_view::npos) return false;
  return given == std::string(known.substr(0, begin)) + std::string(known.substr(end + 1));
}

/// The flags as the tree of a mapping file.
class PlanTree {
 public:
  explicit PlanTree(FlagList& list)
      : flags_(list.flags), messages_(list.messages), start_(list.at(1, 1)) {}

  [[nodiscard]] const FlagValue* find(const std::string& flag) const {
    asked_.insert(flag);
    const auto found = flags_.find(flag);
    return found == flags_.end() ? nullptr : &found->second;
  }
  /// The value of a flag, or `preset`.
  std::int64_t count(const std::string& flag, std::int64_t preset) {
    const FlagValue* said = find(flag);
    if (!said) return preset;
    std::int64_t value = 0;
    const char* end = said->value.data() + said->value.size();
    const auto [last, error] = std::from_chars(said->value.data(), end, value);
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (error == std::errc() && last == end && value >= 1 && value <= kMost) return value;
    refuse(flag, "expected a whole number of at least 1, got " + in_quotes(said->value));
    return preset;
  }
  void refuse(const std::string& flag, const std::string& what) {
    const FlagValue* said = find(flag);
    messages_.add(said ? said->place : start_, flag, what);
  }
  /// `path` is a key, or two with a point between; `flag` is the source of the value.
  void put(std::string_view path, const std::string& value, const std::string& flag = "") {
    put_node(path, {.type = YamlNode::Type::Scalar, .scalar = value}, flag);
  }
  void put(std::string_view path, std::int64_t value, const std::string& flag = "") {
    put(path, std::to_string(value), flag);
  }
  void put_list(std::string_view path, const std::vector<std::string>& values,
                const std::string& flag = "") {
    YamlNode node{.type = YamlNode::Type::Sequence};
    for (const std::string& value : values) {
      node.items.push_back({.type = YamlNode::Type::Scalar, .scalar = value});
    }
    put_node(path, std::move(node), flag);
  }
  /// Puts the counts that have rows; degrees that are not given are 1.
  void put_rows(Framework framework) {
    for (const FlagRow& row : kFlagRows) {
      const std::string flag(row.flag);
      if (row.framework != framework) continue;
      if (find(flag) || row.key.starts_with("parallelism.")) put(row.key, count(flag, 1), flag);
    }
  }
  /// Translates a word of the framework into that of a plan; other words are refused.
  template <std::size_t n>
  void put_word(std::string_view path, const std::array<WordPair, n>& pairs,
                const std::string& flag) {
    std::vector<std::string_view> known;
    for (const auto& [theirs, ours] : pairs) {
      if (find(flag)->value == theirs) return put(path, std::string(ours), flag);
      known.push_back(theirs);
    }
    refuse(flag,
           fmt::format("expected {}, got {}", joined_choices(known), in_quotes(find(flag)->value)));
  }
  [[nodiscard]] YamlNode take() { return std::move(root_); }
  /// Notes on unread flags whose names are similar to flags that are read.
  [[nodiscard]] std::vector<std::string> misspelt() const {
    std::vector<std::string> notes;
    for (const auto& [flag, said] : flags_) {
      if (asked_.contains(flag)) continue;
      for (const std::string& known : asked_) {
        if (flags_.contains(known) || !is_nearly(flag, known)) continue;
        notes.push_back(fmt::format("{}: {}: this argument is ignored, did you mean '{}'?",
                                    said.place.to_text(), escaped(flag), known));
      }
    }
    return notes;
  }

 private:
  void put_node(std::string_view path, YamlNode node, const std::string& flag) {
    YamlNode* map = &root_;
    const auto point = path.find('.');
    node.place = find(flag) ? find(flag)->place : start_;
    if (point != std::string_view::npos) {
      const std::string_view section = path.substr(0, point);
      if (!map->find(section)) {
        map->entries.push_back(
            {std::string(section), node.place, {.type = YamlNode::Type::Map, .place = node.place}});
      }
      map = &map->find(section)->value;
      path.remove_prefix(point + 1);
    }
    map->entries.push_back({std::string(path), node.place, std::move(node)});
  }

  const Flags& flags_;
  InputMessages& messages_;
  const Place start_;
  mutable std::set<std::string> asked_;
  YamlNode root_{.type = YamlNode::Type::Map, .place = start_};
};

/// "Et*2|t*3|ttL" as layers of each stage; nothing for other texts.
std::vector<std::int64_t> layers_of(std::string_view layout) {
  std::vector<std::int64_t> layers;
  while (!layout.empty()) {
    const std::string_view stage = layout.substr(0, layout.find('|'));
    layout.remove_prefix(std::min(stage.size() + 1, layout.size()));
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < stage.size(); ++i) {
      if (stage[i] == 'E' || stage[i] == 'L' || stage[i] == ',') continue;
      if (stage[i] != 't') return {};
      std::int64_t times = 1;
      if (i + 1 < stage.size() && stage[i + 1] == '*') {
        const auto [end, error] =
            std::from_chars(&stage[i] + 2, stage.data() + stage.size(), times);
        if (error != std::errc() || times < 0 || times > 1 << 20) return {};
        i = static_cast<std::size_t>(end - stage.data()) - 1;
      }
      sum += times;
    }
    layers.push_back(sum);
  }
  return layers;
}

// Arguments that divide layers among stages.
constexpr const char* kOfRank = "--num-virtual-stages-per-pipeline-rank";
constexpr const char* kOfStage = "--num-layers-per-virtual-pipeline-stage";
constexpr const char* kLayout = "--pipeline-model-parallel-layout";
constexpr const char* kEmbedding = "--account-for-embedding-in-pipeline-split";
constexpr const char* kLoss = "--account-for-loss-in-pipeline-split";
constexpr const char* kFirst = "--decoder-first-pipeline-num-layers";
constexpr const char* kLast = "--decoder-last-pipeline-num-layers";

/// Layers of each stage: the embedding and the loss may count as a layer each, or the first and
/// last stage have their own numbers.  Empty if a layout states the layers, if their
/// number is unknown, or if they do not divide evenly.
std::vector<std::int64_t> megatron_layers(PlanTree& tree, std::int64_t stages,
                                          std::int64_t layers) {
  constexpr std::int64_t kMostStages = std::int64_t{1} << 20;
  if (tree.find(kLayout) || layers < 1 || stages > std::min(layers + 2, kMostStages)) return {};
  const std::int64_t embedding = tree.find(kEmbedding) ? 1 : 0, loss = tree.find(kLoss) ? 1 : 0;
  const bool has_first = tree.find(kFirst) != nullptr, has_last = tree.find(kLast) != nullptr;
  std::int64_t left = layers + embedding + loss, others = stages;
  if (has_first || has_last) {
    const char* const own = has_first ? kFirst : kLast;
    if (embedding + loss > 0) {
      tree.refuse(own, std::string("is not allowed with ") + (embedding > 0 ? kEmbedding : kLoss));
      return {};
    }
    left -= tree.count(kFirst, 0) + tree.count(kLast, 0);
    others -= (has_first ? 1 : 0) + (has_last ? 1 : 0);
    if (others < 0 || left < 0 || (others == 0 ? left != 0 : left % others != 0)) {
      tree.refuse(
          own, fmt::format(
                   "expected a number that leaves the other stages equal shares of the {} layers",
                   layers));
      return {};
    }
  } else if (left % stages != 0) {
    if (embedding + loss > 0) {
      tree.refuse(
          embedding > 0 ? kEmbedding : kLoss,
          fmt::format(
              "expected a number of stages that divides {}, the layers and ends of the model",
              left));
    }
    return {};
  }
  std::vector<std::int64_t> each(static_cast<std::size_t>(stages), others > 0 ? left / others : 0);
  if (has_first) each.front() = tree.count(kFirst, 0);
  if (has_last) each.back() = tree.count(kLast, 0);
  each.front() -= embedding;
  each.back() -= loss;
  return each;
}

/// Puts layers, chunks and the schedule.
void put_megatron_stages(PlanTree& tree) {
  const std::int64_t stages = tree.count("--pipeline-model-parallel-size", 1);
  const std::int64_t layers = tree.count("--num-layers", 0);
  if (layers > 0) tree.put("workload.layers", layers, "--num-layers");
  std::vector<std::int64_t> of_stages = megatron_layers(tree, stages, layers);
  std::string flag = kOfRank, from = "--num-layers";
  std::int64_t chunks = tree.count(kOfRank, 1);
  if (tree.find(kOfStage)) {
    const std::int64_t slots =
        layers + (tree.find(kEmbedding) ? 1 : 0) + (tree.find(kLoss) ? 1 : 0);
    const std::int64_t each = tree.count(kOfStage, 1) * stages;
    if (layers < 1 || slots % each != 0) {
      return tree.refuse(kOfStage, "expected a divisor of the layers of a stage, and --num-layers");
    }
    flag = kOfStage;
    chunks = slots / each;
  }
  if (const FlagValue* said = tree.find(kLayout)) {
    const std::vector<std::int64_t> parts = layers_of(said->value);
    if (parts.empty() || static_cast<std::int64_t>(parts.size()) % stages != 0) {
      return tree.refuse(
          kLayout,
          fmt::format("expected {} stages of t or t*N layers, or as many for each chunk, as in "
                      "'Et*2|t*2L'",
                      stages));
    }
    flag = from = kLayout;
    chunks = static_cast<std::int64_t>(parts.size()) / stages;
    of_stages.assign(static_cast<std::size_t>(stages), 0);
    for (std::size_t i = 0; i < parts.size(); ++i) of_stages[i % of_stages.size()] += parts[i];
  }
  tree.put("plan.schedule", chunks > 1 ? "interleaved" : "1f1b", flag);
  tree.put("plan.chunks", chunks, flag);
  if (of_stages.empty()) return;
  std::vector<std::string> list;
  for (const std::int64_t each : of_stages) list.push_back(std::to_string(each));
  tree.put_list("plan.layers", list, from);
}

/// Reads recomputation, sharding of the optimizer and offloading.
void put_megatron_memory(PlanTree& tree) {
  const std::string granularity = "--recompute-granularity";
  std::string recompute = "none", from = "--recompute-activations";
  if (tree.find(from)) recompute = "selective";
  if (const FlagValue* said = tree.find(granularity)) {
    if (tree.find(from) && said->value != recompute) {
      tree.refuse(granularity, "expected selective beside " + from);
    }
    from = granularity;
    recompute = said->value;
    if (recompute != "selective" && recompute != "full")
      tree.refuse(from, "expected selective or full, got " + in_quotes(recompute));
    if (recompute == "full" && tree.count("--recompute-num-layers", 1) != 1) {
      tree.refuse("--recompute-num-layers", "expected 1: a plan keeps the input of each layer");
    }
  }
  if (const FlagValue* said = tree.find("--recompute-method"); said && said->value != "uniform") {
    tree.refuse("--recompute-method",
                "expected uniform: a plan computes again in all layers or in none");
  }
  std::vector<std::string> modules;
  if (const FlagValue* said = tree.find("--recompute-modules");
      said && said->value != "core_attn") {
    std::istringstream words(said->value);
    for (std::string word; words >> word;) modules.push_back(word);
    const bool are_known = std::all_of(modules.begin(), modules.end(), [](const auto& word) {
      const auto read = memory::recompute_of(word);
      return read && memory::is_listed(*read);
    });
    if (!are_known || modules.empty()) {
      tree.refuse("--recompute-modules", "expected modules, got " + in_quotes(said->value));
    }
  }
  if (modules.empty()) {
    tree.put("plan.recompute", recompute, from);
  } else {
    tree.put_list("plan.recompute", modules, from);
  }

  const std::string optimizer = "--use-distributed-optimizer";
  const std::string strategy = "--data-parallel-sharding-strategy";
  if (tree.find("--use-megatron-fsdp") && tree.find(strategy)) {
    tree.put_word("plan.zero", kShardingStrategies, strategy);
  } else {
    if (tree.find(strategy)) tree.refuse(strategy, "only valid with --use-megatron-fsdp");
    tree.put("plan.zero", tree.find(optimizer) ? 1 : 0, optimizer);
  }
  std::vector<std::string> offload;
  const std::string fraction = "--optimizer-offload-fraction";
  if (tree.find("--cpu-offloading-num-layers")) offload.emplace_back("activations");
  if (tree.find("--optimizer-cpu-offload")) offload.emplace_back("optimizer");
  if (const FlagValue* said = tree.find(fraction);
      said && said->value.find_first_not_of("1.0") != std::string::npos) {
    tree.refuse(fraction, "expected 1.0: a plan moves all states of the optimizer or none");
  }
  tree.put_list("plan.offload", offload);
}

/// Whether experts are whole on `ranks` expert ranks; `inside` tensor ranks divide an expert.
bool has_whole_experts(PlanTree& tree, const std::string& flag, std::int64_t inside,
                       std::int64_t tensor, std::int64_t ranks) {
  if (inside == tensor) return false;
  const bool whole = inside == 1 && ranks % tensor == 0;
  if (!whole) {
    tree.refuse(flag, fmt::format("expected the tensor ranks, {}, or 1 beside expert ranks that "
                                  "are a multiple of them",
                                  tensor));
  }
  return whole;
}

void put_megatron(PlanTree& tree) {
  tree.put_rows(Framework::Megatron);
  const std::string expert = "--expert-model-parallel-size",
                    of_expert = "--expert-tensor-parallel-size";
  const std::int64_t tensor = tree.count("--tensor-model-parallel-size", 1);
  const std::int64_t ranks = tree.count(expert, 1), inside = tree.count(of_expert, tensor);
  const bool whole = has_whole_experts(tree, of_expert, inside, tensor, ranks);
  tree.put("parallelism.expert", ranks, expert);
  const std::string parallel = "--sequence-parallel";
  tree.put("plan.layout",
           whole                 ? "whole_experts"
           : tree.find(parallel) ? "least_kept"
                                 : "least_sent",
           parallel);
  put_megatron_stages(tree);
  put_megatron_memory(tree);
}

void put_torchtitan(PlanTree& tree) {
  tree.put_rows(Framework::Torchtitan);
  const std::string section = "parallelism.";
  const std::string copies = section + "data_parallel_replicate_degree",
                    shards = section + "data_parallel_shard_degree";
  const std::string reshard = section + "fsdp_reshard_after_forward",
                    schedule = section + "pipeline_parallel_schedule";
  const std::int64_t stages = tree.count(section + "pipeline_parallel_degree", 1);
  const std::int64_t replicas = tree.count(copies, 1);
  const bool all = !tree.find(shards) || tree.find(shards)->value == "-1";
  const std::int64_t divided = all ? 1 : tree.count(shards, 1);
  if (replicas > 1 && (all || divided > 1)) {
    tree.refuse(copies,
                "expected 1, or 1 of " + shards + ": a plan divides among all replicas or none");
  }
  if (!all) tree.put("parallelism.data", replicas * divided, shards);
  const bool divides = all || divided > 1 || tree.count(section + "context_parallel_degree", 1) > 1;
  const FlagValue* after = tree.find(reshard);
  const bool keeps = after && after->value != "default" ? after->value == "never" : stages > 1;
  tree.put("plan.zero", !divides ? 0 : keeps ? 2 : 3, after ? reshard : shards);
  const std::string of_expert = section + "expert_tensor_parallel_degree";
  const std::int64_t tensor = tree.count(section + "tensor_parallel_degree", 1);
  const std::int64_t ranks = tree.count(section + "expert_parallel_degree", 1);
  const std::int64_t inside = ranks > 1 ? tree.count(of_expert, 1) : tensor;
  const bool whole = has_whole_experts(tree, of_expert, inside, tensor, ranks);
  tree.put("plan.layout", whole ? "whole_experts" : "least_kept");
  if (tree.find(schedule)) {
    tree.put_word("plan.schedule", kTorchtitanSchedules, schedule);
  } else {
    tree.put("plan.schedule", "1f1b");
  }
  const std::string micro =
      stages > 1 ? section + "pipeline_parallel_microbatch_size" : "training.local_batch_size";
  if (stages > 1 || tree.find(micro)) tree.put("micro_batch", tree.count(micro, 1), micro);
  const std::string mode = "activation_checkpoint.mode";
  const FlagValue* const option = tree.find("activation_checkpoint.selective_ac_option");
  if (const FlagValue* said = tree.find(mode)) {
    const bool is_op = said->value == "selective" && option && option->value == "op";
    tree.put("plan.recompute", is_op ? "op_sac" : said->value, mode);
  }
}

}  // namespace

LaunchArguments read_launch_arguments(const std::string& text, const std::string& source) {
  FlagList list(source);
  read_flags(text, list);
  PlanTree tree(list);
  const auto has = [&](const FlagRow& row) { return tree.find(std::string(row.flag)) != nullptr; };
  const auto* known = std::find_if(std::begin(kFlagRows), std::end(kFlagRows), has);
  if (known == std::end(kFlagRows)) {
    list.messages.add(list.at(1, 1), "",
                      "expected arguments of Megatron-LM or torchtitan, among them " +
                          std::string(kFlagRows[0].flag));
  } else {
    known->framework == Framework::Megatron ? put_megatron(tree) : put_torchtitan(tree);
  }
  const bool stages_inside = tree.find(std::string(kStagesInsideFlag)) != nullptr;
  list.messages.throw_if_any();
  return {.plan = tree.take(), .stages_inside = stages_inside, .notes = tree.misspelt()};
}

}  // namespace dfsearch
