#include "cli/option_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <utility>

#include "base/units_text.hpp"
#include "io/config/shelf.hpp"
#include "io/huggingface/family_file.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/json_text.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kMostExtent = std::int64_t{1} << 31;

/// Refuses two outputs to one file, and standard output for outputs that must be files.  `output`
/// is the value of -o, unless its default is standard output.
void refuse_shared_outputs(const CommandLine& line, const std::string& output) {
  for (const auto& [option, file] :
       {std::pair("--html", &line.html), std::pair("--mapping", &line.mapping),
        std::pair("--checkpoint", &line.checkpoint), std::pair("--resume", &line.resume),
        std::pair("--fit", &line.fit)}) {
    if (*file == "-") usage_error(fmt::format("{}: expected a file, got '-'", option));
  }
  const std::array outputs = {
      std::pair("--json", &line.json),       std::pair("--html", &line.html),
      std::pair("--mapping", &line.mapping), std::pair("--checkpoint", &line.checkpoint),
      std::pair("--events", &line.events),   std::pair("-o", &output),
      std::pair("--fit", &line.fit),         std::pair("--emit", &line.emitted)};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t j = i + 1; j < outputs.size(); ++j) {
      const std::string& file = *outputs[i].second;
      if (file.empty() || file != *outputs[j].second) continue;
      usage_error(fmt::format("{} and {}: both go to {}", outputs[i].first, outputs[j].first,
                              in_quotes(file)));
    }
  }
}

}  // namespace

void drop_bound(CommandLine& line, const OptionRow& row, const std::string& value) {
  std::vector<std::string_view> names;
  for (const SearchBoundName& bound : kSearchBounds) {
    if (bound.name == value) return line.search.bounds.drop(bound.bound);
    names.push_back(bound.name);
  }
  refuse_word(row.name(), value, names);
}

/// Replaces the whole section `system`; the path of a file is relative to the current folder.
void system_name(CommandLine& line, const OptionRow&, const std::string& value) {
  const std::filesystem::path file = find_input(value, ShelfKind::Systems);
  const std::string from =
      is_on_shelf(file) ? file.stem().string() : std::filesystem::absolute(file).string();
  line.overrides.push_back("system=" + Json({{"from", from}}).dump());
}

void chip_count(CommandLine& line, const OptionRow& row, const std::string& value) {
  line.overrides.push_back(
      fmt::format("system.chips={}", parse_count(row.name(), value, row.most)));
}

void memory_limit(CommandLine& line, const OptionRow& row, const std::string& value) {
  line.search.memory_limit = converted(row.name(), [&] { return parse_quantity<Bytes>(value); });
  if (*line.search.memory_limit < kLeastMemoryLimit) {
    usage_error(row.name() + ": expected at least 16 MiB, got " + in_quotes(value));
  }
}

void families_folder(CommandLine&, const OptionRow&, const std::string& value) {
  add_families(value);
}

void objective(CommandLine& line, const OptionRow&, const std::string& value) {
  line.overrides.push_back("search.objective=" + value);
}

constexpr std::int64_t kMostSide = 128;  // of a mesh

/// Reads extents with an x between them.
template <std::size_t N>
std::array<std::int64_t, N> extents_of(const OptionRow& row, const std::string& value,
                                       const char* expected) {
  std::array<std::int64_t, N> extents{};
  const char* at = value.data();
  const char* const end = value.data() + value.size();
  bool right = true;
  for (std::size_t i = 0; right && i < extents.size(); ++i) {
    const auto [rest, error] = std::from_chars(at, end, extents[i]);
    right = error == std::errc() && extents[i] >= 1 && extents[i] <= kMostExtent &&
            (i + 1 == N ? rest == end : rest != end && *rest == 'x');
    at = right && i + 1 < N ? rest + 1 : rest;
  }
  if (!right) {
    usage_error(row.name() + ": expected " + expected + ", got " + in_quotes(value));
  }
  return extents;
}

void shape(CommandLine& line, const OptionRow& row, const std::string& value) {
  const auto [m, k, n] =
      extents_of<3>(row, value, "three extents from 1 to 2^31 like 4096x1024x2048");
  line.shapes.push_back({.m = m, .k = k, .n = n});
}

void lstm_model(CommandLine& line, const OptionRow& row, const std::string& value) {
  constexpr double kMostElements = 1LL << 53;
  const auto [batch, hidden, vocabulary, layers, steps] =
      extents_of<5>(row, value, "five extents from 1 to 2^31 like 2048x2048x2048x2x20");
  const double columns = static_cast<double>(batch) * static_cast<double>(steps);
  if (columns > kMostExtent || static_cast<double>(hidden) * 10.0 > kMostExtent ||
      static_cast<double>(vocabulary) * 2.0 > kMostExtent ||
      columns * static_cast<double>(std::max(hidden, vocabulary)) * 10.0 > kMostElements) {
    usage_error(row.name() +
                ": expected less than 2^53 elements in all and extents below 2^31, got " +
                in_quotes(value));
  }
  line.lstms.push_back({.batch = batch,
                        .hidden = hidden,
                        .vocabulary = vocabulary,
                        .layers = layers,
                        .steps = steps});
}

void hpl_grid(CommandLine& line, const OptionRow& row, const std::string& value) {
  const auto [p, q] = extents_of<2>(row, value, "two sides from 1 to 2^31 like 4x2");
  line.hpc.grid = {p, q};
}

void fft_size(CommandLine& line, const OptionRow& row, const std::string& value) {
  const auto dimensions = std::count(value.begin(), value.end(), 'x') + 1;
  constexpr const char* kExpected = "one to three sides from 1 to 2^31 like 2048x2048x2048";
  const auto set = [&line](const auto& sides) {
    line.hpc.sides.assign(sides.begin(), sides.end());
  };
  if (dimensions == 1) {
    set(extents_of<1>(row, value, kExpected));
  } else if (dimensions == 2) {
    set(extents_of<2>(row, value, kExpected));
  } else {
    set(extents_of<3>(row, value, kExpected));
  }
}

void fft_element(CommandLine& line, const OptionRow& row, const std::string& value) {
  constexpr std::array<std::string_view, 2> kElements = {"c64", "c128"};
  if (value != kElements[0] && value != kElements[1]) refuse_word(row.name(), value, kElements);
  line.hpc.element = Bytes(value == kElements[0] ? 8.0 : 16.0);
}

void fft_repack(CommandLine& line, const OptionRow& row, const std::string& value) {
  line.hpc.repack = parse_count(row.name(), value, row.most, 0);
}

void mesh_axis(CommandLine& line, const OptionRow& row, const std::string& value) {
  constexpr std::size_t kMostAxes = 6;  // 6! orders
  if (line.axes.size() == kMostAxes) {
    usage_error(fmt::format("{}: expected at most {} axes", row.name(), kMostAxes));
  }
  line.axes.push_back({.extent = parse_count(row.name(), value, kMostSide * kMostSide)});
}

void open_axis(CommandLine& line, const OptionRow& row, const std::string& value) {
  mesh_axis(line, row, value);
  line.axes.back().open = true;
}

void word_size(CommandLine& line, const OptionRow& row, const std::string& value) {
  line.word = converted(row.name(), [&] { return parse_quantity<Bytes>(value); });
  if (line.word < Bytes(0.125) || line.word > Bytes(1024.0)) {
    usage_error(row.name() + ": expected a size from 1 bit to 1 KiB, got " + in_quotes(value));
  }
}

void holdout(CommandLine& line, const OptionRow& row, const std::string& value) {
  const std::size_t equals = value.find('=');
  if (equals != std::string::npos && equals > 0) {
    line.held_out.column = value.substr(0, equals);
    line.held_out.value = value.substr(equals + 1);
    return;
  }
  line.held_out.share = converted(row.name(), [&] { return parse_number(value); });
  if (!(line.held_out.share > 0.0 && line.held_out.share < 1.0)) {
    usage_error(row.name() + ": expected a share between 0 and 1, or COLUMN=VALUE, got " +
                in_quotes(value));
  }
}

/// Reads "megatron=launch.sh".
void emit_to(CommandLine& line, const OptionRow& row, const std::string& value) {
  const std::size_t equals = value.find('=');
  line.emit_for = parse_word<EmitFormat>(row.name(), value.substr(0, equals));
  if (equals != std::string::npos) line.emitted = value.substr(equals + 1);
  if (line.emitted.empty() || line.emitted == "-") {
    usage_error(fmt::format("{}: expected FRAMEWORK=FILE, got {}", row.name(), in_quotes(value)));
  }
}

/// Reads "3/16", the third of sixteen parts.
void shard(CommandLine& line, const OptionRow& row, const std::string& value) {
  constexpr std::int64_t kMostShards = 1'000'000;
  const std::size_t slash = value.find('/');
  if (slash == std::string::npos) {
    usage_error(row.name() + ": expected K/N, the K-th of N parts, got " + in_quotes(value));
  }
  const std::int64_t of = parse_count(row.name(), value.substr(slash + 1), kMostShards);
  line.study.shard = {.part = parse_count(row.name(), value.substr(0, slash), of) - 1, .of = of};
}

namespace {

void set_task(CommandLine& line, StudyLine::Task task) {
  if (line.study.task != StudyLine::Task::Run && line.study.task != task) {
    usage_error("--points, --dry-run and --print exclude each other");
  }
  line.study.task = task;
}

}  // namespace

void study_points(CommandLine& line, const OptionRow&, const std::string&) {
  set_task(line, StudyLine::Task::List);
}

void study_print(CommandLine& line, const OptionRow&, const std::string& value) {
  set_task(line, StudyLine::Task::Print);
  line.study.point = value;
}

void study_dry_run(CommandLine& line, const OptionRow&, const std::string&) {
  set_task(line, StudyLine::Task::DryRun);
}

void finish_solve(CommandLine& line) {
  if (line.search.threads == 0) line.search.threads = hardware_threads();
  if (line.quiet && line.verbose) usage_error("--quiet and --verbose exclude each other");
  refuse_shared_outputs(line, "");
}

void finish_evaluate(CommandLine& line) {
  if (line.mapping.empty() && line.solution.empty()) {
    usage_error("evaluate: missing --mapping FILE or --solution FILE");
  }
}

void finish_graph(CommandLine& line) {
  if (!line.mapping.empty() && line.format != GraphFormat::Dot) {
    usage_error("--mapping: only --format dot shows a mapping");
  }
}

void finish_gemm(CommandLine& line) {
  if (line.shapes.empty() && line.lstms.empty()) usage_error("gemm: missing --shape MxKxN");
}

void finish_fft(CommandLine& line) {
  if (line.hpc.layout == FftLayout::Pencil && line.hpc.sides.size() < 3) {
    usage_error("--layout: only transforms of three dimensions have pencils");
  }
}

/// Reads the input WxH, and checks that the axes have its chips.
void finish_mesh(CommandLine& line) {
  const std::size_t cross = line.config.find('x');
  if (cross == std::string::npos) {
    usage_error("mesh: expected sides like 8x8, got " + in_quotes(line.config));
  }
  line.mesh.width = parse_count("mesh", line.config.substr(0, cross), kMostSide);
  line.mesh.height = parse_count("mesh", line.config.substr(cross + 1), kMostSide);
  std::int64_t chips = 1;
  for (const MeshAxis& axis : line.axes) {
    if (line.mesh.chips() % (chips * axis.extent) != 0) chips = line.mesh.chips() + 1;
    if (chips > line.mesh.chips()) break;
    chips *= axis.extent;
  }
  if (chips != line.mesh.chips()) {
    usage_error(fmt::format("--axis: expected extents whose product is {}, the chips of the mesh",
                            line.mesh.chips()));
  }
}

void finish_predict(CommandLine& line) {
  if (line.search.threads == 0) line.search.threads = hardware_threads();
  refuse_shared_outputs(line, line.output);
  if (!line.fit.empty() && !line.left_out.empty()) usage_error("--leave-out: not with --fit");
  if (!line.fit.empty()) return;
  if (!line.fit_stack.empty() && line.left_out.empty()) {
    usage_error("--stack: only with --fit or --leave-out");
  }
  if (line.held_out.share > 0.0 || !line.held_out.column.empty()) {
    usage_error("--holdout: only with --fit");
  }
}

void finish_emit(CommandLine& line) {
  if (*line.emit_for == EmitFormat::Chakra && line.output == "-") {
    usage_error("emit: traces are files, expected -o DIR/PREFIX");
  }
}

void finish_list(CommandLine& line) {
  if (line.config.empty()) return;
  line.kinds.push_back(ShelfKind::Configs);
  const auto names = names_of(line.kinds, [](ShelfKind kind) { return name_of(kind); });
  const auto found = std::find(names.begin(), names.end(), line.config);
  if (found == names.end()) {
    refuse_word("list", line.config, names);
  }
  line.kinds = {line.kinds[static_cast<std::size_t>(found - names.begin())]};
}

void finish_completion(CommandLine& line) {
  line.shell = parse_word<Shell>("completion", line.config);
}

void finish_study(CommandLine& line) {
  using Task = StudyLine::Task;
  StudyLine& study = line.study;
  if (line.config == "merge") {
    study.task = Task::Merge;
    if (line.more_configs.empty()) usage_error("study merge: missing folders of results");
    if (study.output.empty()) {
      usage_error("study merge: missing -o DIR, the folder for the results");
    }
    return;
  }
  if (!line.more_configs.empty()) {
    usage_error("study: expected one study, got also " + in_quotes(line.more_configs[0]));
  }
  line.config = find_input(line.config, ShelfKind::Studies).string();
  if (study.task == Task::Run && study.output.empty()) {
    study.output = std::filesystem::path(line.config).stem().string();
    study.output_is_named = false;
  }
}

}  // namespace dfsearch
