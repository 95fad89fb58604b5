#pragma once
// A layer on several chips, kernel by kernel and rule by rule.
//
// Chips that have of the inputs what a rule says compute their parts with numbers, which are
// compared with what one chip computes that has everything.

#include <doctest/doctest.h>

#include <cstdint>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/training/layouts.hpp"
#include "support/plain_layer.hpp"

namespace dfsearch::test {

using training::Axis;
using training::AxisRules;
using training::LayoutRule;
using training::ValueLayout;

/// A chip reads an element that it has not.
struct Missing : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "an element is not there"; }
};

inline bool is_of_name(const std::string& name, const std::string& base) {
  return name == base || name.starts_with(base + "_bwd");
}

class DividedLayer {
 public:
  DividedLayer(const DataflowGraph& graph, const AxisRules& axis, const LayerShape& shape)
      : graph_(graph), axis_(axis), shape_(shape) {
    for (const Kernel& kernel : graph.kernels()) latent_ |= kernel.name == "KV_A";
  }

  /// All rules of all kernels; the number of elements that were compared.
  std::size_t check() {
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) {
      const std::vector<LayoutRule> rules = training::legal_rules(graph_, KernelId(k), axis_);
      REQUIRE_FALSE(rules.empty());
      for (std::size_t r = 0; r < rules.size(); ++r) {
        INFO(graph_.kernels()[k].name, ", rule ", r, ", ", axis_.chips, " chips");
        REQUIRE(rules[r].inputs.size() == graph_.inputs(KernelId(k)).size());
        check_weight(KernelId(k), r, rules[r]);
        check_values(KernelId(k), rules[r]);
      }
    }
    return compared_;
  }

 private:
  // ---- what lies where

  [[nodiscard]] std::int64_t samples() const {
    return axis_.axis == Axis::Expert ? axis_.chips : 1;
  }

  [[nodiscard]] Range part_of(std::int64_t whole, std::int64_t chip) const {
    if (whole % axis_.chips != 0) FAIL("the chips do not divide ", whole);
    return {whole / axis_.chips * chip, whole / axis_.chips * (chip + 1)};
  }

  /// Rows of the heads of keys that the queries of the chip read.
  [[nodiscard]] Range key_rows(std::int64_t rows, std::int64_t chip) const {
    const std::int64_t g = shape_.kv_heads, n = axis_.chips, own = rows / g;
    if (n <= g) return {chip * (g / n) * own, (chip + 1) * (g / n) * own};
    return {chip * g / n * own, (chip * g / n + 1) * own};
  }

  /// Whether its rows are heads of keys or values.
  [[nodiscard]] bool has_key_heads(const Tensor& value) const {
    const std::string& name = graph_.kernel(value.from).name;
    if (latent_) return false;
    if (name == "ATTENTION_bwd") {
      return graph_.tensor(graph_.inputs(value.from)[number(value) - 1]).operand != 1;
    }
    return name == "K" || name == "V" || is_of_name(name, "ROPE_K") || is_of_name(name, "NORM_K") ||
           name.ends_with("_bwd_2");
  }

  /// Whether its rows are grouped by expert.
  [[nodiscard]] bool has_expert_rows(const Tensor& value) const {
    const std::string& name = graph_.kernel(value.from).name;
    return name.starts_with("EXPERT_") || name == "DISPATCH" || name == "DISPATCH_sum" ||
           (name == "COMBINE_bwd" && value.value == 1);
  }

  static std::size_t number(const Tensor& value) { return static_cast<std::size_t>(value.value); }

  /// Where the rows of a value are in a larger whole that is split, if they are not heads.
  struct Place {
    std::int64_t whole, before;
  };

  /// Whether the chip has the row of the value if it is split by features.
  [[nodiscard]] bool has_row(const Tensor& value, const Place& place, std::int64_t chip,
                             std::int64_t row) const {
    if (has_key_heads(value)) return key_rows(rows(value), chip).has(row);
    if (has_expert_rows(value)) {
      const std::int64_t own = rows(value) / shape_.experts;
      return part_of(own, chip).has(row % own);
    }
    return part_of(place.whole, chip).has(place.before + row);
  }

  [[nodiscard]] std::int64_t columns(const Tensor& value) const {
    if (graph_.kernel(value.from).name == "COMBINE_bwd" && value.value == 2) return shape_.tokens;
    return graph_.kernel(value.from).n;
  }

  [[nodiscard]] std::int64_t rows(const Tensor& value) const {
    return value.rows > 0 ? value.rows
                          : graph_.kernel(value.from).outer * graph_.kernel(value.from).m;
  }

  /// A part that is not made of whole heads.
  [[nodiscard]] Place place_in_producer(const Tensor& value) const {
    const Kernel& kernel = graph_.kernel(value.from);
    if (kernel.name != "KV_A") return {rows(value), 0};
    return {kernel.m, value.value == 1 ? 0 : kernel.m - rows(value)};
  }
  [[nodiscard]] Place place_in_consumer(KernelId consumer, std::size_t input) const {
    const Tensor& value = graph_.tensor(graph_.inputs(consumer)[input]);
    const Kernel& kernel = graph_.kernel(consumer);
    if (!kernel.weight_of || graph_.kernel(*kernel.weight_of).name != "KV_A") {
      return {rows(value), 0};
    }
    const bool is_input =
        kernel.kind == KernelKind::Gemm && input + 1 == graph_.inputs(consumer).size();
    if (is_input) return {rows(value), 0};
    Place place{graph_.kernel(*kernel.weight_of).m, 0};
    for (std::size_t i = 0; i < input; ++i) {
      place.before += rows(graph_.tensor(graph_.inputs(consumer)[i]));
    }
    return place;
  }

  // ---- numbers

  [[nodiscard]] static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = (a ^ (b + 0x9E3779B97F4A7C15U + (a << 6U))) * 0xBF58476D1CE4E5B9U;
    return x ^ (x >> 31U);
  }
  [[nodiscard]] std::uint64_t element(const Tensor& value, std::int64_t sample, std::int64_t row,
                                      std::int64_t column) const {
    const std::uint64_t from =
        mixed(value.from.index(), static_cast<std::uint64_t>(value.value + 5));
    return mixed(mixed(from, static_cast<std::uint64_t>(sample)),
                 static_cast<std::uint64_t>(row * 4096 + column));
  }
  /// The summand of one chip, for an element of which each of `count` chips has a summand.
  [[nodiscard]] static std::uint64_t summand(std::uint64_t whole, std::int64_t chip,
                                             std::int64_t count) {
    if (chip > 0) return mixed(whole, static_cast<std::uint64_t>(chip));
    std::uint64_t rest = whole;
    for (std::int64_t other = 1; other < count; ++other) rest -= summand(whole, other, count);
    return rest;
  }

  /// The element that the chip finds as an input that arrives in the layout.
  [[nodiscard]] std::uint64_t found(KernelId consumer, std::size_t input, ValueLayout layout,
                                    std::int64_t chip, std::int64_t sample, std::int64_t row,
                                    std::int64_t column) const {
    const Tensor& value = graph_.tensor(graph_.inputs(consumer)[input]);
    const std::uint64_t whole = element(value, sample, row, column);
    const auto only_if = [&](bool is_there) {
      if (!is_there) throw Missing();
      return whole;
    };
    switch (layout) {
      case ValueLayout::Replicated:
        return whole;
      case ValueLayout::Tokens:
        if (axis_.axis == Axis::Expert) return only_if(sample == chip);
        return only_if(part_of(columns(value), chip).has(column));
      case ValueLayout::Experts:
        return only_if(part_of(rows(value), chip).has(row));
      case ValueLayout::Partial:
        return summand(whole, chip, axis_.chips);
      case ValueLayout::Features:
        break;
    }
    only_if(has_row(value, place_in_consumer(consumer, input), chip, row));
    const bool is_summand = has_key_heads(value) && axis_.chips > shape_.kv_heads &&
                            graph_.kernel(value.from).phase == Phase::Backward;
    if (!is_summand) return whole;
    const std::int64_t copies = axis_.chips / shape_.kv_heads;
    return summand(whole, chip % copies, copies);
  }

  // ---- what a chip does

  /// The part of the weight that the chip uses or differentiates: rows (outer * M, of experts in
  /// each alike) and depth.
  struct Region {
    Range rows, depth;
    std::int64_t repeats;  ///< the rows repeat this number of times

    [[nodiscard]] bool has(std::int64_t row, std::int64_t k) const {
      return rows.has(row % repeats) && depth.has(k);
    }
    bool operator==(const Region&) const = default;
  };
  [[nodiscard]] Region region(KernelId id, const LayoutRule& rule, std::int64_t chip) const {
    const Kernel& kernel = graph_.kernel(id);
    const Kernel& owner = graph_.kernel(kernel.weight_of.value_or(id));
    const std::int64_t all = owner.outer * owner.m;
    const bool of_expert = owner.name.starts_with("EXPERT_") && rule.divided != Loop::Outer;
    const bool of_keys = !latent_ && (owner.name == "K" || owner.name == "V");
    Region region{.rows = {0, of_expert ? owner.m : all},
                  .depth = {0, owner.k},
                  .repeats = of_expert ? owner.m : all};
    // Which side of the weight the loop goes along: M and K of a data gradient are exchanged, and
    // the K of a weight gradient are tokens.
    const bool is_data = kernel.weight_of && kernel.kind == KernelKind::WeightGemm;
    const bool is_gradient = kernel.kind == KernelKind::Gemm;
    const Loop loop = rule.divided;
    if (loop == Loop::Outer || loop == (is_data ? Loop::K : Loop::M)) {
      region.rows = of_keys ? key_rows(all, chip) : part_of(region.rows.end, chip);
    }
    if (loop == (is_data ? Loop::M : is_gradient ? Loop::N : Loop::K)) {
      region.depth = part_of(owner.k, chip);
    }
    return region;
  }

  [[nodiscard]] Summed summed(KernelId id, const LayoutRule& rule, std::int64_t chip) const {
    const Kernel& kernel = graph_.kernel(id);
    Summed part = PlainKernel(graph_, id, shape_).everything();
    if (kernel.has_weight()) {
      if (rule.divided != Loop::K) return part;
      const Region own = region(id, rule, chip);
      part.depth = kernel.weight_of ? own.rows : own.depth;
      return part;
    }
    if (axis_.axis == Axis::Expert) return part;
    if (rule.divided == Loop::Outer && !kernel.weight_of) part.heads = part_of(shape_.heads, chip);
    const Loop along_tokens = kernel.kind == KernelKind::Gemm ? Loop::K : Loop::N;
    if (rule.divided == along_tokens) part.tokens = part_of(part.tokens.end, chip);
    return part;
  }

  [[nodiscard]] ReadInput reader(KernelId id, const LayoutRule& rule, std::int64_t chip,
                                 std::int64_t sample) const {
    return
        [this, id, &rule, chip, sample](std::size_t input, std::int64_t row, std::int64_t column) {
          return found(id, input, rule.inputs[input], chip, sample, row, column);
        };
  }
  [[nodiscard]] ReadInput whole_reader(KernelId id, std::int64_t sample) const {
    return [this, id, sample](std::size_t input, std::int64_t row, std::int64_t column) {
      return element(graph_.tensor(graph_.inputs(id)[input]), sample, row, column);
    };
  }

  /// Whether the chip has the element of a value that it computes in this layout.
  [[nodiscard]] bool computes(const Tensor& value, ValueLayout layout, std::int64_t chip,
                              std::int64_t sample, std::int64_t row, std::int64_t column) const {
    switch (layout) {
      case ValueLayout::Replicated:
      case ValueLayout::Partial:
        return true;
      case ValueLayout::Tokens:
        if (axis_.axis == Axis::Expert) return sample == chip;
        return part_of(columns(value), chip).has(column);
      case ValueLayout::Features:
        return has_row(value, place_in_producer(value), chip, row);
      case ValueLayout::Experts:
        return part_of(rows(value), chip).has(row);
    }
    return false;
  }

  void compare(std::uint64_t whole, const std::vector<std::uint64_t>& parts, bool is_sum) {
    if (parts.empty()) FAIL("no chip has a part");
    ++compared_;
    std::uint64_t sum = 0;
    bool same = true;
    for (const std::uint64_t part : parts) {
      sum += part;
      same = same && part == whole;
    }
    if (is_sum ? sum != whole : !same) FAIL_CHECK("the parts are not the whole");
  }

  void check_values(KernelId id, const LayoutRule& rule) {
    const PlainKernel kernel(graph_, id, shape_);
    std::set<std::int32_t> seen;
    for (const TensorId output : graph_.outputs(id)) {
      const Tensor& value = graph_.tensor(output);
      if (!seen.insert(value.value).second) continue;
      const ValueLayout layout = training::produced_layout(rule, value);
      const bool is_sum = layout == ValueLayout::Partial ||
                          (layout == ValueLayout::Features && has_key_heads(value) &&
                           graph_.kernel(id).phase == Phase::Backward);
      for (std::int64_t sample = 0; sample < samples(); ++sample) {
        for (std::int64_t row = 0; row < rows(value); ++row) {
          for (std::int64_t column = 0; column < columns(value); ++column) {
            std::vector<std::uint64_t> parts;
            for (std::int64_t chip = 0; chip < axis_.chips; ++chip) {
              if (!computes(value, layout, chip, sample, row, column)) continue;
              parts.push_back(kernel.element(value.value, rows(value), row, column,
                                             summed(id, rule, chip),
                                             reader(id, rule, chip, sample)));
            }
            compare(whole(id, value, sample, row, column), parts, is_sum);
          }
        }
      }
    }
  }

  std::uint64_t whole(KernelId id, const Tensor& value, std::int64_t sample, std::int64_t row,
                      std::int64_t column) {
    const std::vector<std::int64_t> key{static_cast<std::int64_t>(id.index()), value.value, sample,
                                        row, column};
    const auto [known, is_new] = known_.try_emplace(key, 0);
    if (is_new) {
      const PlainKernel kernel(graph_, id, shape_);
      known->second = kernel.element(value.value, rows(value), row, column, kernel.everything(),
                                     whole_reader(id, sample));
    }
    return known->second;
  }

  /// The three kernels of a weight use the same part of it, and its gradient is whole.
  void check_weight(KernelId id, std::size_t index, const LayoutRule& rule) {
    const Kernel& kernel = graph_.kernel(id);
    if (!kernel.weight_of) return;
    const std::vector<LayoutRule> owners = training::legal_rules(graph_, *kernel.weight_of, axis_);
    REQUIRE(index < owners.size());
    for (std::int64_t chip = 0; chip < axis_.chips; ++chip) {
      CHECK(region(id, rule, chip) == region(*kernel.weight_of, owners[index], chip));
    }
    if (kernel.kind == KernelKind::Gemm) check_gradient(id, rule);
  }

  void check_gradient(KernelId id, const LayoutRule& rule) {
    const PlainKernel plain(graph_, id, shape_);
    const Kernel& kernel = graph_.kernel(id);
    const bool is_copied = axis_.chips > shape_.kv_heads && !latent_ &&
                           (kernel.name == "K_wgrad" || kernel.name == "V_wgrad");
    const bool is_sum =
        rule.output == ValueLayout::Partial || (rule.output == ValueLayout::Features && is_copied);
    const Summed everything = plain.everything();
    for (std::int64_t row = 0; row < kernel.outer * kernel.m; ++row) {
      for (std::int64_t k = 0; k < kernel.n; ++k) {
        std::uint64_t sum = 0;
        for (std::int64_t sample = 0; sample < samples(); ++sample) {
          sum += plain.weight_gradient(row / kernel.m, row % kernel.m, k, everything,
                                       whole_reader(id, sample));
        }
        std::vector<std::uint64_t> parts;
        for (std::int64_t chip = 0; chip < axis_.chips; ++chip) {
          const Region own = region(id, rule, chip);
          if (!own.has(row, k)) continue;
          parts.push_back(0);
          for (std::int64_t sample = 0; sample < samples(); ++sample) {
            const bool is_own = rule.inputs.front() != ValueLayout::Tokens ||
                                axis_.axis != Axis::Expert || sample == chip;
            if (!is_own) continue;
            parts.back() +=
                plain.weight_gradient(row / kernel.m, row % kernel.m, k, summed(id, rule, chip),
                                      reader(id, rule, chip, sample));
          }
        }
        compare(sum, parts, is_sum);
      }
    }
  }

  const DataflowGraph& graph_;
  const AxisRules& axis_;
  LayerShape shape_;
  bool latent_ = false;
  std::map<std::vector<std::int64_t>, std::uint64_t> known_;
  std::size_t compared_ = 0;
};

}  // namespace dfsearch::test
