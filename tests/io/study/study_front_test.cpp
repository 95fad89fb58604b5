// Fronts of random small studies of real configs, against the front of all their points.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/error.hpp"
#include "io/study/study_file.hpp"
#include "io/study/study_outputs.hpp"
#include "io/study/study_points.hpp"
#include "study/front_search.hpp"
#include "study/point_source.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBase = R"(
workload:
  kind: graph
  global_batch: 8
  sequence: 64
  kernels:
    - {name: Up, kind: weight_gemm, M: 1024, K: 256, N: 64}
    - {name: Act, kind: elementwise, M: 1024, N: 64}
    - {name: Down, kind: weight_gemm, M: 256, K: 1024, N: 64}
  tensors:
    - {from: Up, to: Act}
    - {from: Act, to: Down}
system:
  chips: 4
  accelerator: {cores: 16, lanes: 16, stages: 8, frequency: 1 GHz, sram: 640 KiB}
  memory: {bandwidth: 50 GB/s, capacity: 1 GB}
  network:
    - {topology: ring, degree: 2, bandwidth: 25 GB/s, strategy: tensor}
    - {topology: switch, degree: 2, bandwidth: 25 GB/s, strategy: data}
execution: {partitions: 3, compute_utilization: 0.8}
price: {accelerator: 1000, memory: 1.0, link: 2.0, switch: 24.0}
power: {accelerator: 100, memory: 0.1, link: 0.05, switch: 0.05}
)";

/// All kinds of axes; two to four of them at random.
const std::vector<std::string> kAxes = {
    "{name: sram, key: system.accelerator.sram, values: [64 KiB, 320 KiB, 700 KiB, 2 MiB]}",
    "{name: memory, key: system.memory.bandwidth, from: 5 GB/s, to: 200 GB/s, steps: 4, scale: "
    "log}",
    "{name: capacity, key: system.memory.capacity, values: [1 MB, 200 kB, 1 GB]}",
    "{name: tensor, key: system.network.0.bandwidth, from: 5 GB/s, to: 80 GB/s, steps: 3}",
    "{name: frequency, key: system.accelerator.frequency, values: [2 GHz, 1 GHz, 0.5 GHz]}",
    "{name: batch, key: workload.global_batch, values: [8, 16]}",
    "{name: overlap, key: execution.overlap, values: [perfect, none]}",
    "{name: chip, choices: {small: {system.accelerator.cores: 8, price.accelerator: 600, "
    "power.accelerator: 40}, large: {system.accelerator.cores: 64, price.accelerator: 3000, "
    "power.accelerator: 300}}}",
    "{name: mix, choices: {a: {system.accelerator.cores: 12, price.accelerator: 2000}, "
    "b: {system.accelerator.cores: 20, price.accelerator: 1500}}}",
    "{name: degrees, choices: {wide: {system.network.0.degree: 4, system.network.1.degree: 1}, "
    "even: {}}}"};

const std::vector<std::string> kGoals = {"objective: step_time",
                                         "objective: cost_efficiency",
                                         "front: [step_time, price]",
                                         "front: [step_time, power]",
                                         "front: [price, utilization]",
                                         "front: [step_time, price, power]",
                                         "front: [cost_efficiency, power_efficiency]",
                                         "front: [step_time, price], limits: {price: ..6000}"};

/// A study with at most 64 points.
std::string random_study(std::mt19937_64& random) {
  std::vector<std::string> axes = kAxes;
  std::shuffle(axes.begin(), axes.end(), random);
  axes.resize(2 + random() % 2);
  // Two axes that both set cores conflict.
  const auto sets_cores = [](const std::string& axis) {
    return axis.find("accelerator.cores") != std::string::npos;
  };
  if (std::count_if(axes.begin(), axes.end(), sets_cores) > 1) {
    axes.erase(std::find_if(axes.begin(), axes.end(), sets_cores));
  }
  std::string text = fmt::format("study: {{name: random, {}}}\nbase: {{from: base.yaml}}\naxes:\n",
                                 kGoals[random() % kGoals.size()]);
  for (const std::string& axis : axes) text += "  - " + axis + "\n";
  return text;
}

using Figures = std::vector<std::pair<study::PointIndex, double>>;

Figures front_of(const Study& study, const StudyPoints& points, bool all, int threads,
                 std::int64_t& solved) {
  StudyState state;
  state.growth = points.growth();
  study::PointAnswers answers;
  const study::PointKnowledge knowledge{
      .growth = state.growth,
      .facts = [&](study::PointIndex point) { return points.facts(point); },
      .known = [](study::PointIndex) { return nullptr; }};
  const study::PointIndex count = points.grid().count();
  study::AllPoints every(points.grid(), 0, count, knowledge.known);
  study::FrontSearch some(points.grid(), study.goal, knowledge, 0, count);
  study::PointSource& source = all ? static_cast<study::PointSource&>(every) : some;
  const bool done =
      study::run_points(source,
                        [&](study::PointIndex point, const study::PointEffort& effort) {
                          return points.solve(point, effort);
                        },
                        {.threads = threads, .on_answer = [&](const study::PointAnswer& answer) {
                           CAPTURE(answer.reason);
                           REQUIRE(answer.status != study::PointStatus::Failed);
                           REQUIRE(answer.exact);
                           ++solved;
                           answers.emplace(answer.index, answer);
                         }});
  REQUIRE(done);
  Figures figures;
  for (const auto& member : dfsearch::front_of(study, points.grid(), state, answers)) {
    figures.emplace_back(member.index, member.figures[study.goal.figures.front()]);
  }
  return figures;
}

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / fmt::format("dfsearch_study_{}", ::getpid())) {
    fs::create_directories(path_);
    write("base.yaml", kBase);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

 private:
  fs::path path_;
};

TEST_CASE("the front of a study is that of all its points" * doctest::test_suite("slow")) {
  const Folder folder;
  std::int64_t solved = 0, of_all = 0;
  for (std::uint64_t seed = 0; seed < 320; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::string text = random_study(random);
    CAPTURE(text);
    const Study study = load_study(folder.write("study.yaml", text));
    const StudyPoints points(study, {});
    const Figures expected = front_of(study, points, true, 1, of_all);
    for (const int threads : {1, 2, 8}) {
      if (threads > 1 && seed % 8 != 0) continue;
      CAPTURE(threads);
      std::int64_t now = 0;
      REQUIRE(front_of(study, points, false, threads, now) == expected);
      if (threads == 1) solved += now;
    }
  }
  CHECK(solved < of_all);
}

/// What a base says in place of the plain one: machines of other sizes, styles, searches, models.
const std::vector<std::pair<std::string, std::string>> kOtherBases = {
    {"cores: 16", "cores: 2"},
    {"bandwidth: 50 GB/s", "bandwidth: 7 GB/s"},
    {"chips: 4", "chips: 4\n  from: slow.yaml"},
    {"sram: 640 KiB", "sram: 90 KiB"},
    {"execution: {partitions: 3, compute_utilization: 0.8}", "execution: {partitions: 3}"},
    {"execution: {partitions: 3, compute_utilization: 0.8}",
     "execution: {style: kernel_by_kernel, compute_utilization: 0.9}"},
    {"topology: ring, degree: 2", "topology: ring"},
    {"execution:", "search: {sharding: joint}\nexecution:"},
    {"power: {accelerator: 100, memory: 0.1, link: 0.05, switch: 0.05}", ""},
    {"capacity: 1 GB", "capacity: 300 kB, second: {bandwidth: 3 GB/s, capacity: 1 GB}"},
    {"execution:", "search: {objective: cost_efficiency}\nexecution:"}};

/// Choices that leave something to the base, or to a file that another axis chooses.
const std::vector<std::string> kPartialAxes = {
    "{name: cores, choices: {few: {system.accelerator.cores: 8}, own: {}}}",
    "{name: memory, choices: {own: {}, much: {system.memory.bandwidth: 20 GB/s}}}",
    "{name: sram, choices: {own: {}, more: {system.accelerator.sram: 256 KiB, "
    "power.memory: 0.2}}}",
    "{name: links, key: \"system.network.*.bandwidth\", from: 4 GB/s, to: 60 GB/s, steps: 3}",
    "{name: machine, key: system.from, values: [slow.yaml, fast.yaml]}",
    "{name: frequency, key: system.accelerator.frequency, values: [0.5 GHz, 2 GHz]}",
    "{name: sequence, key: workload.sequence, values: [64, 32]}",
    "{name: price, choices: {list: {}, sale: {price: {accelerator: 10, link: [1.0, 2.0]}}}}"};

std::string with(std::string text, const std::pair<std::string, std::string>& change) {
  const std::size_t at = text.find(change.first);
  return at == std::string::npos ? text : text.replace(at, change.first.size(), change.second);
}

std::string random_study_of_bases(const Folder& folder, std::mt19937_64& random) {
  std::vector<std::string> axes = kPartialAxes;
  std::shuffle(axes.begin(), axes.end(), random);
  axes.resize(1 + random() % 3);
  std::string bases;
  const std::size_t several = 1 + random() % 3;
  for (std::size_t i = 0; i < several; ++i) {
    std::string text = kBase;
    // The chip may come from a file, so that an axis can choose another one.
    if (random() % 2 == 0) {
      text = with(text, {"accelerator: {cores: 16, lanes: 16, stages: 8, frequency: 1 GHz, sram: "
                         "640 KiB}",
                         "from: fast.yaml"});
    }
    text = with(text, kOtherBases[random() % kOtherBases.size()]);
    if (text.find("from: slow") != std::string::npos &&
        text.find("from: fast") != std::string::npos)
      text = with(text, {"  from: slow.yaml\n", ""});
    const std::string name = fmt::format("base{}", i);
    folder.write(name + ".yaml", text);
    bases += fmt::format("{}{}: {{from: {}.yaml}}", i == 0 ? "" : ", ", name, name);
  }
  std::string text = fmt::format("study: {{name: random, {}}}\nbase: {{{}}}\naxes:\n",
                                 kGoals[random() % kGoals.size()], bases);
  for (const std::string& axis : axes) text += "  - " + axis + "\n";
  return text;
}

/// Whether some point has no figure that the study asks for, which is refused before any is solved.
bool lacks_figures(const StudyPoints& points) {
  try {
    points.check();
    return false;
  } catch (const InputError& error) {
    CAPTURE(error.what());
    for (const std::string& message : error.messages()) {
      REQUIRE(message.find(": a point has none (") != std::string::npos);
    }
    return true;
  }
}

TEST_CASE("what a base leaves out of a choice, or says of it, is no growth of all points" *
          doctest::test_suite("slow")) {
  const Folder folder;
  for (const auto& [name, cores] : {std::pair("fast.yaml", 32), std::pair("slow.yaml", 4)}) {
    folder.write(name, fmt::format("accelerator: {{cores: {}, lanes: 16, stages: 8, frequency: 1 "
                                   "GHz, sram: 640 KiB}}\n",
                                   cores));
  }
  std::int64_t solved = 0, of_all = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::string text = random_study_of_bases(folder, random);
    CAPTURE(text);
    const Study study = load_study(folder.write("study.yaml", text));
    const StudyPoints points(study, {});
    if (lacks_figures(points)) {
      ++refused;
      continue;
    }
    const Figures expected = front_of(study, points, true, 1, of_all);
    REQUIRE(front_of(study, points, false, 1, solved) == expected);
  }
  CHECK(solved < of_all);
  CHECK(refused < 30);
}

}  // namespace
}  // namespace dfsearch
