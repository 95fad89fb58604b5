#include "io/report/sheet.hpp"

#include <fmt/format.h>

#include "io/report/report_words.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kLabelWidth = 14;

std::string text_of_block(const std::string& lines) { return lines; }

std::string text_of_block(const Facts& facts) {
  std::string text;
  for (const auto& [label, value] : facts.rows) {
    text += fmt::format("{:<{}}{}\n", label, kLabelWidth,
                        wrapped(words_of(value), kLabelWidth, kLabelWidth));
  }
  return text;
}

std::string text_of_block(const Parts& parts) {
  std::string text = "\n" + parts.title + "\n";
  for (const auto& [name, value, share] : parts.rows) {
    text += fmt::format("  {:<18}{:>10}  {:>8}\n", name, value, percent(share));
  }
  return text;
}

std::string text_of_block(const TitledTable& table) {
  return "\n" + (table.title.empty() ? "" : table.title + "\n") + table.table.text() + table.notes;
}

}  // namespace

void Sheet::add(Block block) {
  if (const auto* lines = std::get_if<std::string>(&block); lines != nullptr && lines->empty()) {
    return;
  }
  if (auto* facts = std::get_if<Facts>(&block); facts != nullptr && !blocks_.empty()) {
    if (auto* last = std::get_if<Facts>(&blocks_.back())) {
      last->rows.insert(last->rows.end(), facts->rows.begin(), facts->rows.end());
      return;
    }
  }
  blocks_.push_back(std::move(block));
}

Sheet& Sheet::operator+=(Sheet other) {
  for (Block& block : other.blocks_) add(std::move(block));
  return *this;
}

void Sheet::insert_after_title(Facts facts) {
  Sheet sheet;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    sheet.add(std::move(blocks_[i]));
    if (i == 0) sheet.add(facts);
  }
  *this = std::move(sheet);
}

std::string text_of(const Sheet& sheet) {
  std::string text;
  for (const Sheet::Block& block : sheet.blocks()) {
    text += std::visit([](const auto& each) { return text_of_block(each); }, block);
  }
  return text;
}

}  // namespace dfsearch
