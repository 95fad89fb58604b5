#include "model/machine/machine_schema.hpp"

namespace dfsearch {
namespace {

constexpr Interval kUnitPrice{0, 1e24};

/// A plain number of dollars or watts.
template <class Amount>
constexpr Type kAmount{
    .form = Form::Number,
    .put_real = TypeOf<Amount>::type.put_real,
    .get_real = TypeOf<Amount>::type.get_real,
};

/// The same for every GB/s.
template <class Amount>
constexpr Type kPerBandwidth{
    .form = Form::Number,
    .put_real =
        [](void* member, double value) {
          using PerBandwidth = decltype(Amount() / BytesPerSecond());
          *static_cast<PerBandwidth*>(member) = Amount(value) / BytesPerSecond(1e9);
        },
    .get_real =
        [](const void* member) {
          using PerBandwidth = decltype(Amount() / BytesPerSecond());
          return static_cast<const PerBandwidth*>(member)->in_base_units() * 1e9;
        },
};

template <class Amount>
constexpr Type kPerLink = list_type<decltype(Amount() / BytesPerSecond()), Form::Each,
                                    &kPerBandwidth<Amount>>("dimensions of the network");

/// Price and power have the same keys.
template <class Units, class Amount>
constexpr std::array kUnits = {
    field<&Units::accelerator>("accelerator", "a chip",
                               {.type = &kAmount<Amount>, .limits = kUnitPrice}),
    field<&Units::memory>("memory", "a GB/s of memory bandwidth",
                          {.type = &kPerBandwidth<Amount>, .limits = kUnitPrice}),
    field<&Units::link>("link",
                        "a GB/s of a link; one number, or a list of one for each dimension of the "
                        "network",
                        {.type = &kPerLink<Amount>, .limits = kUnitPrice, .preset = "0"}),
    field<&Units::switch_port>("switch", "a GB/s of a switch port",
                               {.type = &kPerBandwidth<Amount>, .limits = kUnitPrice})};

}  // namespace

template <>
const Schema& schema_of<Accelerator>() {
  using A = Accelerator;
  static constexpr Field kFields[] = {
      field<&A::cores>("cores", "of a chip", {.flags = kRequired}),
      field<&A::lanes>("lanes", "width of the systolic array of a core", {.flags = kRequired}),
      field<&A::stages>("stages", "height of the systolic array of a core", {.flags = kRequired}),
      field<&A::frequency>("frequency", "of a chip",
                           {.limits = kFrequencyLimits, .flags = kRequired}),
      field<&A::sram>("sram", "of a chip", {.limits = kSizeLimits, .flags = kRequired}),
      field<&A::dataflow>("dataflow",
                          "which operand of a product stays in the arrays, where cycles are "
                          "counted; of each kernel the best for its cores")};
  static const Schema kSchema = schema<Accelerator>("accelerator", kFields);
  return kSchema;
}

template <>
const Schema& schema_of<Price>() {
  static const Schema kSchema = schema<Price>("price", kUnits<Price, Dollars>);
  return kSchema;
}

template <>
const Schema& schema_of<Power>() {
  static const Schema kSchema = schema<Power>("power", kUnits<Power, Watts>);
  return kSchema;
}

}  // namespace dfsearch
