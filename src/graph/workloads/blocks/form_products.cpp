#include "graph/workloads/blocks/form_products.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/counts.hpp"

namespace dfsearch {

std::vector<FurtherProduct> further_products(const LayerForm& form, double tensor) {
  std::vector<FurtherProduct> products;
  std::map<std::tuple<std::int64_t, LinearSplit, bool>, std::size_t> known;
  for (const Linear& linear : form.linears) {
    const LinearSplit split = linear_split(linear.role);
    const double out = number(linear.out * linear.used);
    if (split == LinearSplit::Rows) {
      products.push_back({.in = number(linear.in) / tensor, .out = out, .role = linear.role});
      continue;
    }
    const bool is_channels = linear.role >= LinearRole::Up;
    const auto [place, is_new] =
        known.try_emplace({linear.in, split, is_channels}, products.size());
    if (is_new) products.push_back({.in = number(linear.in), .role = linear.role});
    products[place->second].out += split == LinearSplit::Columns ? out / tensor : out;
  }
  return products;
}

double shifted_elements(const LayerForm& form, double ranks) {
  double sum = 0.0;
  for (const Block& scan : form.scans) {
    if (scan.kind == BlockKind::Shortconv) continue;  // it needs few tokens of the rank before
    for (const Linear& linear : counts_of(scan, form.view.hidden).linears) {
      if (linear.role == LinearRole::In && linear.in == form.view.hidden) {
        sum += number(linear.out * linear.used);
      }
      if (linear.role == LinearRole::Out) sum += number(linear.in);
    }
    if (scan.kind != BlockKind::Mamba2) continue;
    // Ranks beyond the groups repeat the inputs and outputs of the state.
    const double repeated = std::max(1.0, ranks / number(scan.groups)) - 1.0;
    sum += 2.0 * number(scan.groups * scan.state) * repeated;
  }
  return sum;
}

double summed_elements(const LayerForm& form) {
  double sum = 0.0;
  for (const Linear& linear : form.linears) {
    if (linear.role == LinearRole::Steps) sum += number(linear.out);
  }
  return sum;
}

}  // namespace dfsearch
