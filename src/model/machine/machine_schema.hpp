#pragma once
// What configs say of machines: the rows of the parts of the section `system`, of `price` and
// `power`.

#include "model/machine/machine.hpp"
#include "model/names.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

// What any machine may have.  The lower ends keep every time finite.
inline constexpr Interval kBandwidthLimits{1, 1e24};
inline constexpr Interval kSizeLimits{1, 1e24};
inline constexpr Interval kFrequencyLimits{1, 1e18};
inline constexpr Interval kLatencyLimits{0, 1e3};

const Schema& schema_of(Rows<Accelerator>);
const Schema& schema_of(Rows<RateByPeak>);
const Schema& schema_of(Rows<Price>);
const Schema& schema_of(Rows<Power>);

}  // namespace dfsearch
