// Every column that a task or a plan needs is read and checked cell by cell; redundant cells, such
// as the degrees and the number of chips, must agree.

#include "io/predict/run_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/counts.hpp"
#include "base/error.hpp"
#include "base/units_text.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "graph/workloads/blocks/prediction_layers.hpp"
#include "io/config/foreign_file.hpp"
#include "io/config/load_config.hpp"
#include "io/config/shelf.hpp"
#include "io/config/stack_files.hpp"
#include "model/training/evaluate.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;
using training::Degrees;
using training::Role;

constexpr std::string_view kNeededColumns[] = {
    "id",           "gpu",         "gpus",   "hidden",     "heads",     "kv_heads",
    "head_dim",     "mlp",         "layers", "vocabulary", "precision", "sequence",
    "global_batch", "micro_batch", "tensor", "pipeline",   "stack"};

constexpr std::string_view kOtherColumns[] = {
    "source", "model", "value_dim", "gated", "tied", "experts", "experts_used", "expert_mlp",
    "shared_experts", "dense_layers", "query_rank", "kv_rank", "rope_dim", "context", "expert",
    "chunks", "zero", "data_parallel", "recompute", "schedule", "status", "step_s",
    "tensor_overlap", "reserved_gb", "sequence_parallel", "quality", "gradient_wire_bytes", "bias",
    "positions", "expert_tensor", "attention", "dropout", "loss", "states", "lora", "frozen",
    "adapter_bytes", "layer_split", "measured", "peak_kind", "peak_gib", "capacity_gib", "window",
    "full_attention_every", "recompute_modules",
    // Columns of the tables of the shelf that inform readers but do not count:
    "licence", "version", "tokens_per_s_per_gpu", "model_tflops_per_gpu", "states_gib",
    "device_mib", "group", "half", "score", "note", "release", "delay_wgrad", "attention_8bit",
    "fsdp", "router_fusion", "paged_stash", "match", "source_file"};

/// Rows that describe no plan, each with the first reason.
class Unfit {
 public:
  void add(const RowReader& row, std::string_view column, const std::string& what,
           std::string& reason) {
    messages_.add(row.place(column), column, what);
    if (reason.empty()) reason = fmt::format("{}: {}", column, what);
  }
  [[nodiscard]] const InputMessages& messages() const { return messages_; }

 private:
  InputMessages messages_;
};

/// Files of stacks and chips, each read once.
class Setups {
 public:
  explicit Setups(fs::path folder) : folder_(std::move(folder)) {}

  std::shared_ptr<const stack::Stack> stack(const RowReader& row, InputMessages& messages) {
    return find(stacks_, row, "stack", [&](const std::string& name, const Place& place) {
      return load_stack(name, {}, place, messages);
    });
  }
  /// Whether there is such a file, valid or not.
  [[nodiscard]] bool has(ShelfKind kind, std::string_view name) const {
    return !is_shelf_name(name) || find_on_shelf(kind, name) != nullptr ||
           (!folder_.empty() && fs::exists(folder_ / (std::string(name) + ".yaml")));
  }
  std::shared_ptr<const stack::MeasuredChip> chip(const RowReader& row, InputMessages& messages) {
    return find(chips_, row, "gpu", [&](const std::string& name, const Place& place) {
      return load_measured_chip(name, {}, place, messages);
    });
  }
  /// The model of the shelf with this name, or null.
  const Transformer* model(const std::string& name) {
    const ShelfFile* file = find_on_shelf(ShelfKind::Workloads, name);
    if (!file || !file->is_model()) return nullptr;
    const auto [known, is_new] = models_.try_emplace(name);
    if (is_new) {
      const std::string config = fmt::format(
          "workload: {{from: {}}}\nsystem: {{from: h100_dgx, chips: 8}}\n"
          "execution: {{stack: te, chip: h100}}\ntraining: {{}}\n",
          name);
      known->second = std::get<TrainingConfig>(parse_any_config(config, "table")).task.model;
    }
    return &known->second;
  }

 private:
  template <class T>
  using Files = std::map<std::string, std::shared_ptr<const T>>;

  template <class T, class Load>
  std::shared_ptr<const T> find(Files<T>& files, const RowReader& row, std::string_view column,
                                const Load& load) {
    const std::string name(row.text(column));
    auto found = files.find(name);
    if (found == files.end()) {
      const fs::path own = folder_ / (name + ".yaml");
      const bool has_own = !folder_.empty() && is_shelf_name(name) && fs::exists(own);
      const std::optional<T> read = load(has_own ? own.string() : name, row.place(column));
      found = files.emplace(name, read ? std::make_shared<const T>(*read) : nullptr).first;
    }
    return found->second;
  }

  const fs::path folder_;
  Files<stack::Stack> stacks_;
  Files<stack::MeasuredChip> chips_;
  std::map<std::string, Transformer> models_;
};

Transformer model_of(const RowReader& row) {
  Transformer model;
  model.hidden = row.count("hidden", 1);
  model.heads = row.count("heads", 1);
  model.kv_heads = row.count("kv_heads", model.heads);
  model.head_dim = row.count("head_dim", std::max<std::int64_t>(model.hidden / model.heads, 1));
  model.value_dim = row.count("value_dim", model.head_dim);
  model.mlp = row.count("mlp", 1);
  model.layers = row.count("layers", 1);
  model.vocabulary = row.count("vocabulary", 0, 0);
  model.gated = row.count("gated", 1, 0) != 0;
  model.tied = row.count("tied", 0, 0) != 0;
  // Models with ungated MLPs are assumed to have learned positions.
  model.positions = model.gated ? 0 : row.count("sequence", 1);
  if (!row.text("positions").empty()) model.positions = row.count("positions", 0, 0);
  if (row.count("bias", 0, 0) != 0) model.bias = Bias::All;
  model.dropout = row.count("dropout", 0, 0) != 0;
  model.window = row.count("window", 0, 0);
  model.full_attention_every = row.count("full_attention_every", 0, 0);
  const std::int64_t experts = row.count("experts", 0, 0);
  if (experts > 0) {
    model.experts = Experts{.count = experts,
                            .used = row.count("experts_used", 1),
                            .mlp = row.count("expert_mlp", model.mlp),
                            .shared = row.count("shared_experts", 0, 0),
                            .dense_layers = row.count("dense_layers", 0, 0)};
    if (model.experts->dense_layers > model.layers) {
      row.complain("dense_layers", fmt::format("expected at most the {} layers", model.layers));
      model.experts->dense_layers = model.layers;
    }
  }
  const std::int64_t rank = row.count("kv_rank", 0, 0);
  if (rank > 0) {
    model.latent = LatentAttention{.query_rank = row.count("query_rank", 0, 0),
                                   .key_value_rank = rank,
                                   .rope_dim = row.count("rope_dim", 0, 0)};
  }
  return model;
}

/// Sets the degree of experts, which are whole on tensor ranks if the degree allows it.  A degree
/// that no plan has, such as one over context ranks, is replaced by its greatest divisor that a
/// plan can have; the function then returns a note.
std::string set_expert(const RowReader& row, const Transformer& model, training::Plan& plan,
                       std::int64_t replicas, Unfit& unfit, std::string& reason) {
  Degrees& degrees = plan.degrees;
  const std::int64_t tensor = degrees[Role::Tensor];
  const std::int64_t count = model.experts ? model.experts->count : 1;
  const std::int64_t asked = row.count("expert", 1, 0);
  degrees[Role::Data] = replicas;
  if (asked > 1 && !model.experts) row.complain("expert", "expected 1 without experts");
  if (asked == 1 || !model.experts) return {};
  const std::int64_t chips = tensor * degrees[Role::Context] * replicas;
  if (asked > 0 && (count % asked != 0 || chips % asked != 0)) {
    unfit.add(
        row, "expert",
        fmt::format("expected a divisor of the {} experts and of the {} chips of a stage, got "
                    "{}",
                    count, chips, asked),
        reason);
    return {};
  }
  // An unpublished degree is assumed to be the largest possible one.
  const std::vector<std::int64_t> parts =
      divisors(asked > 0 ? asked : std::gcd(count, tensor * replicas));
  for (auto expert = parts.rbegin(); expert != parts.rend(); ++expert) {
    const bool whole = *expert % tensor == 0 && replicas % (*expert / tensor) == 0 &&
                       row.count("expert_tensor", 1) == 1;
    const std::int64_t among = whole ? *expert / tensor : *expert;
    if (replicas % among != 0) continue;
    degrees[Role::Expert] = among;
    degrees[Role::Data] = replicas / among;
    if (whole && tensor > 1) plan.layout = training::TensorLayout::WholeExperts;
    if (asked == 0 || *expert == asked) return {};
    return fmt::format("experts counted on {} ranks in place of {}", *expert, asked);
  }
  return {};
}

/// The modules in a list are recomputed, alone or in addition to another recipe.
void set_recompute(const RowReader& row, training::Plan& plan) {
  const std::string_view recompute = row.text("recompute");
  const std::string_view modules = row.text("recompute_modules");
  const auto read = [&](std::string_view column, std::string_view text) {
    const auto found = memory::recompute_of(text);
    if (found) return *found;
    row.complain(column, fmt::format("expected none, recipe, full, op_sac or modules joined by "
                                     "'+', got {}",
                                     in_quotes(text)));
    return training::Recompute::None;
  };
  const bool by_recipe = recompute == "recipe";
  if (!by_recipe) plan.recompute = read("recompute", recompute.empty() ? "none" : recompute);
  if (by_recipe && modules.empty()) plan.recompute = training::Recompute::Unknown;
  if (modules.empty()) return;
  const training::Recompute more = read("recompute_modules", modules);
  if (plan.recompute == training::Recompute::None || memory::is_listed(plan.recompute)) {
    plan.recompute = plan.recompute | more;
  }
}

/// Reads the plan; returns a note on cells whose values were replaced, or an empty text.
std::string set_plan(const RowReader& row, training::Task& task, training::Plan& plan, Unfit& unfit,
                     std::string& reason) {
  Degrees& degrees = plan.degrees;
  degrees[Role::Tensor] = row.count("tensor", 1);
  degrees[Role::Pipeline] = row.count("pipeline", 1);
  degrees[Role::Context] = row.count("context", 1);
  const std::int64_t others =
      degrees[Role::Tensor] * degrees[Role::Pipeline] * degrees[Role::Context];
  const std::int64_t chips = task.machine.chips;
  const std::int64_t replicas =
      row.count("data_parallel", std::max<std::int64_t>(chips / others, 1));
  if (others * replicas != chips) {
    unfit.add(row, "gpus",
              fmt::format("expected tensor {} x pipeline {} x context {} x data {}, got {}",
                          degrees[Role::Tensor], degrees[Role::Pipeline], degrees[Role::Context],
                          replicas, chips),
              reason);
  }
  plan.layout = row.count("sequence_parallel", 0, 0) != 0 ? training::TensorLayout::LeastKept
                                                          : training::TensorLayout::LeastSent;
  std::string note = set_expert(row, task.model, plan, replicas, unfit, reason);
  plan.micro_batch = row.count("micro_batch", 1);
  plan.zero = static_cast<int>(std::min<std::int64_t>(row.count("zero", 0, 0), 3));
  set_recompute(row, plan);
  constexpr training::Schedule kSchedules[] = {training::Schedule::OneForwardOneBackward,
                                               training::Schedule::OneForwardOneBackward,
                                               training::Schedule::Interleaved,
                                               training::Schedule::DualPipe,
                                               training::Schedule::ZeroBubble,
                                               training::Schedule::GPipe};
  plan.schedule = kSchedules[row.choice(
      "schedule", {"1f1b", "unknown", "interleaved", "dualpipe", "zb_h1", "gpipe"})];
  plan.chunks = row.count("chunks", 1);
  if (plan.chunks == 1 || degrees[Role::Pipeline] == 1) {
    plan.chunks = 1;
    if (plan.schedule == training::Schedule::Interleaved) {
      plan.schedule = training::Schedule::OneForwardOneBackward;
    }
  }
  // Samples beyond a multiple of the micro-batches are not counted.
  const double rounds = number(row.count("global_batch", 1)) / number(replicas * plan.micro_batch);
  task.global_batch = std::max<std::int64_t>(std::llround(rounds), 1) * replicas * plan.micro_batch;
  return note;
}

/// The words of a cell between the separators `mark`; none for an empty cell.
std::vector<std::string_view> parts_of(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(mark), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// The number that the word is, if it is one.
std::optional<double> number_of(std::string_view word) {
  try {
    return parse_number(std::string(word));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Sets states, loss and adapters of a run that differ from its stack.
void set_memory(const RowReader& row, training::Task& task) {
  stack::Stack& stack = task.stack->stack;
  if (row.text("attention") == "unfused") stack.attention = stack::Attention::Unfused;
  // Megatron stores gradients in the format in which it sends them; nanotron has separate copies.
  if (stack.states.master > 0.0 && !(stack.states.buffer > 0.0)) {
    task.changes.gradient = row.number("gradient_wire_bytes");
  }
  for (const std::string_view word : parts_of(row.text("states"), ' ')) {
    constexpr std::pair<char, std::optional<double> training::StackChanges::*> kStates[] = {
        {'w', &training::StackChanges::weight},
        {'g', &training::StackChanges::gradient},
        {'m', &training::StackChanges::master},
        {'o', &training::StackChanges::moments},
        {'x', &training::StackChanges::step}};
    const auto bytes = number_of(word.substr(1));
    const auto* state = std::find_if(std::begin(kStates), std::end(kStates),
                                     [&](const auto& one) { return one.first == word.front(); });
    if (state == std::end(kStates) || !bytes || *bytes < 0.0) {
      row.complain("states", "expected words like w2, g4, m4, o8 and x0, got " + in_quotes(word));
    } else {
      task.changes.*state->second = *bytes;
    }
  }
  if (const auto words = parts_of(row.text("loss"), ':'); !words.empty()) {
    const auto kind = value_named<memory::LossKind>(words[0]);
    const auto chunk = words.size() > 1 ? number_of(words[1]) : 1024.0;
    const bool is_known =
        kind && (*kind == memory::LossKind::FusedLinear || !stack.logits[*kind].empty());
    if (!is_known || !chunk || *chunk < 1.0) {
      row.complain("loss",
                   "expected a kind of the stack's 'logits', with ':' and the tokens of a "
                   "chunk, got " +
                       in_quotes(row.text("loss")));
    } else {
      task.changes.loss = memory::Loss{*kind, static_cast<std::int64_t>(*chunk)};
    }
  }
  for (const std::string_view word : parts_of(row.text("layer_split"), ' ')) {
    task.choices.layers.push_back(static_cast<std::int64_t>(number_of(word).value_or(0.0)));
  }
  const std::int64_t all =
      std::accumulate(task.choices.layers.begin(), task.choices.layers.end(), std::int64_t{0});
  const auto stages = std::ssize(task.choices.layers);
  if (stages > 0 && (all != task.model.layers || stages != row.count("pipeline", 1))) {
    row.complain("layer_split", fmt::format("expected the {} layers of {} stages",
                                            task.model.layers, row.count("pipeline", 1)));
  }
  const auto adapters = parts_of(row.text("lora"), ':');
  if (adapters.empty()) return;
  memory::Lora& lora = task.lora.emplace();
  lora.targets.clear();
  lora.rank = static_cast<std::int64_t>(number_of(adapters[0]).value_or(0.0));
  for (const std::string_view word :
       parts_of(adapters.size() > 1 ? adapters[1] : std::string_view("all"), '+')) {
    if (const auto target = value_named<memory::Target>(word)) lora.targets.push_back(*target);
  }
  if (lora.rank < 1 || lora.targets.empty()) {
    row.complain("lora", "expected a rank and targets like 16:q+k+v+o");
  }
  if (!row.text("frozen").empty()) {
    const auto frozen = value_named<memory::Frozen>(row.text("frozen"));
    if (!frozen) row.complain("frozen", "expected w2, nf4, nf4_single or gptq4");
    lora.frozen = frozen.value_or(lora.frozen);
  }
  lora.adapter_bytes = row.number("adapter_bytes").value_or(lora.adapter_bytes);
}

MeasuredRun read_run(const RowReader& row, Setups& setups, Unfit& unfit, InputMessages& messages) {
  MeasuredRun run;
  run.id = row.text("id");
  run.source = row.text("source");
  run.model = row.text("model");
  run.gpu = row.text("gpu");
  run.stack = row.text("stack");
  run.gpus = row.count("gpus", 1);
  run.step = row.number("step_s");
  run.reserved = row.number("reserved_gb");
  const std::string_view status = row.text("status");
  if (status == "Success" || status == "ran" || (status.empty() && run.step)) run.ran = true;
  if (status == "OOM" || status == "oom") run.ran = false;
  if (row.text("score") == "0") run.ran.reset();
  const auto peak = row.number("peak_gib");
  (row.text("peak_kind") == "reserved" ? run.reserved : run.allocated) = peak;
  if (const auto gib = row.number("reserved_gb")) run.reserved = gib;
  if (row.text("measured") == "first") run.rank = 0;
  if (row.text("measured") == "last") run.rank = -1;
  const std::string_view quality = row.text("quality");
  run.comparable = !quality.starts_with("log") || quality == "log; steady";
  const Transformer* known = row.text("hidden").empty() ? setups.model(run.model) : nullptr;
  if (row.text("hidden").empty() && !known) return run;

  const std::size_t before = messages.count();
  training::Task task;
  task.model = known ? *known : model_of(row);
  if (task.model.mixed) run.guessed = task.model.mixed->unmeasured();
  task.pass = {.tokens = row.count("sequence", 1), .causal = true};
  task.machine.chips = run.gpus;
  task.bytes.sent = row.number("gradient_wire_bytes").value_or(4.0);
  for (const auto& [kind, column] :
       {std::pair(ShelfKind::Stacks, "stack"), std::pair(ShelfKind::Curves, "gpu")}) {
    if (setups.has(kind, row.text(column))) continue;
    unfit.add(row, column, not_on_shelf(kind, row.text(column)), run.unfit);
  }
  if (!run.unfit.empty()) return run;
  run.software = setups.stack(row, messages);
  const auto chip = setups.chip(row, messages);
  if (!run.software || !chip) return run;
  task.stack = stack::Setup{.stack = *run.software, .chip = *chip};
  const auto precision = value_named<stack::Precision>(row.text("precision"));
  if (!precision) {
    row.complain("precision",
                 fmt::format("expected {}, got {}", joined_choices(all_names<stack::Precision>()),
                             in_quotes(row.text("precision"))));
    return run;
  }
  task.stack->precision = *precision;
  if (const std::string wrong = missing_precision(task.stack->chip, task.stack->precision);
      !wrong.empty()) {
    unfit.add(row, "precision", wrong, run.unfit);
    return run;
  }
  for (const Field& field : schema_of<stack::Software>().fields) {
    row.read(field, &task.stack->stack.software);
  }
  // Adds the layers of multi-token prediction after the others.
  add_prediction_layers(task.model, task.stack->stack.software.mtp);
  const auto overlap = row.number("tensor_overlap");
  if (overlap && *overlap > 1.0) row.complain("tensor_overlap", "expected a share from 0 to 1");
  // If the row has the switch `user_buffers`, its overlap is a guess, and the stack's is used.
  if (overlap && row.text("user_buffers").empty()) {
    task.stack->stack.tensor_overlap = {*overlap};
    run.says_overlap = true;
  }
  task.machine.memory[0].capacity = chip->visible;
  if (const auto gib = row.number("capacity_gib")) {
    task.machine.memory[0].capacity = Bytes(*gib * 1073741824.0);
  }
  set_memory(row, task);
  task.machine.network = training::network_of(*chip, run.gpus);
  run.note = set_plan(row, task, run.plan, unfit, run.unfit);
  if (messages.count() != before || !run.unfit.empty()) return run;
  const auto network = training::usual_network(task.machine, run.plan.degrees);
  if (!network) {
    unfit.add(row, "gpus", "expected degrees that fill the domains of the chips", run.unfit);
    return run;
  }
  run.plan.network = *network;
  run.task = std::move(task);
  return run;
}

}  // namespace

std::string unread_run_columns(const CsvTable& table, const RunTableOptions& options) {
  std::vector<std::string_view> known(std::begin(kNeededColumns), std::end(kNeededColumns));
  known.insert(known.end(), std::begin(kOtherColumns), std::end(kOtherColumns));
  for (const Field& field : schema_of<stack::Software>().fields) known.push_back(field.key);
  known.emplace_back(options.mark);
  return table.unknown_columns(known);
}

std::vector<MeasuredRun> read_runs(const CsvTable& table, InputMessages& messages,
                                   const RunTableOptions& options) {
  std::vector<std::string_view> needed(std::begin(kNeededColumns), std::end(kNeededColumns));
  if (!options.mark.empty()) needed.emplace_back(options.mark);
  table.need(needed, messages);
  messages.throw_if_any();
  std::vector<MeasuredRun> runs;
  Setups setups(options.folder);
  Unfit unfit;
  table.each_row(messages, [&](const RowReader& row) {
    runs.push_back(read_run(row, setups, unfit, messages));
    if (!options.mark.empty()) runs.back().mark = row.text(options.mark);
  });
  messages.throw_if_any();
  const auto has_plan = [](const MeasuredRun& run) { return run.task.has_value(); };
  if (std::none_of(runs.begin(), runs.end(), has_plan)) unfit.messages().throw_if_any();
  return runs;
}

}  // namespace dfsearch
