#pragma once
// Rules, conversions and costs of layouts, written once more from docs/training.md, section 2,
// and not from the code.  Layouts are letters.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "model/training/layouts.hpp"

namespace dfsearch::test {

using training::Axis;
using training::AxisRules;
using training::LayoutCost;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr LayoutCost kIllegal{kNever, kNever, kNever};

inline LayoutCost plus(const LayoutCost& a, const LayoutCost& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}

inline bool starts(const std::string& name, const std::string& with) {
  return name.starts_with(with);
}

/// Layouts by their letters.
struct PlainRule {
  std::string inputs;
  char output;
  std::string parts{};  // backward attention: of the three gradients
};

class PlainRules {
 public:
  PlainRules(const DataflowGraph& graph, const AxisRules& axis) : graph_(graph), axis_(axis) {}

  [[nodiscard]] std::vector<PlainRule> of(KernelId id) const {
    const std::string& name = graph_.kernel(id).name;
    const std::size_t count = graph_.inputs(id).size();
    const auto alike = [&](const std::string& letters) {
      std::vector<PlainRule> rules;
      for (const char c : letters) rules.push_back({std::string(count, c), c});
      return rules;
    };
    const bool on_tensor = axis_.axis == Axis::Tensor;
    const bool headed =
        starts(name, "Q") || starts(name, "K") || starts(name, "ROPE") || starts(name, "ATTENTION");
    const bool heads =
        axis_.heads % axis_.chips == 0 &&
        (axis_.kv_heads % axis_.chips == 0 || (on_tensor && axis_.chips % axis_.kv_heads == 0));
    if (name == "INPUT" || name == "GRADIENT") return alike("RTF");
    if (name.find("_sum") != std::string::npos || starts(name, "ADD_")) {
      return alike(headed && !heads ? "RTP" : "RFTP");
    }
    if (starts(name, "NORM")) return alike("RT");
    if (starts(name, "ACT") || starts(name, "ROPE")) return alike(headed && !heads ? "RT" : "RFT");
    if (starts(name, "ATTENTION")) return attention(id, heads);
    return weight(id, on_tensor, heads || !headed);
  }

 private:
  [[nodiscard]] std::vector<PlainRule> attention(KernelId id, bool heads) const {
    std::vector<PlainRule> rules;
    if (graph_.kernel(id).phase == Phase::Forward) {
      if (heads) rules.push_back({"FFF", 'F'});
      rules.push_back({"TRR", 'T'});
      rules.push_back({"RRR", 'R'});
      return rules;
    }
    const std::size_t more = graph_.inputs(id).size() - 3;
    if (heads) rules.push_back({"FFF" + std::string(more, 'F'), 'F', "FFF"});
    rules.push_back({"TRR" + std::string(more, 'T'), 'T', "TPP"});
    rules.push_back({"RRR" + std::string(more, 'R'), 'R', "RRR"});
    return rules;
  }

  /// In the order columns, rows, tokens, for the three kernels of a weight alike.
  [[nodiscard]] std::vector<PlainRule> weight(KernelId id, bool on_tensor, bool columns) const {
    const Kernel& kernel = graph_.kernel(id);
    const std::size_t count = graph_.inputs(id).size();
    PlainRule column{std::string(count, 'R'), 'F'};
    PlainRule row{std::string(count, 'F'), 'P'};
    PlainRule tokens{std::string(count, 'T'), 'T'};
    if (kernel.kind == KernelKind::Gemm) {
      tokens.output = 'P';
      column = {std::string(count - 1, 'F') + "R", 'F'};
      row = {std::string(count - 1, 'R') + "F", 'F'};
    } else if (kernel.phase == Phase::Backward) {
      std::swap(column, row);
    }
    std::vector<PlainRule> rules;
    if (on_tensor && columns) rules.push_back(column);
    if (on_tensor) rules.push_back(row);
    if (!on_tensor || axis_.replicated_weights) rules.push_back(tokens);
    return rules;
  }

  const DataflowGraph& graph_;
  const AxisRules& axis_;
};

enum class Criterion { Sent, Kept, Front, Random };

/// All that an assignment is: a rule for each kernel.
using Assignment = std::vector<const PlainRule*>;

class PlainCosts {
 public:
  PlainCosts(const DataflowGraph& graph, const AxisRules& axis, Criterion criterion,
             std::uint64_t seed)
      : graph_(graph), axis_(axis), criterion_(criterion), seed_(seed) {
    for (std::size_t v = 0; v < graph.values().size(); ++v) {
      const Tensor& tensor = graph.tensor(graph.values()[v].front());
      const std::string& name = graph.kernel(tensor.from).name;
      const bool of_keys =
          name == "K" || starts(name, "K_sum") || (name == "ATTENTION_bwd" && tensor.value > 1);
      const bool copied = axis.axis == Axis::Tensor && axis.chips > axis.kv_heads && of_keys;
      copies_.push_back(!copied ? ' ' : name == "K" ? 'v' : 'g');
    }
  }

  [[nodiscard]] LayoutCost of(const Assignment& rules) const {
    LayoutCost sum = beside_values(rules);
    for (std::size_t v = 0; v < graph_.values().size(); ++v) {
      const std::vector<LayoutCost> all = value(v, rules);
      sum = plus(sum, *std::min_element(all.begin(), all.end()));
    }
    return sum;
  }

  /// Possible costs, with each value kept in any way.
  [[nodiscard]] std::vector<LayoutCost> all_of(const Assignment& rules) const {
    std::vector<LayoutCost> sums{beside_values(rules)};
    for (std::size_t v = 0; v < graph_.values().size(); ++v) {
      std::vector<LayoutCost> more;
      for (const LayoutCost& one : value(v, rules)) {
        for (const LayoutCost& sum : sums) more.push_back(plus(sum, one));
      }
      std::sort(more.begin(), more.end());
      more.erase(std::unique(more.begin(), more.end()), more.end());
      sums = std::move(more);
    }
    return sums;
  }

  [[nodiscard]] LayoutCost beside_values(const Assignment& rules) const {
    LayoutCost sum{};
    for (std::size_t k = 0; k < rules.size(); ++k) {
      if (criterion_ == Criterion::Random) sum = plus(sum, kernel(k, *rules[k]));
      if (criterion_ == Criterion::Front) sum[2] += streamed(k, *rules[k]);
    }
    const auto end = [&](const char* from, const char* to) {
      const std::size_t a = find(from), b = find(to);
      if (a >= rules.size() || b >= rules.size()) return;
      const char left = rules[a]->output, wanted = rules[b]->output;
      const double elements = static_cast<double>(graph_.kernels()[a].outer *
                                                  graph_.kernels()[a].m * graph_.kernels()[a].n);
      if (left != wanted) sum = plus(sum, step(left, wanted, ' ', elements, a + 1000));
    };
    end("ADD_2", "INPUT");
    end(last_gradient().c_str(), "GRADIENT");
    return sum;
  }

  /// A number that looks random, of a few, so that many sums tie.
  [[nodiscard]] LayoutCost drawn(std::uint64_t what) const {
    std::uint64_t x = (what + seed_ * 1'000'003) * 0x9E3779B97F4A7C15U;
    x ^= x >> 32U;
    return {static_cast<double>(x % 4), static_cast<double>(x / 4 % 3),
            static_cast<double>(x / 12 % 5)};
  }
  [[nodiscard]] LayoutCost kernel(std::size_t k, const PlainRule& rule) const {
    return drawn(k * 64 + static_cast<std::uint64_t>(rule.output) % 16);
  }
  [[nodiscard]] LayoutCost drawn_step(char from, char to, std::uint64_t where) const {
    return drawn(where * 4096 + static_cast<std::uint64_t>(from) * 16 +
                 static_cast<std::uint64_t>(to) % 16);
  }
  /// What a kernel reads and writes, in units of the n-th part of an element.
  [[nodiscard]] double streamed(std::size_t k, const PlainRule& rule) const {
    double sum = 0.0;
    const auto inputs = graph_.inputs(KernelId(k));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (std::size_t v = 0; v < graph_.values().size(); ++v) {
        for (const TensorId t : graph_.values()[v]) {
          if (t == inputs[i]) sum += held(v, rule.inputs[i], elements_of(v));
        }
      }
    }
    for (std::size_t v = 0; v < graph_.values().size(); ++v) {
      const Tensor& tensor = graph_.tensor(graph_.values()[v].front());
      if (tensor.from == KernelId(k)) sum += held(v, made_by(rule, tensor), elements_of(v));
    }
    return sum;
  }
  [[nodiscard]] LayoutCost drawn_kept(std::size_t v, char layout) const {
    return drawn(v * 128 + static_cast<std::uint64_t>(layout) + 77'777);
  }

 private:
  [[nodiscard]] std::size_t find(const std::string& name) const {
    std::size_t k = 0;
    while (k < graph_.kernel_count() && graph_.kernels()[k].name != name) ++k;
    return k;
  }
  /// The gradient of INPUT: no kernel reads it, and it is no gradient of a weight.
  [[nodiscard]] std::string last_gradient() const {
    for (std::size_t k = graph_.kernel_count(); k-- > 0;) {
      const Kernel& kernel = graph_.kernels()[k];
      if (kernel.name.ends_with("_wgrad") || !graph_.outputs(KernelId(k)).empty()) continue;
      return kernel.phase == Phase::Backward ? kernel.name : "none";
    }
    return "none";
  }

  /// What a conversion takes; of summands 2 for an all-reduce, 1 for a reduce-scatter.
  [[nodiscard]] LayoutCost step(char from, char to, char copies, double elements,
                                std::uint64_t where) const {
    if (to == 'P') return kIllegal;
    if (from == 'R') return {};
    const double n = static_cast<double>(axis_.chips);
    const bool is_sum = from == 'P' || (from == 'F' && copies == 'g');
    const bool is_whole = to == 'R' || (to == 'F' && copies != ' ');
    const double sent =
        (is_sum ? n : 0.0) + (is_whole ? n : 0.0) + (is_sum || is_whole ? 0.0 : 1.0);
    switch (criterion_) {
      case Criterion::Sent:
        return {sent * elements, 1.0, 0.0};
      case Criterion::Kept:
        return {0.0, sent * elements, 1.0};
      case Criterion::Front:
        return {sent * elements, 0.0, 0.0};
      case Criterion::Random:
        break;
    }
    return drawn_step(from, to, where);
  }

  [[nodiscard]] LayoutCost keeping(std::size_t v, char layout, double elements) const {
    if (criterion_ == Criterion::Random) return drawn_kept(v, layout);
    const double kept = held(v, layout, elements);
    if (criterion_ == Criterion::Front) return {0.0, kept, 0.0};
    return criterion_ == Criterion::Sent ? LayoutCost{0.0, 0.0, kept} : LayoutCost{kept, 0.0, 0.0};
  }

  [[nodiscard]] double held(std::size_t v, char layout, double elements) const {
    const double n = static_cast<double>(axis_.chips);
    if (layout == 'F' && copies_[v] != ' ') {
      return elements * n / static_cast<double>(axis_.kv_heads);
    }
    return elements * (layout == 'R' || layout == 'P' ? n : 1.0);
  }

  [[nodiscard]] double elements_of(std::size_t v) const {
    const Tensor& first = graph_.tensor(graph_.values()[v].front());
    const Kernel& producer = graph_.kernel(first.from);
    const std::int64_t rows = first.rows > 0 ? first.rows : producer.outer * producer.m;
    return static_cast<double>(rows * producer.n);
  }

  static char made_by(const PlainRule& rule, const Tensor& tensor) {
    if (rule.parts.empty() || tensor.value < 1) return rule.output;
    return rule.parts[static_cast<std::size_t>(tensor.value - 1)];
  }

  /// The layouts are made one after the other, in every order, each of any that is there.
  [[nodiscard]] LayoutCost made(std::size_t v, char root, std::string wanted, double elements,
                                int phase) const {
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    std::erase(wanted, root);
    LayoutCost best = wanted.empty() ? LayoutCost{} : kIllegal;
    do {
      LayoutCost sum{};
      std::string there(1, root);
      for (const char to : wanted) {
        LayoutCost least = kIllegal;
        for (const char from : there) {
          least = std::min(least, step(from, to, copies_[v], elements,
                                       v * 2 + static_cast<std::uint64_t>(phase)));
        }
        sum = plus(sum, least);
        there += to;
      }
      best = std::min(best, sum);
    } while (std::next_permutation(wanted.begin(), wanted.end()));
    return best;
  }

  /// One for each way to keep it.
  [[nodiscard]] std::vector<LayoutCost> value(std::size_t v, const Assignment& rules) const {
    const Tensor& first = graph_.tensor(graph_.values()[v].front());
    const char produced = made_by(*rules[first.from.index()], first);
    const Kernel& producer = graph_.kernel(first.from);
    const double elements = elements_of(v);
    std::string forward, backward;
    for (const TensorId t : graph_.values()[v]) {
      const KernelId to = graph_.tensor(t).to;
      std::size_t input = 0;
      while (graph_.inputs(to)[input] != t) ++input;
      (graph_.kernel(to).phase == Phase::Forward ? forward : backward) +=
          rules[to.index()]->inputs[input];
    }
    const LayoutCost once = made(v, produced, forward, elements, 0);
    if (producer.phase == Phase::Backward || backward.empty()) {
      return {plus(once, made(v, produced, backward, elements, 1))};
    }
    std::vector<LayoutCost> all;
    for (const char kept : forward + produced) {
      const LayoutCost again = made(v, kept, backward, elements, 1);
      all.push_back(plus(once, plus(again, keeping(v, kept, elements))));
    }
    return all;
  }

  const DataflowGraph& graph_;
  const AxisRules& axis_;
  Criterion criterion_;
  std::uint64_t seed_;
  std::vector<char> copies_;  // ' ' none, 'v' of a value, 'g' of a gradient
};

}  // namespace dfsearch::test
