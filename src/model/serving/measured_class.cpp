#include "model/serving/measured_class.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace dfsearch::serving {
namespace {

/// Greatest number of requests of a replica in each class of load; larger loads are in the last
/// class.
constexpr std::int64_t kRequests[] = {64, 256, 1'000'000'000};
constexpr std::int64_t kNode = 8;  ///< chips
constexpr std::int64_t kFew = 3;   ///< a class with fewer rows gets a caution
constexpr double kOff = 0.2;       ///< a class with a larger mean error gets a caution

std::int64_t step_of(std::int64_t requests) {
  return std::lower_bound(std::begin(kRequests), std::end(kRequests) - 1, requests) -
         std::begin(kRequests);
}

/// Bits of a format in its class: formats of less than 8 bits count as 4.
std::int64_t bits_of(Number number) {
  const double bytes = bytes_of(number);
  return bytes < 1.0 ? 4 : std::llround(8.0 * bytes);
}

/// Distance of two classes: a different kind counts most, the next class of load least.
int distance(const MeasuredClass& a, const MeasuredClass& b) {
  int sum = static_cast<int>(std::abs(step_of(a.requests) - step_of(b.requests)));
  if (a.bits != b.bits) sum += 2;
  if (a.wide != b.wide) sum += 4;
  if (a.ranks != b.ranks) sum += 8;
  if (a.job != b.job) sum += 16;
  if (a.kind != b.kind) sum += 32;
  return sum;
}

std::string error_text(const MeasuredClass& of) {
  std::string text = fmt::format("{:.0f} % off", 100.0 * of.off);
  if (of.rows > 1 && std::abs(of.bias) >= 0.005) {
    text += fmt::format(" on average, {:.0f} % too {}", 100.0 * std::abs(of.bias),
                        of.bias < 0.0 ? "fast" : "slow");
  }
  return text;
}

}  // namespace

MeasuredClass class_of(const Task& task, const Deployment& deployment, const Figures& figures) {
  const Role& role = deployment.decode;
  const Structure& s = role.structure;
  const Precision& precision = task.precisions[s.precision];
  const bool has_experts = task.model.experts.has_value();
  const bool is_apart = deployment.mode == Mode::Disaggregated;
  const double micro_batches = real(s.attention_data * s.pipeline);
  const double requests = is_apart ? figures.running * micro_batches
                                   : std::min(figures.in_flight / real(role.replicas),
                                              real(role.batch) * micro_batches);
  MeasuredClass found{.kind = is_apart      ? MeasuredKind::Apart
                              : has_experts ? MeasuredKind::Experts
                                            : MeasuredKind::Dense,
                      .job = task.num_requests.has_value(),
                      .bits = bits_of(has_experts ? precision.weights_of(Module::Experts)
                                                  : precision.weights_of(Module::Dense)),
                      .ranks = has_experts && s.attention_data > 1,
                      .wide = s.stage_chips() > kNode};
  const double most = static_cast<double>(kRequests[2]);
  found.requests = kRequests[step_of(std::llround(std::min(requests, most)))];
  return found;
}

bool is_same_class(const MeasuredClass& a, const MeasuredClass& b) { return distance(a, b) == 0; }

const MeasuredClass* nearest_class(const Engine& engine, const MeasuredClass& to) {
  const auto nearest = std::min_element(engine.measured.begin(), engine.measured.end(),
                                        [&](const MeasuredClass& a, const MeasuredClass& b) {
                                          const int first = distance(a, to),
                                                    second = distance(b, to);
                                          return first != second ? first < second : a.rows > b.rows;
                                        });
  return nearest == engine.measured.end() ? nullptr : &*nearest;
}

void add_error(double error, MeasuredClass& to) {
  const double rows = static_cast<double>(to.rows++);
  const auto mean = [&](double before, double value) {
    return (before * rows + value) / (rows + 1.0);
  };
  to.off = mean(to.off, std::abs(error));
  to.bias = mean(to.bias, error);
  if (std::abs(error) > kFarOff) ++to.beyond;
}

std::string text_of(const MeasuredClass& of) {
  std::string text =
      of.kind == MeasuredKind::Apart ? "prefill apart" : std::string(name_of(of.kind));
  text += fmt::format(" in {} bits", of.bits);
  if (of.job) text += ", a job";
  if (of.ranks) text += ", ranks of requests";
  if (of.wide) text += fmt::format(", more than {} chips", kNode);
  const std::int64_t step = step_of(of.requests);
  return text + (step == 2 ? fmt::format(", more than {} at once", kRequests[1])
                           : fmt::format(", up to {} at once", kRequests[step]));
}

std::string doubt_of(const Engine& engine, const MeasuredClass& of) {
  const MeasuredClass* nearest = nearest_class(engine, of);
  const std::string name = engine.name.empty() ? "this engine" : engine.name;
  if (nearest == nullptr) {
    return engine.is_ideal() ? "" : "guessed: no deployment was measured with " + name;
  }
  if (!is_same_class(*nearest, of)) {
    return fmt::format(
        "guessed: no deployment of this kind was measured with {} ({}); for the nearest kind, {}, "
        "the time per token is {} ({})",
        name, text_of(of), text_of(*nearest), error_text(*nearest), nearest->rows);
  }
  if (nearest->rows >= kFew && nearest->beyond == 0 && nearest->off <= kOff) return {};
  std::string text = fmt::format(
      "the time per token of {} measured deployment{} of this kind with {} ({}) is {}",
      nearest->rows, nearest->rows == 1 ? "" : "s", name, text_of(of), error_text(*nearest));
  if (nearest->beyond > 0 && nearest->rows > 1) {
    text += fmt::format("; of {} it is more than {:.0f} % off", nearest->beyond, 100.0 * kFarOff);
  }
  return text;
}

}  // namespace dfsearch::serving
