#pragma once
// The config rows of machines: parts of the section `system`, `price` and `power`.

#include "model/machine/machine.hpp"
#include "model/names.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

// Limits of any machine.  The lower ends keep every time finite.
inline constexpr Interval kBandwidthLimits{1, 1e24};
inline constexpr Interval kSizeLimits{1, 1e24};
inline constexpr Interval kFrequencyLimits{1, 1e18};
inline constexpr Interval kLatencyLimits{0, 1e3};

const Schema& schema_of(Rows<Accelerator>);
const Schema& schema_of(Rows<EnginePeaks>);
const Schema& schema_of(Rows<Peaks>);
const Schema& schema_of(Rows<RateByPeak>);
const Schema& schema_of(Rows<Price>);
const Schema& schema_of(Rows<Power>);
const Schema& schema_of(Rows<FlopEnergies>);
const Schema& schema_of(Rows<EnergyRates>);

}  // namespace dfsearch
