#include "io/result/split_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "io/text/map_reader.hpp"
#include "io/text/yaml_tree.hpp"
#include "technology/chip.hpp"

namespace dfsearch {
namespace {

/// Shares are quotients of amounts, so multiples of the step are met up to rounding.
constexpr double kRounding = 1e-9;

struct Section {
  const char* key;
  BudgetClass budget;
};
constexpr std::array<Section, 3> kSections = {
    {{"area", BudgetClass::DieArea}, {"power", BudgetClass::Power}, {"edge", BudgetClass::Edge}}};

}  // namespace

std::optional<GridPoint> load_split(const std::filesystem::path& file, const ChipDesign& design,
                                    RuledOut& reasons) {
  const YamlNode root = load_yaml(file);
  InputMessages messages;
  MapReader result(root, "", root.place, messages);
  const SplitSpace space(design);
  const double step = *design.budget.step;
  SplitBox box;
  if (const YamlEntry* split = result.required("split", "as the budget leaves shares out")) {
    MapReader classes(*split, messages);
    for (const auto& [key, budget] : kSections) {
      const YamlEntry* section = classes.required(key);
      if (section == nullptr) continue;
      MapReader shares(*section, messages);
      for (const OpenShare& open : space.shares()) {
        if (open.budget != budget) continue;
        const YamlEntry* entry = shares.required(name_of(open.part));
        const auto share = entry ? read_number(*entry, {0.0, 1.0}, messages) : std::nullopt;
        if (!share) continue;
        const double steps = std::round(*share / step);
        box.least.push_back(static_cast<std::int32_t>(steps));
        if (std::abs(steps * step - *share) > kRounding) {
          reasons.push_back(fmt::format("split.{}.{}: expected a multiple of the step, {}, got {}",
                                        key, name_of(open.part), step, *share));
        }
      }
      shares.finish();
    }
    classes.finish();
  }
  messages.throw_if_any();
  box.most = box.least;
  if (reasons.empty() && !space.tighten(box)) {
    reasons.emplace_back("split: the shares are more than the budgets of the config leave");
  }
  if (!reasons.empty()) return std::nullopt;
  return box.least;
}

}  // namespace dfsearch
