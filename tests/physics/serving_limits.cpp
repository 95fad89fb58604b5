// Limits on every deployment: weights and caches of a token over the bandwidth of its replica, FLOP
// of the requests over the peak of all chips, bytes of a chip over its capacity, bytes of sums over
// its links.

#include <algorithm>
#include <cmath>

#include "physics/limits.hpp"
#include "physics/numbers.hpp"

namespace dfsearch::test {
namespace {

double bytes_of(const std::string& number) {
  if (number == "fp32") return 4.0;
  if (number == "bf16") return 2.0;
  if (number == "fp8" || number == "int8") return 1.0;
  if (number == "nvfp4") return 0.5 + 1.0 / 16.0;
  if (number == "mxfp4") return 0.5 + 1.0 / 32.0;
  return 0.5;
}

/// Replicas of a deployment that do the same, and the chips that they are on.
struct ServingRole {
  const Json& system;
  double pool_chips;
  double t, p, ranks, replicas, batch, depth;

  ServingRole(const Json& config, const Json& role, double depth_)
      : system(pool(config, role)["system"]),
        pool_chips(count_of(pool(config, role), "chips")),
        t(count_of(role, "tensor")),
        p(count_of(role, "pipeline")),
        ranks(count_of(role, "attention_data")),
        replicas(count_of(role, "replicas")),
        batch(count_of(role, "batch")),
        depth(depth_) {}

  static const Json& pool(const Json& config, const Json& role) {
    const Json& pools = config["serving"]["pools"];
    for (const Json& pool : pools) {
      if (pool.value("name", "") == role["pool"]) return pool;
    }
    return pools.front();
  }
  [[nodiscard]] double chips() const { return t * p * ranks * replicas; }
  [[nodiscard]] double bandwidth() const { return amount(system["memory"]["bandwidth"]); }
  [[nodiscard]] double capacity() const {
    const double usable = system.contains("engine") ? count_of(system["engine"], "usable") : 1.0;
    return amount(system["memory"]["capacity"]) * usable;
  }
  /// The peak of a kind of number; by default the peak of 16-bit numbers.
  [[nodiscard]] double peak(const std::string& number) const {
    const Json peak = system.value("peak", Json::object());
    if (!peak.is_object()) return amount(peak);
    if (peak.contains(number)) return amount(peak[number]);
    if (peak.contains("bf16")) return amount(peak["bf16"]);
    return peak_of({{"system", {{"accelerator", system["accelerator"]}}}});
  }
  /// The network as `members` chips fill it, from the inside.
  [[nodiscard]] std::vector<Line> lines(double members) const {
    std::vector<Line> lines;
    for (const Json& dimension : system.value("network", Json::array())) {
      if (!dimension.contains("topology") || !dimension.contains("bandwidth")) continue;
      const double here = std::min(members, count_of(dimension, "degree", members));
      lines.push_back({dimension["topology"], amount(dimension["bandwidth"]), here});
      members = std::ceil(members / here);
    }
    return lines;
  }
};

/// A model and its requests, in means over their classes.
struct Served {
  LayerNumbers dense, experts;  // a layer of either kind
  double layers, expert_layers, dense_layers;
  double head, hidden;
  double fresh = 0.0;           // tokens of a request that are computed to prefill it
  double outputs = 0.0;         // tokens of a request that come out
  double later = 0.0;           // tokens after the first among them
  double seen = 0.0;            // tokens whose keys such a token reads, but for windows
  double pairs = 0.0;           // of queries and keys of a prefill
  double products = 0.0;        // FLOP of a pair of a prefill, in all heads of a layer
  double later_products = 0.0;  // of a pair of decoding, where latents may stand for keys
  bool has_windows;
  Json precision;

  Served(const Json& workload, const Json& chosen)
      : precision(workload.value("precision", Json())) {
    if (chosen.is_object()) {
      for (const auto& [kind, number] : chosen.items()) precision[kind] = number;
    }
    Json model = workload["model"];
    model["kind"] = "llm_decode";
    layers = count_of(model, "layers");
    hidden = count_of(model, "hidden");
    expert_layers =
        model.contains("experts") ? layers - count_of(model["experts"], "dense_layers", 0.0) : 0.0;
    dense_layers = layers - expert_layers;
    head = hidden * count_of(model, "vocabulary", 0.0);
    has_windows = model.contains("window");
    add_requests(workload, count_of(model, "window", 1e18));
    model["context"] = later > 0.0 ? std::max(1.0, std::floor(seen)) : 1.0;
    dense = layer_numbers(model, true);
    experts = layer_numbers(model);
    const double a = count_of(model, "heads");
    const double d = count_of(model, "head_dim");
    products = 2.0 * a * (d + count_of(model, "value_dim", d));
    later_products = products;
    if (model.contains("latent_attention")) {
      const Json& latent = model["latent_attention"];
      const double absorbed =
          2.0 * a * (2.0 * count_of(latent, "key_value_rank") + count_of(latent, "rope_dim"));
      later_products = std::min(products, absorbed);
      products = later_products;
    }
  }

  void add_requests(const Json& workload, double window) {
    Json classes = Json::array();
    if (workload.contains("requests")) {
      classes = workload["requests"];
    } else {
      classes.push_back(workload);
    }
    double shares = 0.0;
    for (const Json& one : classes) {
      const double share = count_of(one, "share");
      const double prefix = count_of(one, "prefix", 0.0);
      const double input = count_of(one, "input");
      const double output = count_of(one, "output");
      shares += share;
      fresh += share * (input - prefix);
      outputs += share * output;
      later += share * (output - 1.0);
      for (double before = input; before < input + output - 1.0; ++before) {
        seen += share * std::min(window, before);
      }
      // Of a window the least that holds whatever it is: no token sees fewer keys than its own.
      pairs += share * (window < 1e18 ? input - prefix
                                      : (input - prefix) * (prefix + (input - prefix + 1.0) / 2.0));
    }
    seen = later > 0.0 ? seen / later : 0.0;
    for (double* sum : {&fresh, &outputs, &later, &pairs}) *sum /= shares;
  }

  /// Bytes of a kind of value; where several may be chosen from, the fewest.
  [[nodiscard]] std::string number(const char* kind) const {
    const bool as_weights = kind == std::string("products") || kind == std::string("head");
    const std::string preset = as_weights ? number("weights") : "bf16";
    if (!precision.is_object() || !precision.contains(kind)) return preset;
    const Json& given = precision[kind];
    return given.is_array() ? given.front().get<std::string>() : given.get<std::string>();
  }
  [[nodiscard]] double bytes(const char* kind) const { return bytes_of(number(kind)); }

  /// Elements of all layers that a token multiplies with.
  [[nodiscard]] double active() const {
    return dense_layers * dense.read + expert_layers * experts.read;
  }
  /// Bytes that all chips of a replica together read for a token; `ranks` have all but experts
  /// each.
  [[nodiscard]] double weights_of_pass(double ranks) const {
    const double shared = experts.read - used();
    return bytes("weights") * (ranks * (dense_layers * dense.read + expert_layers * shared) +
                               expert_layers * used()) +
           bytes("head") * head;
  }
  /// Elements of the experts of a token.
  [[nodiscard]] double used() const {
    return expert_layers > 0.0 ? experts.read - (experts.weights - experts.experts) : 0.0;
  }
  /// Bytes that are stored, as `ranks` have all but experts each.
  [[nodiscard]] double stored(double ranks) const {
    return bytes("weights") * (ranks * (dense_layers * dense.weights +
                                        expert_layers * (experts.weights - experts.experts)) +
                               expert_layers * experts.experts) +
           bytes("head") * head;
  }
  /// Bytes of the cache that a token of one request reads in all layers.
  [[nodiscard]] double cache() const {
    return later > 0.0 ? layers * dense.cache * bytes("cache") : 0.0;
  }
  /// Seconds that one chip takes for the products of a request: to prefill it, and then to decode.
  [[nodiscard]] double prefill_seconds(const ServingRole& on) const {
    return 2.0 * active() * fresh / on.peak(number("products")) +
           2.0 * head / on.peak(number("head")) +
           layers * products * pairs / on.peak(number("attention"));
  }
  [[nodiscard]] double decode_seconds(const ServingRole& on) const {
    return later *
           (2.0 * active() / on.peak(number("products")) + 2.0 * head / on.peak(number("head")) +
            layers * later_products * seen / on.peak(number("attention")));
  }
};

/// A deployment and what is said of it; what is not said is without end.
struct Deployed {
  Served model;
  ServingRole prefill, decode;
  bool apart;
  double requests;  // rate of requests that it can serve, a second
  double tpot, ttft;
  double chips;

  Deployed(const Json& config, const Json& workload, const Json& deployment, double requests_,
           double tpot_, double ttft_, double chips_)
      : model(workload, deployment.value("precision", Json())),
        prefill(config, side(deployment, "prefill"), 0.0),
        decode(config, side(deployment, "decode"),
               count_of(side(deployment, "decode"), "depth", depth_of(workload))),
        apart(deployment.contains("decode")),
        requests(requests_),
        tpot(tpot_),
        ttft(ttft_),
        chips(chips_) {}

  static const Json& side(const Json& deployment, const char* role) {
    return deployment.contains(role) ? deployment[role] : deployment;
  }
  /// The greatest depth that there is to choose.
  static double depth_of(const Json& workload) {
    if (!workload.contains("speculation")) return 0.0;
    double most = 0.0;
    for (const char* key : {"depths", "depth"}) {
      const Json given = workload["speculation"].value(key, Json(1));
      for (const Json& one : given.is_array() ? given : Json::array({given})) {
        most = std::max(most, one.is_number() ? one.get<double>() : 16.0);
      }
    }
    return most;
  }
  /// Upper bound on the tokens that a pass gains: the checked ones, and one more.
  [[nodiscard]] double gained() const { return 1.0 + decode.depth; }
};

using DeploymentCheck = std::function<std::optional<Violation>(const Deployed& x)>;

double or_without_end(const Json& map, const char* key) { return count_of(map, key, 1e300); }

/// A check of every deployment that an answer has.
NamedCheck deployment_limit(const char* name, DeploymentCheck check) {
  return {
      name,
      [check = std::move(check)](const Json&, const Answer& answer) -> std::optional<Violation> {
        const Json& config = answer.config;
        const auto* of = std::get_if<ResultAnswer>(&answer.of);
        if (!of || !answer.found() || !of->result.contains("pools")) return std::nullopt;
        const Json& serving = of->result["serving"];
        const auto of_point = [&](const Json& point) {
          const Json& workload = config["workload"];
          const double chips = count_of(point, "chips");
          const Served model(workload, Json());
          return check(Deployed(config, workload, point["deployment"],
                                count_of(point, "tokens_per_s_per_chip") * chips / model.outputs,
                                1.0 / count_of(point, "tokens_per_s_per_user", 1e-300),
                                or_without_end(point, "ttft"), chips));
        };
        for (const Json& point : serving["front"]) {
          if (auto v = of_point(point)) return v;
        }
        for (const auto& [mode, point] : serving["best_of_mode"].items()) {
          if (auto v = of_point(point)) return v;
        }
        for (const Json& one : serving["fleet"]) {
          for (const Json& model : config["fleet"]["models"]) {
            if (model["name"] != one["model"]) continue;
            if (auto v = check(Deployed(config, model["workload"], one["deployment"],
                                        count_of(one, "capacity"), or_without_end(one, "tpot"),
                                        or_without_end(one, "ttft"), count_of(one, "chips")))) {
              return v;
            }
          }
        }
        if (!serving["best"].is_object()) return std::nullopt;
        const Json& figures = serving["figures"];
        return check(Deployed(config, config["workload"], serving["best"],
                              count_of(figures, "capacity"), or_without_end(figures, "tpot"),
                              or_without_end(figures, "ttft"), count_of(figures, "chips")));
      }};
}

std::vector<NamedCheck> make_deployment_limits() {
  std::vector<NamedCheck> checks;
  const auto add = [&](const char* name, DeploymentCheck check) {
    checks.push_back(deployment_limit(name, std::move(check)));
  };
  add("serving: weights and caches of a token over the bandwidth of its rank",
      [](const Deployed& x) {
        // All chips of a replica read what they have, and a stage waits for the one that has most.
        // Slots may be empty, but for the one of the request that gets the token.
        const ServingRole& d = x.decode;
        const double read =
            x.model.weights_of_pass(d.ranks) / (d.t * d.ranks) + x.model.cache() / d.t;
        return at_least("serving: weights and caches of a token over the bandwidth of its rank",
                        x.model.later > 0.0 ? read / d.bandwidth() / x.gained() : 0.0, x.tpot);
      });
  add("serving: FLOP of a token over the peak of its replica", [](const Deployed& x) {
    const ServingRole& d = x.decode;
    const double seconds = x.model.later > 0.0 ? x.model.decode_seconds(d) / x.model.later : 0.0;
    return at_least("serving: FLOP of a token over the peak of its replica", seconds / d.t,
                    x.tpot * x.gained());
  });
  add("serving: FLOP of all requests over the peak of all chips",
      [](const Deployed& x) -> std::optional<Violation> {
        const char* name = "serving: FLOP of all requests over the peak of all chips";
        const double prefill = x.requests * x.model.prefill_seconds(x.prefill);
        const double decode = x.requests * x.model.decode_seconds(x.decode);
        if (!x.apart) return at_least(name, prefill + decode, x.decode.chips());
        if (auto v = at_least(name, prefill, x.prefill.chips())) return v;
        return at_least(name, decode, x.decode.chips());
      });
  add("serving: caches and weights of all requests over the bandwidth of all chips",
      [](const Deployed& x) {
        const ServingRole& d = x.decode;
        // A pass gives each request of the batches of all ranks a token or more.
        const double weights = x.model.weights_of_pass(d.ranks) / (d.batch * d.ranks);
        const double bytes = x.requests * x.model.later * (weights + x.model.cache()) / x.gained();
        return at_least(
            "serving: caches and weights of all requests over the bandwidth of all chips",
            bytes / d.bandwidth(), d.chips());
      });
  add("serving: a first token waits for the FLOP of its prompt", [](const Deployed& x) {
    const ServingRole& d = x.prefill;
    return at_least("serving: a first token waits for the FLOP of its prompt",
                    x.model.prefill_seconds(d) / (d.t * d.p * d.ranks), x.ttft);
  });
  add("serving: a first token waits for the weights", [](const Deployed& x) {
    const ServingRole& d = x.prefill;
    return at_least("serving: a first token waits for the weights",
                    x.model.weights_of_pass(d.ranks) / (d.t * d.ranks) / d.bandwidth(), x.ttft);
  });
  add("serving: weights and caches over the capacity", [](const Deployed& x) {
    const ServingRole& d = x.decode;
    const double held =
        x.model.stored(d.ranks) / (d.t * d.ranks * d.p) + d.batch * x.model.cache() / d.t;
    return at_least("serving: weights and caches over the capacity", held, d.capacity());
  });
  add("serving: weights of a side that prefills over the capacity", [](const Deployed& x) {
    const ServingRole& d = x.prefill;
    return at_least("serving: weights of a side that prefills over the capacity",
                    x.model.stored(d.ranks) / (d.t * d.ranks * d.p), d.capacity());
  });
  add("serving: chips are those of the pool", [](const Deployed& x) -> std::optional<Violation> {
    const char* name = "serving: chips are those of the pool";
    const double chips = x.decode.chips() + (x.apart ? x.prefill.chips() : 0.0);
    if (auto v = at_least(name, chips, x.chips)) return v;
    if (auto v = at_least(name, x.decode.chips(), x.decode.pool_chips)) return v;
    return at_least(name, x.prefill.chips(), x.prefill.pool_chips);
  });
  add("serving: tensor ranks add up what their heads and rows make", [](const Deployed& x) {
    const ServingRole& d = x.decode;
    if (d.t < 2.0 || x.model.later <= 0.0) return std::optional<Violation>();
    // Without links that add up, t - 1 ranks send a summand of each element and t - 1 get the sum.
    const double sums = 2.0 * x.model.dense_layers + x.model.expert_layers;
    const double bytes =
        2.0 * (d.t - 1.0) / d.t * sums * x.model.hidden * x.model.bytes("communication");
    return at_least("serving: tensor ranks add up what their heads and rows make",
                    bytes / chip_bandwidth(d.lines(d.t)) / x.gained(), x.tpot);
  });
  add("serving: caches of all requests from pool to pool",
      [](const Deployed& x) -> std::optional<Violation> {
        if (!x.apart || x.model.later <= 0.0 || x.model.has_windows) return std::nullopt;
        const double cached =
            x.model.layers * x.model.dense.cache / x.model.seen * x.model.bytes("cache");
        for (const ServingRole* side : {&x.prefill, &x.decode}) {
          const Json network = side->system.value("network", Json::array());
          if (network.empty() && !side->system.contains("transfer")) continue;
          const double transfer =
              amount(side->system.contains("transfer") ? side->system["transfer"]
                                                       : network.back()["bandwidth"]);
          if (auto v =
                  at_least("serving: caches of all requests from pool to pool",
                           x.requests * std::min(x.model.fresh, x.model.seen) * cached / transfer,
                           side->chips())) {
            return v;
          }
        }
        return std::nullopt;
      });
  return checks;
}

}  // namespace

const std::vector<NamedCheck>& serving_limits() {
  static const std::vector<NamedCheck> checks = make_deployment_limits();
  return checks;
}

}  // namespace dfsearch::test
