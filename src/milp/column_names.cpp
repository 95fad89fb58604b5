#include "milp/column_names.hpp"

#include <charconv>
#include <map>
#include <unordered_set>
#include <utility>

namespace dfsearch {
namespace {

// CBC's reader of LP files takes names of up to 100 characters, and a tensor
// holds two kernels.
constexpr std::size_t kLongest = 40;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

std::string plain(std::string_view name) {
  std::string word(name.substr(0, kLongest));
  for (char& c : word) {
    if (!is_plain(c)) c = '_';
  }
  return word;
}

}  // namespace

MilpNames::MilpNames(const DataflowGraph& graph) {
  // Unchanged names are taken first, so that no changed name equals one of them.
  std::unordered_set<std::string> taken;
  for (const Kernel& kernel : graph.kernels()) {
    if (plain(kernel.name) == kernel.name) taken.insert(kernel.name);
  }
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    const std::string& name = graph.kernels()[k].name;
    std::string word = plain(name);
    if (word != name) {
      const std::string stem = word;
      for (int copy = 2; !taken.insert(word).second; ++copy) {
        word = stem + "~" + std::to_string(copy);
      }
    }
    kernel_of_.emplace(word, KernelId(k));
    kernels_.push_back(std::move(word));
  }
  std::map<std::string, int> copies;
  for (const Tensor& tensor : graph.tensors()) {
    std::string word = of(tensor.from) + "," + of(tensor.to);
    const int copy = ++copies[word];
    if (copy > 1) word += "~~" + std::to_string(copy);
    tensors_.push_back(std::move(word));
  }
}

std::optional<KernelId> MilpNames::kernel(std::string_view word) const {
  const auto found = kernel_of_.find(std::string(word));
  if (found == kernel_of_.end()) return std::nullopt;
  return found->second;
}

std::optional<MilpName> parse_milp_name(std::string_view text) {
  const std::size_t open = text.find_first_of("[(");
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  const char close = text[open] == '[' ? ']' : ')';
  if (text.back() != close) return std::nullopt;
  MilpName name{.symbol = text.substr(0, open), .indices = {}};
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  for (;;) {
    const std::size_t comma = rest.find(',');
    name.indices.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) return name;
    rest.remove_prefix(comma + 1);
  }
}

std::optional<std::int64_t> parse_index(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace dfsearch
