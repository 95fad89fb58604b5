// The machine of a setup and what it costs.

#include "io/dfmodel/export_dfmodel_system.hpp"

#include <dfmodel/dfmodel.pb.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "io/dfmodel/dfmodel_system.hpp"

namespace dfsearch {
namespace {

namespace pb = google::protobuf;

/// The number, close to `quotient`, that reads back as `value`: first of all the decimal
/// that was meant, 2 per GB/s and not 2.0000000000000004.  Where none does it is off
/// by a rounding.
template <class Q, class Read>
double number_of(Q value, double quotient, Read read) {
  const double meant = std::strtod(fmt::format("{:.15g}", quotient).c_str(), nullptr);
  for (const double number :
       {meant, quotient, std::nextafter(quotient, 0.0), std::nextafter(quotient, INFINITY)}) {
    if (read(number) == value) return number;
  }
  return quotient;
}

/// `value` in units of `size`, which a config calls `unit`.
template <class Q>
double in_units(Q value, double size, const std::string& unit) {
  return number_of(value, value.in_base_units() / size,
                   [&](double number) { return parse_quantity<Q>(to_exact_text(number) + unit); });
}

double in_gigahertz(Hertz value) { return in_units(value, 1e9, " GHz"); }
double in_gigabytes(BytesPerSecond value) { return in_units(value, 1e9, " GB/s"); }
double in_nanoseconds(Seconds value) { return in_units(value, 1e-9, " ns"); }

/// Prices and powers are held per byte per second.
template <class Q>
double per_gigabyte(Q value) {
  constexpr BytesPerSecond kGigabyte{1e9};
  using Whole = decltype(value * kGigabyte);
  return number_of(value, (value * kGigabyte).in_base_units(),
                   [&](double number) { return Whole(number) / kGigabyte; });
}

/// Its own name where DFModel has none.
const char* part_of(Topology topology) {
  for (const auto& word : kSetupTopologies) {
    if (word.value == topology) return word.name;
  }
  return row_of(topology).name;
}

const char* word_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::Tensor:
      return "TP";
    case Strategy::Pipeline:
      return "PP";
    case Strategy::Data:
      return "DP";
  }
  throw InternalError("a strategy without a name");
}

void set_dimension(const NetworkDimension& dimension, std::size_t index, dfmodel::Network& setup) {
  const double bandwidth = in_gigabytes(dimension.bandwidth);
  const std::string strategy = dimension.strategy ? word_of(*dimension.strategy) : "";
  const std::int64_t degree = dimension.degree.value_or(0);
  if (index == 0) {
    setup.set_link_bw_x(bandwidth);
    if (degree > 0) setup.set_x(degree);
    if (!strategy.empty()) setup.set_par_x(strategy);
  } else if (index == 1) {
    setup.set_link_bw_y(bandwidth);
    if (degree > 0) setup.set_y(degree);
    if (!strategy.empty()) setup.set_par_y(strategy);
  } else {
    setup.set_link_bw_z(bandwidth);
    if (degree > 0) setup.set_z(degree);
    if (!strategy.empty()) setup.set_par_z(strategy);
  }
}

void export_network(const Machine& system, dfmodel::System& setup, Complaints& complaints) {
  if (system.network.empty()) {
    setup.mutable_single_chip();
    return;
  }
  std::string name;
  for (const NetworkDimension& dimension : system.network) {
    name += std::string(name.empty() ? "" : "_") + part_of(dimension.topology);
  }
  const pb::FieldDescriptor* field = dfmodel::System::descriptor()->FindFieldByName(name);
  if (field == nullptr) {
    complaints.add("system.network", "it has no topology " + name);
    return;
  }
  pb::Message* network = setup.GetReflection()->MutableMessage(&setup, field);
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    set_dimension(system.network[d], d, dynamic_cast<dfmodel::Network&>(*network));
  }
}

}  // namespace

void export_system(const Machine& system, dfmodel::System& setup, Complaints& complaints) {
  setup.set_num_chip(system.chips);
  dfmodel::Accelerator& chip = *setup.mutable_accelerator();
  chip.set_core(system.accelerator.cores);
  chip.set_systolic_width(system.accelerator.lanes);
  chip.set_systolic_height(system.accelerator.stages);
  if (system.accelerator.dataflow != Dataflow::Output) {
    complaints.add("system.accelerator.dataflow", "its arrays keep their output");
  }
  chip.set_freq(in_gigahertz(system.accelerator.frequency));
  chip.set_sram_cap(system.accelerator.sram.in_base_units());
  setup.mutable_memory()->set_dram_bw(in_gigabytes(system.memory[0].bandwidth));
  if (system.memory[0].capacity < Bytes::infinity()) {
    setup.mutable_memory()->set_dram_cap(system.memory[0].capacity.in_base_units());
  }
  if (system.memory[0].latency > Seconds{}) {
    complaints.add("system.memory.latency", "its memory has none");
  }
  if (const MemoryTier* second = system.second_memory()) {
    setup.mutable_memory()->set_second_dram_bw(in_gigabytes(second->bandwidth));
    setup.mutable_memory()->set_second_dram_cap(second->capacity.in_base_units());
  }
  for (const NetworkDimension& dimension : system.network) {
    if (dimension.latency != system.network.front().latency) {
      complaints.add("system.network", "expected the same latency for each dimension");
      break;
    }
  }
  if (!system.network.empty() && system.network.front().latency > Seconds{}) {
    chip.set_link_latency(in_nanoseconds(system.network.front().latency));
  }
  export_network(system, setup, complaints);
}

void export_cost(const Machine& system, dfmodel::Cost& setup, Complaints& complaints) {
  const Price& price = system.price;
  const Power& power = system.power;
  for (const auto& link : price.link) {
    if (!(link == price.link.front())) {
      complaints.add("price.link", "expected the same for each dimension");
    }
  }
  setup.set_accelerator_price(price.accelerator.in_base_units());
  setup.set_dram_unit_price(per_gigabyte(price.memory));
  if (!price.link.empty()) setup.set_link_unit_price(per_gigabyte(price.link.front()));
  setup.set_switch_unit_price(per_gigabyte(price.switch_port));
  setup.set_accelerator_power(power.accelerator.in_base_units());
  setup.set_dram_unit_power(per_gigabyte(power.memory));
  setup.set_switch_unit_power(per_gigabyte(power.switch_port));
  const std::size_t dimensions = power.link.size();
  if (dimensions > 0) setup.set_link_unit_power_x(per_gigabyte(power.link[0]));
  if (dimensions > 1) setup.set_link_unit_power_y(per_gigabyte(power.link[1]));
  if (dimensions > 2) setup.set_link_unit_power_z(per_gigabyte(power.link[2]));
}

}  // namespace dfsearch
