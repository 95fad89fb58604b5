#include "model/serving/requests.hpp"

#include <algorithm>
#include <cmath>

namespace dfsearch::serving {

Means::Means(const std::vector<RequestClass>& classes) : classes_(classes) {
  double all = 0.0;
  for (const RequestClass& request : classes) all += request.share;
  for (RequestClass& request : classes_) {
    request.share /= all;
    const auto [i, o, p, q] = request;
    const auto in = static_cast<double>(i), out = static_cast<double>(o);
    const double cached = static_cast<double>(p), n = in - cached;
    input += q * in;
    output += q * out;
    fresh += q * n;
    variation += q * n * n;
    pairs += q * (n * cached + n * (n + 1.0) / 2.0);
    steps += q * (out - 1.0);
    context += q * (out - 1.0) * (in + out / 2.0);
    grown += q * (out - 1.0) * (in + out);
    longest = std::max(longest, in + out);
  }
  variation = std::max(variation / (fresh * fresh) - 1.0, 0.0);
  if (steps > 0.0) {
    context /= steps;
    grown /= steps;
  }
}

double Means::iterations(std::int64_t chunk) const {
  double sum = 0.0;
  for (const auto& [i, o, p, q] : classes_) {
    const std::int64_t n = i - p;
    sum += q * (chunk < n ? std::ceil(static_cast<double>(n) / static_cast<double>(chunk))
                          : 1.0 / static_cast<double>(chunk / n));
  }
  return sum;
}

double Means::whole_iterations(std::int64_t chunk) const {
  double sum = 0.0;
  for (const auto& [i, o, p, q] : classes_) {
    sum += q * std::ceil(static_cast<double>(i - p) / static_cast<double>(chunk));
  }
  return sum;
}

PrefillWork Means::work_of_chunk(std::int64_t chunk) const {
  double entries = 0.0;
  for (const auto& [i, o, p, q] : classes_) {
    // All chunks but the last are full: p + j C for j = 1 .. last - 1, and p + n.
    const auto n = static_cast<double>(i - p), size = static_cast<double>(chunk);
    const double last = std::ceil(n / size);
    entries += q * (last * static_cast<double>(p) + size * last * (last - 1.0) / 2.0 + n);
  }
  const double share = 1.0 / iterations(chunk);
  return {.tokens = fresh * share,
          .pairs = pairs * share,
          .entries = entries * share,
          .requests = share};
}

PrefillWork Means::work_of_pass(std::int64_t requests) const {
  const auto many = static_cast<double>(requests);
  return {.tokens = many * fresh, .pairs = many * pairs, .entries = many * input, .requests = many};
}

}  // namespace dfsearch::serving
