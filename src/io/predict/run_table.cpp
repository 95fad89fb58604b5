// Every column that a task or a plan needs is read and checked cell by cell; what is said twice in
// a row, as the degrees and the number of chips, must agree.

#include "io/predict/run_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/divisors.hpp"
#include "base/number.hpp"
#include "io/config/shelf.hpp"
#include "io/config/stack_files.hpp"
#include "io/text/read_file.hpp"
#include "model/training/stack_run.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;
using training::Degrees;
using training::Role;

struct Cell {
  std::string text;
  int line = 0, column = 0;
};

/// Rows of cells; cells in double quotes may hold commas, lines and doubled quotes.
std::vector<std::vector<Cell>> cells_of(const std::string& text) {
  std::vector<std::vector<Cell>> rows;
  std::vector<Cell> row;
  int line = 1, column = 1;
  Cell cell{.line = 1, .column = 1};
  bool quoted = false;
  const auto end_cell = [&] {
    row.push_back(std::move(cell));
    cell = {.line = line, .column = column + 1};
  };
  const auto end_row = [&] {
    end_cell();
    if (row.size() > 1 || !row.front().text.empty()) rows.push_back(std::move(row));
    row.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      if (quoted && i + 1 < text.size() && text[i + 1] == '"') {
        cell.text += '"';
        ++i;
        ++column;
      } else {
        quoted = !quoted;
      }
    } else if (c == ',' && !quoted) {
      end_cell();
    } else if (c == '\n' && !quoted) {
      end_row();
      cell = {.line = line + 1, .column = 1};
    } else if (c != '\r') {
      cell.text += c;
    }
    ++column;
    if (c == '\n') {
      ++line;
      column = 1;
    }
  }
  if (!cell.text.empty() || !row.empty()) end_row();
  return rows;
}

constexpr std::string_view kNeededColumns[] = {
    "id",           "gpu",         "gpus",   "hidden",     "heads",     "kv_heads",
    "head_dim",     "mlp",         "layers", "vocabulary", "precision", "sequence",
    "global_batch", "micro_batch", "tensor", "pipeline",   "stack"};

using Header = std::map<std::string, std::size_t, std::less<>>;

/// The cells of one row by their names.
class RowReader {
 public:
  RowReader(const Header& header, const std::vector<Cell>& row,
            const std::shared_ptr<const std::string>& source, InputMessages& messages)
      : header_(header), row_(row), source_(source), messages_(messages) {}

  /// Empty if there is no such column, or nothing in it.
  [[nodiscard]] std::string_view text(std::string_view column) const {
    const Cell* cell = find(column);
    return cell ? std::string_view(cell->text) : std::string_view();
  }

  void complain(std::string_view column, const std::string& what) const {
    messages_.add(place(column), column, what);
  }
  [[nodiscard]] Place place(std::string_view column) const {
    const Cell* cell = find(column);
    if (!cell) cell = &row_.front();
    return {.source = source_, .line = cell->line, .column = cell->column};
  }

  [[nodiscard]] std::optional<double> number(std::string_view column) const {
    const std::string_view cell = text(column);
    if (cell.empty()) return std::nullopt;
    double value = 0.0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error == std::errc() && end == cell.data() + cell.size() && value >= 0.0 && value < 1e15) {
      return value;
    }
    complain(column, "expected a number from 0, got " + in_quotes(cell));
    return std::nullopt;
  }
  [[nodiscard]] std::int64_t count(std::string_view column, std::int64_t preset,
                                   std::int64_t least = 1) const {
    const std::optional<double> value = number(column);
    if (!value) return preset;
    if (*value >= number_of(least) && *value < 1e12 && *value == std::floor(*value)) {
      return static_cast<std::int64_t>(*value);
    }
    complain(column, fmt::format("expected a whole number from {}, got {}", least,
                                 in_quotes(text(column))));
    return preset;
  }
  /// The index of the word.
  [[nodiscard]] std::size_t choice(std::string_view column,
                                   const std::vector<std::string_view>& words) const {
    const std::string_view cell = text(column);
    if (cell.empty()) return 0;
    const auto found = std::find(words.begin(), words.end(), cell);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    complain(column, fmt::format("expected {}, got {}", joined_choices(words), in_quotes(cell)));
    return 0;
  }

 private:
  static double number_of(std::int64_t count) { return dfsearch::number(count); }
  [[nodiscard]] const Cell* find(std::string_view column) const {
    const auto found = header_.find(column);
    return found == header_.end() || found->second >= row_.size() ? nullptr : &row_[found->second];
  }

  const Header& header_;
  const std::vector<Cell>& row_;
  const std::shared_ptr<const std::string>& source_;
  InputMessages& messages_;
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
  std::shared_ptr<const stack::MeasuredChip> chip(const RowReader& row, InputMessages& messages) {
    return find(chips_, row, "gpu", [&](const std::string& name, const Place& place) {
      return load_measured_chip(name, {}, place, messages);
    });
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
  // Models of plain MLPs have learned positions, for all that is known of a run.
  model.positions = model.gated ? 0 : row.count("sequence", 1);
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

/// Experts are whole on tensor ranks wherever their degree allows it.  Of a degree that plans do not
/// have, as one over context ranks, the greatest divisor counts that they have, and a note says so.
std::string set_expert(const RowReader& row, const Transformer& model, training::Plan& plan,
                       std::int64_t replicas) {
  Degrees& degrees = plan.degrees;
  const std::int64_t tensor = degrees[Role::Tensor];
  const std::int64_t count = model.experts ? model.experts->count : 1;
  const std::int64_t asked = row.count("expert", 1, 0);
  degrees[Role::Data] = replicas;
  if (asked > 1 && !model.experts) row.complain("expert", "expected 1 without experts");
  if (asked == 1 || !model.experts) return {};
  const std::int64_t chips = tensor * degrees[Role::Context] * replicas;
  if (asked > 0 && (count % asked != 0 || chips % asked != 0)) {
    row.complain("expert", fmt::format("expected a divisor of the {} experts and of the {} chips "
                                       "of a stage, got {}",
                                       count, chips, asked));
    return {};
  }
  // A degree that is not published: as many as there are in reach.
  const std::vector<std::int64_t> parts =
      divisors(asked > 0 ? asked : std::gcd(count, tensor * replicas));
  for (auto expert = parts.rbegin(); expert != parts.rend(); ++expert) {
    const bool whole = *expert % tensor == 0 && replicas % (*expert / tensor) == 0;
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

/// A note on what of the row is not counted as it says.
std::string set_plan(const RowReader& row, training::Task& task, training::Plan& plan) {
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
    row.complain("gpus", fmt::format("expected tensor {} x pipeline {} x context {} x data {}, got "
                                     "{}",
                                     degrees[Role::Tensor], degrees[Role::Pipeline],
                                     degrees[Role::Context], replicas, chips));
  }
  plan.layout = row.count("sequence_parallel", 0, 0) != 0 ? training::TensorLayout::LeastKept
                                                          : training::TensorLayout::LeastSent;
  std::string note = set_expert(row, task.model, plan, replicas);
  plan.micro_batch = row.count("micro_batch", 1);
  plan.zero = static_cast<int>(std::min<std::int64_t>(row.count("zero", 0, 0), 3));
  constexpr training::Recompute kRecomputes[] = {
      training::Recompute::None, training::Recompute::None, training::Recompute::Full,
      training::Recompute::Selective, training::Recompute::EverySecondProduct};
  plan.recompute =
      kRecomputes[row.choice("recompute", {"none", "recipe", "full", "selective", "op_sac"})];
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
  // What is left of a batch that micro-batches do not divide is not counted.
  const double rounds = number(row.count("global_batch", 1)) / number(replicas * plan.micro_batch);
  task.global_batch = std::max<std::int64_t>(std::llround(rounds), 1) * replicas * plan.micro_batch;
  return note;
}

MeasuredRun read_run(const RowReader& row, Setups& setups, InputMessages& messages) {
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
  if (status == "Success") run.ran = true;
  if (status == "OOM") run.ran = false;
  const std::string_view quality = row.text("quality");
  run.comparable = !quality.starts_with("log") || quality == "log; steady";
  if (row.text("hidden").empty()) return run;

  const std::size_t before = messages.count();
  training::Task task;
  task.model = model_of(row);
  task.pass = {.tokens = row.count("sequence", 1), .causal = true};
  task.machine.chips = run.gpus;
  task.bytes.sent = row.number("gradient_wire_bytes").value_or(4.0);
  run.software = setups.stack(row, messages);
  const auto chip = setups.chip(row, messages);
  if (!run.software || !chip) return run;
  task.stack = stack::Setup{.stack = *run.software, .chip = *chip};
  const auto precisions = words(stack::Precision{});
  const auto precision = std::find_if(precisions.begin(), precisions.end(), [&](const auto& word) {
    return row.text("precision") == word.name;
  });
  if (precision == precisions.end()) {
    std::vector<std::string_view> names;
    for (const auto& word : precisions) names.emplace_back(word.name);
    row.complain("precision", fmt::format("expected {}, got {}", joined_choices(names),
                                          in_quotes(row.text("precision"))));
    return run;
  }
  task.stack->precision = precision->value;
  if (const std::string wrong = missing_precision(task.stack->chip, task.stack->precision);
      !wrong.empty()) {
    row.complain("precision", wrong);
  }
  if (const auto overlap = row.number("tensor_overlap")) {
    if (*overlap > 1.0) row.complain("tensor_overlap", "expected a share from 0 to 1");
    task.stack->stack.tensor_overlap = {*overlap};
    run.says_overlap = true;
  }
  task.machine.memory[0].capacity = chip->usable;
  task.machine.network = training::network_of(*chip, run.gpus);
  run.note = set_plan(row, task, run.plan);
  if (messages.count() != before) return run;
  const auto network = training::usual_network(task.machine, run.plan.degrees);
  if (!network) {
    row.complain("gpus", "expected degrees that fill the domains of the chips");
    return run;
  }
  run.plan.network = *network;
  run.task = std::move(task);
  return run;
}

}  // namespace

std::vector<MeasuredRun> parse_runs(const std::string& text, const std::string& source,
                                    const RunTableOptions& options) {
  InputMessages messages;
  const auto name = std::make_shared<const std::string>(source);
  const std::vector<std::vector<Cell>> rows = cells_of(text);
  Header header;
  const Place start{.source = name, .line = 1, .column = 1};
  if (rows.empty()) messages.add(start, "", "expected a line with the names of columns, got none");
  messages.throw_if_any();
  for (std::size_t i = 0; i < rows.front().size(); ++i) {
    const Cell& cell = rows.front()[i];
    if (header.emplace(cell.text, i).second) continue;
    messages.add({.source = name, .line = cell.line, .column = cell.column}, cell.text,
                 "this column stands twice");
  }
  std::vector<std::string_view> needed(std::begin(kNeededColumns), std::end(kNeededColumns));
  if (!options.mark.empty()) needed.emplace_back(options.mark);
  for (const std::string_view column : needed) {
    if (header.find(column) == header.end()) messages.add(start, column, "this column is missing");
  }
  messages.throw_if_any();
  std::vector<MeasuredRun> runs;
  Setups setups(options.folder);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::vector<Cell>& row = rows[i];
    if (row.size() != rows.front().size()) {
      messages.add({.source = name, .line = row.front().line, .column = 1}, "",
                   fmt::format("expected {} cells, got {}", rows.front().size(), row.size()));
      continue;
    }
    const RowReader reader(header, row, name, messages);
    runs.push_back(read_run(reader, setups, messages));
    if (!options.mark.empty()) runs.back().mark = reader.text(options.mark);
  }
  messages.throw_if_any();
  return runs;
}

std::vector<MeasuredRun> load_runs(const fs::path& file, const RunTableOptions& options) {
  return parse_runs(read_file(file, std::size_t{64} << 20), file.string(), options);
}

}  // namespace dfsearch
