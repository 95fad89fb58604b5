#include "cli/graphviz.hpp"

#include <optional>

#include "cli/child_process.hpp"

namespace dfsearch {
namespace {

constexpr Seconds kPatience{10.0};
constexpr Seconds kMoment{1.0};  // for what was stopped before
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

}  // namespace

Picture draw_graph(const std::string& dot, const Deadline& deadline) {
  const Deadline end = deadline.has_passed() ? Deadline(kMoment) : deadline.within(kPatience);
  const std::optional<Ended> done = run_program(
      {.words = {"dot", "-Tsvg"}, .input = dot, .settings = {}, .most_output = kMostBytes}, end);
  if (!done) return {"", "The graph is not drawn: a temporary file could not be written."};
  if (done->status == Ended::kNotFound) {
    return {"", "The graph is not drawn: Graphviz (dot) was not found."};
  }
  if (done->status == Ended::kTooLong) {
    return {"", "The graph is not drawn: Graphviz had not ended in time."};
  }
  const std::string& text = done->output;
  if (text.size() > kMostBytes) return {"", "The graph is not drawn: its picture is too large."};
  const std::size_t begin = text.find("<svg");
  if (done->status != 0 || begin == text.npos) {
    return {"", "The graph is not drawn: Graphviz (dot) failed."};
  }
  return {text.substr(begin), ""};  // without the document type, which names a place in the web
}

}  // namespace dfsearch
