#pragma once
// Means over the classes of requests.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "graph/workloads/blocks/mixed_layers.hpp"
#include "model/serving/task.hpp"

namespace dfsearch::serving {

/// Indices of views.  The view of a layer is all tokens, or a window; a model has one window, or
/// several if it has several kinds of layers.
inline constexpr std::size_t kAll = 0, kSights = 1 + kMostWindows;

/// The windows of a model; 0: all tokens.
struct Views {
  std::array<std::int64_t, kSights> window{};
  std::size_t count = 2;  ///< number of views of the model, the view of all tokens included

  [[nodiscard]] std::size_t index_of(std::int64_t tokens) const {
    return static_cast<std::size_t>(std::find(window.begin(), window.end(), tokens) -
                                    window.begin());
  }
};
Views views_of(const Transformer& model);

/// The work of attention in one layer.
struct Scores {
  double pairs = 0.0;    ///< pairs of queries and keys
  double entries = 0.0;  ///< entries of the cache that are read
};

/// The prefill that is part of an iteration or a pass.
struct PrefillWork {
  double tokens = 0.0;
  double requests = 0.0;  ///< requests that get their first token
  std::array<Scores, kSights> scores{};

  [[nodiscard]] PrefillWork times(double count) const {
    PrefillWork work{.tokens = tokens * count, .requests = requests * count};
    for (std::size_t sight = 0; sight < scores.size(); ++sight) {
      work.scores[sight] = {.pairs = scores[sight].pairs * count,
                            .entries = scores[sight].entries * count};
    }
    return work;
  }
};

/// Tokens of a request in the cache of a layer, by the view of the layer.
struct Cached {
  std::array<double, kSights> tokens{};

  /// Sets the tokens of each view to `of(window)`; window 0: all tokens.
  template <class Tokens>
  static Cached by_view(const Views& views, const Tokens& of) {
    Cached cached;
    for (std::size_t sight = 0; sight < views.count; ++sight) {
      cached.tokens[sight] = of(views.window[sight]);
    }
    return cached;
  }
};

/// Means over the classes of requests, for a layer with a given view.
struct Seen {
  double pairs = 0.0;    ///< pairs of queries and keys of a prefill, causal
  double context = 0.0;  ///< tokens that a step after the first token sees
  double grown = 0.0;    ///< final length of a running request, weighted by its time
  double longest = 0.0;
  double input = 0.0;
};

/// Means over the classes of requests, (1) to (4) of docs/serving.md.
struct Means {
  explicit Means(const std::vector<RequestClass>& classes);

  double input = 0.0;
  double output = 0.0;
  double fresh = 0.0;      ///< tokens of the input that are not cached
  double steps = 0.0;      ///< tokens after the first
  double variation = 0.0;  ///< squared coefficient of variation of `fresh`

  /// Means for a layer in which a query sees at most `window` tokens; 0: all tokens.
  [[nodiscard]] Seen seen(std::int64_t window) const;
  /// Mixed iterations that a request costs with chunks of `chunk` tokens; several requests share an
  /// iteration if its chunk holds them.
  [[nodiscard]] double iterations(std::int64_t chunk) const;
  /// Mixed iterations of a request if requests share none.
  [[nodiscard]] double whole_iterations(double chunk) const;
  [[nodiscard]] PrefillWork work_of_prompt(double chunk, const Views& views) const;
  [[nodiscard]] PrefillWork work_of_pass(std::int64_t requests, const Views& views) const;

 private:
  std::vector<RequestClass> classes_;  // with shares that add up to 1
};

/// (13): tokens of cache reserved for a running request of a model with these views.
Cached reserved_tokens(const Task& task, const Means& means, const Views& views);

/// The mean wait of the queue M/D/1 in units of its service time; infinite from a load of 1 on.
double mean_wait(double load);

/// Erlang's C: the share of arrivals that wait if each of `servers` servers has the load `load`.
double waiting_share(std::int64_t servers, double load);

/// The wait that 99 of 100 arrivals do not exceed: an approximation for the queue M/G/c, where
/// `variation` is the squared coefficient of variation of service times (Lee and Longton,
/// Operational Research Quarterly 1959; an exponential tail).  Infinite from a load of 1 on.
double wait_of_99(std::int64_t servers, double load, double service, double variation);

}  // namespace dfsearch::serving
