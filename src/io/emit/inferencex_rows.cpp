// The keys of the rows are taken from InferenceX: utils/process_result.py of
// github.com/SemiAnalysisAI/InferenceX.

#include <cstdint>
#include <limits>
#include <string>

#include "io/emit/emitted.hpp"

namespace dfsearch {
namespace {

/// Mean lengths of all classes of requests.
struct Lengths {
  double input = 0.0, output = 0.0;
};
Lengths lengths_of(const Json& requests) {
  Lengths mean;
  double all = 0.0;
  for (const Json& of : requests) {
    const double share = of.at("share");
    mean.input += share * of.at("input").get<double>();
    mean.output += share * of.at("output").get<double>();
    all += share;
  }
  return {mean.input / all, mean.output / all};
}

std::int64_t chips_of(const Json& role) {
  const auto degree = [&](const char* key) { return role.at(key).get<std::int64_t>(); };
  return degree("tensor") * degree("attention_data") * degree("pipeline") * degree("replicas");
}

/// Puts the keys of a role, with its prefix if there are several roles.
void put_role(Json& row, const std::string& prefix, const Json& role) {
  row[prefix + "tp"] =
      role.at("tensor").get<std::int64_t>() * role.at("attention_data").get<std::int64_t>();
  row[prefix + "pp"] = role.at("pipeline");
  row[prefix + "ep"] = role.at("expert");
  row[prefix + "dp_attention"] = role.at("attention_data") > 1;
  row[prefix.empty() ? "num_workers" : prefix + "num_workers"] = role.at("replicas");
}

Json row_of(const Json& result, const Json& deployment, double tpot, double ttft,
            double tokens_per_s, std::int64_t chips) {
  const bool pair = deployment.at("mode") == "disaggregated";
  const Lengths lengths = lengths_of(result.at("workload").at("requests"));
  const double all = static_cast<double>(chips);
  const double e2e = ttft + (lengths.output - 1.0) * tpot;
  Json row = {{"hw", (pair ? deployment.at("decode") : deployment).at("pool")},
              {"framework", result.at("framework").is_object() ? result["framework"].at("name")
                                                               : Json("dfsearch")},
              {"precision", number_of(result, deployment, "weights")},
              {"isl", lengths.input},
              {"osl", lengths.output},
              {"disagg", pair}};
  if (pair) {
    for (const char* role : {"prefill", "decode"}) {
      row["num_" + std::string(role) + "_gpu"] = chips_of(deployment.at(role));
      put_role(row, std::string(role) + "_", deployment.at(role));
    }
  } else {
    put_role(row, "", deployment);
  }
  row["num_gpu"] = chips;
  row["conc"] = json_number(tokens_per_s / lengths.output * e2e);
  row["tput_per_gpu"] = json_number(tokens_per_s * (1.0 + lengths.input / lengths.output) / all);
  row["output_tput_per_gpu"] = json_number(tokens_per_s / all);
  row["input_tput_per_gpu"] = json_number(tokens_per_s * lengths.input / lengths.output / all);
  row["mean_ttft"] = json_number(ttft);
  row["mean_tpot"] = json_number(tpot);
  row["mean_intvty"] = json_number(1.0 / tpot);
  row["mean_e2el"] = json_number(e2e);
  return row;
}

/// The time of a value; infinity for null.
double time_of(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

}  // namespace

std::string inferencex_rows(const Json& result) {
  const Json& serving = result.at("serving");
  Json rows = Json::array();
  if (serving.at("best").is_object()) {
    const Json& figures = serving.at("figures");
    rows.push_back(row_of(result, serving["best"], figures.at("tpot"), time_of(figures.at("ttft")),
                          figures.at("tokens_per_s"), figures.at("chips")));
  }
  for (const Json& point : serving.at("front")) {
    const std::int64_t chips = point.at("chips");
    rows.push_back(row_of(
        result, point.at("deployment"), 1.0 / point.at("tokens_per_s_per_user").get<double>(),
        time_of(point.at("ttft")),
        point.at("tokens_per_s_per_chip").get<double>() * static_cast<double>(chips), chips));
  }
  return json_text(rows);
}

}  // namespace dfsearch
