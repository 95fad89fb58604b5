#pragma once
// Destinations of results, standard output and standard error; everything the program prints goes
// here.  Control characters of names and files would steer the terminal that shows them, so they
// are printed as escapes.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "cli/options.hpp"
#include "io/html/pages.hpp"
#include "io/result/outcome.hpp"
#include "io/text/write_file.hpp"

namespace dfsearch {

/// Enough to repeat the run with.
std::string title_of(const CommandLine& line);

/// Throws InputError if the file is bound not to be written; empty and "-" are
/// none.
void check_output(const std::string& file);

/// To a file, or to standard output for "-".
void write_output(const std::string& file, const std::string& text);

/// Prints the text, or what `--json` says: JSON in its place, or into a file beside it.
void write_json_or(const std::string& json_file, const std::string& json, const std::string& text);

/// Writes every output that was asked for, also when another one fails: a
/// result that took hours must not be lost to a full disk.
class Outputs {
 public:
  /// Until when a pipe may wait for somebody who reads it, and a picture may be drawn.
  explicit Outputs(const Deadline& deadline = {}) : deadline_(deadline) {}

  [[nodiscard]] const Deadline& deadline() const { return deadline_; }
  void file(const std::string& name, const std::string& text) {
    attempt([&] { write_file(name, text, deadline_); });
  }
  template <class Write>
  void attempt(Write write) {
    try {
      write();
    } catch (const InputError& error) {
      for (const std::string& message : error.messages()) wrong_.push_back(message);
    }
  }
  void throw_if_any_failed() const {
    if (!wrong_.empty()) throw InputError(wrong_);
  }

 private:
  const Deadline deadline_;
  std::vector<std::string> wrong_;
};

/// Makes an output, once it is needed.
using MakeJson = std::function<Json()>;
using MakeSheet = std::function<Sheet()>;

/// The report, or JSON or events in its place, and the files; `mapping` is the
/// name of the mapping file, empty for none.  `history` is for the page.
void write_answer(const CommandLine& line, const std::string& mapping,
                  const std::vector<SearchPoint>& history, const MakeJson& make_json,
                  const MakeSheet& make_sheet, Outputs& outputs);

/// Writes one mapping that was evaluated.
void write_outcome(const CommandLine& line, const Outcome& outcome, Outputs& outputs);

/// Writes the page of a run; `json` is its result.
void write_page(const CommandLine& line, const Json& json, const Sheet& sheet,
                const std::vector<SearchPoint>& history, Outputs& outputs);

/// A page that lists the results, studies and pages below a folder; its links are relative to the
/// place of `output`, or to the folder if that is "-".  Throws InputError if there are none.
std::string folder_page(const std::filesystem::path& folder, const std::string& output);

// Standard output and standard error.

/// Makes descriptors 0 to 2 exist, so that no result file is opened as one of
/// them and gets the report.  To be called first.
void occupy_standard_descriptors();

/// Throws InputError if standard output is closed or full.
void print(std::string_view text);

/// Ignores failures, since there is nowhere left to report them.
void print_error(std::string_view text);

/// A line each.
void print_notes(const std::vector<std::string>& notes);

/// Whether standard error is a terminal where a line can be rewritten, which `TERM=dumb` denies.
bool rewrites_lines();

/// In place of the line that is open on standard error, cut to its width: a longer one would
/// scroll.
void rewrite_line(std::string_view text);

}  // namespace dfsearch
