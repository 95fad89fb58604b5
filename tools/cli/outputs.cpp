#include "cli/outputs.hpp"

#include "cli/page_output.hpp"
#include "cli/standard_output.hpp"
#include "io/report/report.hpp"
#include "io/result/result_json.hpp"
#include "io/text/write_file.hpp"

namespace dfsearch {

std::string title_of(const CommandLine& line) {
  std::string title = line.config;
  for (const std::string& change : line.overrides) title += " --set " + change;
  return title;
}

void check_output(const std::string& file) {
  if (!file.empty() && file != "-") check_writable(file);
}

void write_output(const std::string& file, const std::string& text) {
  if (file == "-") {
    print(text);
  } else {
    write_file(file, text);
  }
}

void write_json_or(const std::string& json_file, const std::string& json, const std::string& text) {
  if (!json_file.empty() && json_file != "-") write_file(json_file, json);
  print(json_file == "-" ? json : text);
}

void write_answer(const CommandLine& line, const std::string& mapping,
                  const std::vector<SearchPoint>& history, const MakeJson& make_json,
                  const MakeSheet& make_sheet, Outputs& outputs) {
  const bool needs_json = !line.json.empty() || !line.html.empty() || !mapping.empty();
  const Json answer = needs_json ? make_json() : Json();
  const std::string json = needs_json ? json_text(answer) : "";
  if (!mapping.empty()) outputs.file(mapping, json);
  if (!line.json.empty() && line.json != "-") outputs.file(line.json, json);
  if (line.json == "-") {
    outputs.attempt([&] { print(json); });
  } else if (line.events != "-" && !line.quiet) {
    outputs.attempt([&] { print(text_of(make_sheet())); });
  }
  if (!line.html.empty()) write_page(line, answer, make_sheet(), history, outputs);
}

void write_outcome(const CommandLine& line, const Outcome& outcome, Outputs& outputs) {
  write_answer(
      line, "", {}, [&] { return answer_json(outcome); },
      [&] { return report_text(outcome, title_of(line), line.verbose); }, outputs);
}

}  // namespace dfsearch
