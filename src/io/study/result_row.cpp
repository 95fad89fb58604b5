#include "io/study/result_row.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/units_text.hpp"
#include "engine/tree/tree_search.hpp"
#include "io/text/files.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

/// Keys that a row keeps of a result, in this order.
constexpr std::array kKept = {"stopped_by",
                              "scope",
                              "objective_name",
                              "objective",
                              "step_time",
                              "lower_bound",
                              "gap",
                              "utilization",
                              "flop",
                              "price",
                              "power",
                              "cost_efficiency",
                              "power_efficiency",
                              "tokens_per_second",
                              "tokens_per_s_per_chip",
                              "tokens_per_s_per_dollar",
                              "serving",
                              "parallelism",
                              "network",
                              "micro_batch",
                              "tile",
                              "plan",
                              "execution",
                              "bound_by",
                              "time_shares",
                              "time",
                              "memory",
                              "energy",
                              "infeasible"};
constexpr std::array kOfSearch = {"nodes", "time"};

std::string reason_of(const Json& result) {
  const auto found = result.find("infeasible");
  if (found == result.end() || !found->is_object()) return "";
  const Json& lack = *found;
  const auto number = [&](const char* key) {
    return lack.contains(key) && lack[key].is_number() ? lack[key].get<double>() : 0.0;
  };
  if (lack.contains("text")) return lack["text"].get<std::string>();
  const std::string what = lack.value("limit", lack.value("resource", std::string("capacity")));
  return fmt::format("{}: needs {}, has {}", what, to_text(Bytes(number("needed"))),
                     to_text(Bytes(number("available"))));
}

Json search_of(const Json& result, bool tells_time) {
  Json search = Json::object();
  const auto found = result.find("search");
  if (found == result.end() || !found->is_object()) return {};
  for (const char* key : kOfSearch) {
    const bool told = tells_time || std::string_view(key) != "time";
    search[key] = told && found->contains(key) ? (*found)[key] : Json();
  }
  const Json space = found->value("space", Json());
  search["space"] = space.is_object() ? space.at("total") : Json();
  return search;
}

/// Hash of the line without its search, in hexadecimal digits.
std::string digest(const Json& line) { return fmt::format("{:016x}", hash_of(json_line(line))); }

/// Throws Json::exception.
study::PointAnswer read_line(const Json& line, const std::string& row) {
  study::PointAnswer answer;
  if (!line.at("index").is_number_integer()) throw InputError("index: expected a whole number");
  answer.index = line.at("index").get<study::PointIndex>();
  const auto status = value_of<study::PointStatus>(line.at("status"));
  if (!status) throw InputError("status: unknown " + line.at("status").get<std::string>());
  answer.status = *status;
  if (line.at("reason").is_string()) answer.reason = line.at("reason").get<std::string>();
  // Rows of earlier versions have none.
  answer.rates = value_of<study::Rates>(line.value("rates", Json())).value_or(answer.rates);
  const auto number = [](const Json& of, std::string_view key) {
    const auto found = of.find(std::string(key));
    return found != of.end() && found->is_number() ? found->get<double>()
                                                   : std::numeric_limits<double>::quiet_NaN();
  };
  const Json serving = line.value("serving", Json());
  const Json deployment = serving.is_object() ? serving.value("figures", Json()) : Json();
  const Json energy = line.value("energy", Json());
  for (const study::Figure figure : study::kFigures) {
    answer.figures[figure] = number(line, study::name_of(figure));
    for (const Json* part : {&serving, &deployment, &energy}) {
      if (answer.figures.has(figure) || !part->is_object()) continue;
      answer.figures[figure] = number(*part, study::name_of(figure));
    }
  }
  if (energy.is_object() && !answer.figures.has(study::Figure::JoulePerToken)) {
    answer.figures[study::Figure::JoulePerToken] = number(energy, "joules_per_token");
  }
  const Json search = line.value("search", Json());
  if (const double space = search.is_object() ? number(search, "space") : 0.0; space > 0.0) {
    answer.space = space;
  }
  const bool of_time = line.value("objective_name", Json("step_time")) == "step_time";
  const double bound = number(line, "lower_bound");
  if (of_time && bound > 0.0) answer.step_bound = bound;
  const Json stopped_by = line.value("stopped_by", Json());
  answer.stopped_by_clock =
      stopped_by == name_of(StopReason::Time) || stopped_by == name_of(StopReason::Signal);
  answer.exact = answer.status == study::PointStatus::Infeasible ||
                 (answer.status == study::PointStatus::Optimal && number(line, "gap") == 0.0);
  const auto scope = line.find("scope");
  answer.scoped = scope != line.end() && !scope->empty();
  answer.row = row;
  return answer;
}

}  // namespace

study::PointAnswer answer_of(const ResultRow& row, const Json& result) {
  Json line = Json::object();
  line["index"] = row.index;
  Json& point = line["point"] = Json::object();
  for (const auto& [axis, label] : row.axes) point[axis] = label;
  line["status"] = result.at("status");
  const std::string reason = row.reason.empty() ? reason_of(result) : row.reason;
  line["reason"] = reason.empty() ? Json() : Json(reason);
  if (row.rates != study::Rates::Unknown) line["rates"] = name_of(row.rates);
  for (const char* key : kKept) {
    if (const auto found = result.find(key); found != result.end()) line[key] = *found;
  }
  for (const study::Figure figure : study::kFigures) {
    const std::string key(name_of(figure));
    if (result.contains(key) && !line.contains(key)) line[key] = result[key];
  }
  const Json cautions = result.value("cautions", Json());
  if (!cautions.empty()) line["cautions"] = cautions;
  line["fingerprint"] = digest(line);
  line["search"] = search_of(result, row.tells_time);
  return read_line(line, json_line(line));
}

study::PointAnswer answer_of(const Json& line, const std::string& row) {
  try {
    return read_line(line, row);
  } catch (const Json::exception& wrong) {
    throw InputError("expected a line of results: " + what_is_wrong(wrong));
  }
}

study::PointAnswer answer_of_row(const std::string& row) {
  return answer_of(parse_json_object(row, "line"), row);
}

study::PointAnswer checked_answer_of(const std::string& row, const study::Grid& grid) {
  Json line = parse_json_object(row, "line");
  try {
    study::PointAnswer answer = read_line(line, row);
    if (answer.index < 0 || answer.index >= grid.count()) {
      throw InputError(
          fmt::format("index: expected 0 to {}, got {}", grid.count() - 1, line["index"].dump()));
    }
    for (const auto& [axis, label] : grid.labels(answer.index)) {
      const std::string found = line.at("point").value(axis, std::string());
      if (found == label) continue;
      throw InputError(fmt::format("point: expected {} {} of the index {}, got {}", axis,
                                   in_quotes(label), answer.index, in_quotes(found)));
    }
    const std::string written = line.at("fingerprint").get<std::string>();
    line.erase("search");
    line.erase("fingerprint");
    if (digest(line) != written) {
      throw InputError("the line was changed: its fingerprint does not match");
    }
    return answer;
  } catch (const Json::exception& wrong) {
    throw InputError("expected a line of results: " + what_is_wrong(wrong));
  }
}

namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw InputError(file.string() + ": " + what + ": " + std::strerror(errno));
}

}  // namespace

Journal::Journal(const std::filesystem::path& folder, const study::Grid& grid)
    : file_(folder / "results.ndjson") {
  descriptor_ = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(file_, "cannot be opened");
  try {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      throw InputError(file_.string() + ": is no regular file");
    }
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      throw InputError(file_.string() + ": another run of the study writes it");
    }
    read(grid);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

Journal::~Journal() { close(descriptor_); }

void Journal::read(const study::Grid& grid) {
  std::string text;
  std::array<char, 1 << 16> piece{};
  for (;;) {
    const ssize_t got = ::read(descriptor_, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(file_, "cannot be read");
    if (got == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;  // cut short by a kill or a full disk
    try {
      study::PointAnswer answer = checked_answer_of(text.substr(at, end - at), grid);
      answer.row = {};  // kept in the file only
      answers_.emplace(answer.index, std::move(answer));
    } catch (const InputError& wrong) {
      throw InputError(fmt::format("{}:{}:1: {}", file_.string(), line, wrong.messages().front()));
    }
    at = end + 1;
    size_ = static_cast<std::int64_t>(at);
  }
  if (size_ < static_cast<std::int64_t>(text.size()) && ftruncate(descriptor_, size_) != 0) {
    fail(file_, "cannot be cut to its whole lines");
  }
  if (lseek(descriptor_, size_, SEEK_SET) < 0) fail(file_, "cannot be written");
}

const study::PointAnswer* Journal::find(study::PointIndex point) const {
  const auto found = answers_.find(point);
  return found == answers_.end() ? nullptr : &found->second;
}

void Journal::append(const study::PointAnswer& answer) {
  const std::string line = answer.row + "\n";
  try {
    write_all(descriptor_, line, file_.string());
  } catch (const InputError&) {
    // Tries to remove a line that was written in part.
    static_cast<void>(ftruncate(descriptor_, size_) == 0 &&
                      lseek(descriptor_, size_, SEEK_SET) == size_);
    throw;
  }
  size_ += static_cast<std::int64_t>(line.size());
  study::PointAnswer kept = answer;
  kept.row = {};
  answers_.emplace(answer.index, std::move(kept));
}

}  // namespace dfsearch
