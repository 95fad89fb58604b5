#include "support/plain_kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace dfsearch::test::plain {

std::string produced(Loop loop) {
  const std::array<const char*, 5> table{"RR", "SR", "RR", "SR", "RS"};
  return table[static_cast<std::size_t>(loop)];
}

// Columns: none, outer, K, M, N.
std::string consumed(const Kernel& kernel, Loop loop, int operand) {
  const std::array<const char*, 5> update{"RR", "SR", "RS", "SR", "SR"};
  const std::array<const char*, 5> simd{"RR", "SR", "RR", "SR", "RS"};
  const std::array<const char*, 5> first{"RR", "SR", "SR", "RR", "RS"};
  const std::array<const char*, 5> second{"RR", "SR", "RS", "SR", "RR"};
  const auto column = static_cast<std::size_t>(loop);
  if (kernel.tiled == Loop::K) return update[column];
  if (kernel.mode == Mode::Simd) return simd[column];
  if (kernel.kind == KernelKind::Gemm && operand == 2) return second[column];
  return first[column];
}

bool gathers(const std::string& from, const std::string& to) { return from != "RR" && to == "RR"; }

bool exchanges(const std::string& from, const std::string& to) {
  return from != "RR" && to != "RR" && from != to;
}

bool by_value(const Problem& problem) {
  return problem.equations.layout_conversion_bytes == ConversionBytes::Full;
}

namespace {

bool are_other_words(double a, double b) {
  for (double factor = 1.0; factor <= 16.0; factor *= 2.0) {
    if (a * factor == b || b * factor == a) return true;
  }
  return false;
}

/// Rows of the tensor that a part of the consumer's rows needs.
std::string needs(const Kernel& producer, const Kernel& consumer, const Tensor& t) {
  const double rows = t.rows > 0 ? number(t.rows) : number(producer.outer) * number(producer.m);
  const double outer = number(consumer.outer), m = number(consumer.m);
  const double k = number(consumer.k), n = number(consumer.n);
  const bool heads = consumer.outer > 1;
  const bool single = producer.outer == 1;
  const char* const all = "RR";
  switch (consumer.kind) {
    case KernelKind::Attention:
      return heads && single && rows <= std::max(k, m) ? all : "SR";
    case KernelKind::WeightGemm:
      return heads && (rows == k || (single && rows < k)) ? all : "SR";
    case KernelKind::Gemm: {
      if (!heads) return "SR";
      if (consumer.weight_of && t.operand == 2 && t.value >= 0 && rows == n) return all;
      const double elements = rows * number(producer.n);
      const bool own = elements == outer * k * n || elements == outer * m * k;
      return !own && single && rows <= std::max(m, k) ? all : "SR";
    }
    default:
      break;
  }
  const double own = outer * m;
  if (rows == own) return "SR";
  const bool groups = single ? std::fmod(rows, m) == 0.0 && producer.n != consumer.n
                             : rows == number(producer.outer) * m;
  if (!heads && rows > m && groups) return "SS";
  if (heads && single && rows <= m) return all;
  const bool same = are_other_words(rows, own) || std::fmod(rows, own) == 0.0 || (heads && !single);
  return same ? "SR" : all;
}

}  // namespace

std::string wanted(const Problem& problem, const Tensor& t, Loop loop) {
  const Kernel& consumer = problem.workload.graph.kernel(t.to);
  const std::string layout = consumed(consumer, loop, t.operand);
  const bool by_rows = loop == Loop::Outer || loop == Loop::M;
  if (layout != "SR" || !by_rows || !by_value(problem)) return layout;
  return needs(problem.workload.graph.kernel(t.from), consumer, t);
}

std::vector<Tensor> seams(const Problem& problem) {
  if (problem.equations.layer_seams == LayerSeams::Free) return {};
  return problem.workload.graph.seams();
}

bool couples(const Problem& problem, const Kernel& kernel, Loop loop) {
  return by_value(problem) && loop == Loop::M && kernel.coupled > 0;
}

bool is_there(const Problem& problem, std::size_t tensor, const std::vector<Loop>& sharding) {
  const std::vector<Tensor>& tensors = problem.workload.graph.tensors();
  const Tensor& t = tensors[tensor];
  if (!by_value(problem) || t.value < 0) return false;
  for (std::size_t other = 0; other < tensor; ++other) {
    const Tensor& o = tensors[other];
    if (o.from == t.from && o.value == t.value &&
        wanted(problem, o, sharding[o.to.index()]) == wanted(problem, t, sharding[t.to.index()])) {
      return true;
    }
  }
  return false;
}

double heads_of(const Tensor& t, const Kernel& producer, const Kernel& consumer) {
  const double heads = number(consumer.outer);
  if (consumer.kind != KernelKind::Attention || t.operand < 2 || t.operand > 3) return heads;
  const double rows = t.rows > 0 ? number(t.rows) : number(producer.outer) * number(producer.m);
  const double shared = rows / number(t.operand == 2 ? consumer.k : consumer.m);
  if (shared <= 1.0) return 1.0;
  return shared == std::floor(shared) && std::fmod(heads, shared) == 0.0 ? shared : heads;
}

double most_heads(double heads, double shared, double chips) {
  const double held = std::ceil(heads / chips);
  double most = 0.0;
  for (double first = 0.0; first < heads; first += held) {
    std::set<double> read;
    for (double head = first; head < std::min(heads, first + held); ++head) {
      read.insert(std::floor(head * shared / heads));
    }
    most = std::max(most, number(static_cast<std::int64_t>(read.size())));
  }
  return most;
}

double whole_output(const Problem& problem, const Kernel& kernel) {
  return number(kernel.outer) * number(kernel.m) * number(kernel.n) *
         problem.workload.word.in_base_units();
}

Kernel carried(const Tensor& tensor, Kernel producer) {
  if (tensor.rows == 0) return producer;
  producer.outer = 1;
  producer.m = tensor.rows;
  return producer;
}

double pairs_of(const Kernel& kernel) {
  const Attention& attention = *kernel.attention;
  double pairs = 0.0;
  for (std::int64_t query = 1; query <= kernel.n; ++query) {
    double seen = number(attention.keys);
    if (attention.causal) {
      seen = std::min(seen, std::max(number(attention.keys - kernel.n), 0.0) + number(query));
    }
    if (attention.window > 0) seen = std::min(seen, number(attention.window));
    pairs += seen;
  }
  return pairs;
}

double depth_of(const Kernel& kernel) {
  if (kernel.kind != KernelKind::Attention) return number(kernel.k);
  const double d = number(kernel.k), d_v = number(kernel.m);
  const bool backward = kernel.phase == Phase::Backward;
  const double products = backward ? d + d_v + d_v + d + d : d + d_v;
  return std::ceil(pairs_of(kernel) * products / (number(kernel.n) * d_v));
}

double flop_of(const Kernel& k) {
  if (k.kind == KernelKind::Attention) {
    const double once = 2.0 * number(k.outer) * pairs_of(k) * (number(k.k) + number(k.m));
    return k.phase == Phase::Backward ? 2.0 * once : once;
  }
  const bool product =
      k.kind == KernelKind::WeightGemm || k.kind == KernelKind::Gemm || k.mode == Mode::Systolic;
  if (!product && k.element_flops > 0) return 0.0;
  if (k.tokens > 0) {
    const std::int64_t other = k.tiled == Loop::K ? k.n : k.k;
    return 2.0 * number(k.m) * number(other) * number(k.tokens);
  }
  const double elements = number(k.outer) * number(k.m) * number(k.n);
  return product ? 2.0 * elements * number(k.k) : elements;
}

double times(const Kernel& kernel) {
  return number(kernel.repeat) * std::max(number(kernel.element_flops), 1.0);
}

}  // namespace dfsearch::test::plain
