#pragma once
// Words and lines of the reports of deployments and fleets.

#include <string>

#include "engine/serving/find_deployment.hpp"
#include "io/report/sheet.hpp"
#include "model/serving/task.hpp"

namespace dfsearch {

/// "12.3 ms", or "without end".
std::string time_text(double seconds);
/// "disaggregated: 2 prefill (tensor 1, batch 1) on 2 chips h100 + ...".
std::string deployment_text(const serving::Task& task, const serving::Deployment& deployment);
/// The objective of a deployment.
std::string value_text(const serving::Task& task, const serving::Figures& figures);
/// A limit in words that name its key.
std::string limit_words(const serving::Task& task, serving::Broken limit);
/// Names the constants of memory where nothing fits.
std::string constants_text(const serving::Task& task);
/// Whether some pool has rates of scans that nobody measured.
bool has_guessed_rates(const serving::Task& task);

Sheet pool_lines(const serving::Task& task);
/// Changes of a single limit with which there is a deployment.
Sheet remedy_lines(const serving::Task& task, const serving::ServingResult& result);
/// Loss by the framework of the config.
Sheet framework_lines(const serving::Task& task, const serving::ServingResult& result);

/// Latencies, rates, the parts of an iteration, memory, the room for caches, cost and energy.
Sheet figure_lines(const serving::Task& task, const serving::Deployment& deployment,
                   const serving::Figures& figures);
/// The kernels of an iteration, the share of the roofline that they reach, and the key of the
/// engine that decides it.
Sheet operation_tables(const serving::Task& task, const serving::Deployment& deployment,
                       const serving::Figures& figures);
/// A deployment that fits at the low end alone, and how much it is beyond the rest.
Sheet at_low_lines(const serving::Task& task, const serving::FrontPoint& point);

}  // namespace dfsearch
