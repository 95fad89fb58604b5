#include "model/serving/requests.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dfsearch::serving {

namespace {

/// Number of pairs of a query in [begin, end) and a token that it sees: itself and earlier tokens,
/// at most `window`.
double seen_by(double begin, double end, double window) {
  const auto first = [window](double tokens) {
    const double below = std::min(tokens, window);
    return below * (below + 1.0) / 2.0 + (tokens - below) * window;
  };
  return first(end) - first(begin);
}

/// Entries of the cache that all chunks of a prefill read.  A chunk reads the entries that its
/// first token sees, and its own entries.
double entries_of(const RequestClass& request, double size, std::int64_t window) {
  const auto n = static_cast<double>(request.input - request.prefix);
  const auto p = static_cast<double>(request.prefix);
  // All chunks but the last are full, so without a window the chunks read p + j * size entries for
  // j = 1 .. last - 1, and p + n.
  const double last = std::ceil(n / size);
  if (window == 0) return last * p + size * last * (last - 1.0) / 2.0 + n;
  const double beside = static_cast<double>(window) - 1.0, most = size + beside;
  const double whole = std::clamp(std::floor((most - p) / size), 0.0, last - 1.0);
  return whole * p + size * whole * (whole + 1.0) / 2.0 + (last - 1.0 - whole) * most +
         std::min(p + n, n - (last - 1.0) * size + beside);
}

}  // namespace

Views views_of(const Transformer& model) {
  if (!model.mixed) return {.window = {0, model.window}};
  Views views{.count = 1 + model.mixed->windows.size()};
  std::copy(model.mixed->windows.begin(), model.mixed->windows.end(), views.window.begin() + 1);
  return views;
}

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
    steps += q * (out - 1.0);
  }
  variation = std::max(variation / (fresh * fresh) - 1.0, 0.0);
}

Seen Means::seen(std::int64_t window) const {
  Seen seen;
  for (const auto& [i, o, p, q] : classes_) {
    const auto in = static_cast<double>(i), out = static_cast<double>(o);
    const double cached = static_cast<double>(p), n = in - cached;
    const double most = window > 0 ? static_cast<double>(window) : in + out;
    const bool all = most >= in + out;
    seen.pairs += q * (all ? n * cached + n * (n + 1.0) / 2.0 : seen_by(cached, in, most));
    seen.context += q * (all ? (out - 1.0) * (in + out / 2.0) : seen_by(in, in + out - 1.0, most));
    // If no request has a second token, all have weight 1: the prompt is in the cache.
    seen.grown += q * (steps > 0.0 ? out - 1.0 : 1.0) * std::min(in + out, most);
    seen.longest = std::max(seen.longest, std::min(in + out, most));
    seen.input += q * std::min(in, most);
  }
  if (steps > 0.0) {
    seen.context /= steps;
    seen.grown /= steps;
  } else {
    seen.context = seen.grown;
  }
  return seen;
}

double Means::iterations(std::int64_t chunk) const {
  double sum = 0.0;
  for (const auto& [i, o, p, q] : classes_) {
    const std::int64_t n = i - p, at_once = chunk / n;
    sum += q * (chunk < n ? std::ceil(static_cast<double>(n) / static_cast<double>(chunk))
                          : 1.0 / static_cast<double>(at_once));
  }
  return sum;
}

double Means::whole_iterations(double chunk) const {
  double sum = 0.0;
  for (const auto& [i, o, p, q] : classes_) {
    sum += q * std::ceil(static_cast<double>(i - p) / chunk);
  }
  return sum;
}

PrefillWork Means::work_of_prompt(double chunk, const Views& views) const {
  PrefillWork work{.tokens = fresh, .requests = 1.0};
  for (std::size_t sight = 0; sight < views.count; ++sight) {
    const std::int64_t most = views.window[sight];
    double entries = 0.0;
    for (const RequestClass& one : classes_) entries += one.share * entries_of(one, chunk, most);
    work.scores[sight] = {.pairs = seen(most).pairs, .entries = entries};
  }
  return work;
}

PrefillWork Means::work_of_pass(std::int64_t requests, const Views& views) const {
  const auto many = static_cast<double>(requests);
  PrefillWork work{.tokens = many * fresh, .requests = many};
  for (std::size_t sight = 0; sight < views.count; ++sight) {
    const std::int64_t most = views.window[sight];
    double entries = 0.0;
    for (const RequestClass& one : classes_) {
      entries += one.share * entries_of(one, static_cast<double>(one.input - one.prefix), most);
    }
    work.scores[sight] = {.pairs = many * seen(most).pairs, .entries = many * entries};
  }
  return work;
}

Cached reserved_tokens(const Task& task, const Means& means, const Views& views) {
  return Cached::by_view(views, [&](std::int64_t window) {
    const Seen seen = means.seen(window);
    return task.cache_reserve == CacheReserve::Full   ? seen.grown
           : task.cache_reserve == CacheReserve::Mean ? seen.context
                                                      : seen.longest;
  });
}

// Queues, with one server or several (Erlang 1917; Gross et al., Fundamentals of Queueing Theory).

double mean_wait(double load) {
  return load < 1.0 ? load / (2.0 * (1.0 - load)) : std::numeric_limits<double>::infinity();
}

double waiting_share(std::int64_t servers, double load) {
  if (!(load < 1.0)) return 1.0;
  const double offered = load * static_cast<double>(servers);
  // The share of arrivals lost as all servers are busy (Erlang's B), by recursion over the servers.
  double lost = 1.0;
  for (std::int64_t n = 1; n <= servers; ++n) {
    lost = offered * lost / (static_cast<double>(n) + offered * lost);
  }
  return lost / (1.0 - load * (1.0 - lost));
}

double wait_of_99(std::int64_t servers, double load, double service, double variation) {
  if (!(load < 1.0)) return std::numeric_limits<double>::infinity();
  const double waiting = waiting_share(servers, load);
  if (waiting <= 0.01) return 0.0;
  return std::log(waiting / 0.01) * service * (1.0 + variation) /
         (2.0 * static_cast<double>(servers) * (1.0 - load));
}

}  // namespace dfsearch::serving
