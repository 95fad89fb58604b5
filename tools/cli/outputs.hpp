#pragma once
// Destinations of results, standard output and standard error; everything that the program prints
// passes here.  Control characters of names and files would control the terminal, so they are
// printed as escapes.

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
#include "io/text/files.hpp"

namespace dfsearch {

/// The options that are needed to repeat the run.
std::string title_of(const CommandLine& line);

/// Throws InputError if the file certainly cannot be written.  Empty and "-" are not files.
void check_output(const std::string& file);

/// Writes to a file, or to standard output for "-".
void write_output(const std::string& file, const std::string& text);

/// Prints the text, or JSON in its place for "-"; writes JSON to any other file that is given.
void write_json_or(const std::string& json_file, const std::string& json, const std::string& text);

/// Writes every requested output, even if another one fails: a full disk must not lose a result
/// that took hours.
class Outputs {
 public:
  /// `deadline` limits the time to wait for the reader of a pipe, and to draw pictures.
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

/// Function that makes an output when it is needed.
using MakeJson = std::function<Json()>;
using MakeSheet = std::function<Sheet()>;

/// Writes the report, or JSON or events in its place, and the files; `mapping` is the name of the
/// mapping file, empty for none; `history` is for the page.
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

/// Opens descriptors 0 to 2 if they are closed, so that no result file gets one of them and
/// receives the report.  Call it before any file is opened.
void occupy_standard_descriptors();

/// Throws InputError if standard output is closed or full.
void print(std::string_view text);

/// Ignores failures, since there is nowhere left to report them.
void print_error(std::string_view text);

/// Prints a line for each note.
void print_notes(const std::vector<std::string>& notes);

/// Whether standard error is a terminal where a line can be rewritten, which `TERM=dumb` denies.
bool rewrites_lines();

/// Replaces the current line of standard error; the text is cut to the width of the terminal, so
/// that it does not scroll.
void rewrite_line(std::string_view text);

}  // namespace dfsearch
