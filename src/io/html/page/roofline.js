// Axes and roofs of charts that show how much of a peak and of bandwidths chips reach.
"use strict";

/// Slope of a roof: the bandwidth that times were computed with, or null where nothing moves.
function bandwidthOf(partitions, kind) {
  const mover = partitions.find((each) => each[kind + "_bytes"] > 0 && each[kind] > 0);
  return mover ? mover[kind + "_bytes"] / mover[kind] : null;
}

/// The axes for points at `xs` and `ys`, and the series of roofs {name, peak, bandwidth, isDashed};
/// without a bandwidth a roof is flat.  `most` is the right edge.
function roofline(xs, ys, roofs) {
  const {text} = page;
  const power = (value, round) => 10 ** round(Math.log10(value));
  const ridges = roofs.filter((of) => of.bandwidth).map((of) => of.peak / of.bandwidth);
  const low = power(Math.min(...xs, ...ridges) / 3, Math.floor); // numbers of marks have room
  const most = power(1.01 * Math.max(...xs, ...ridges), Math.ceil);
  const bottom = power(Math.min(...ys), Math.floor);
  const top = power(1.3 * Math.max(...roofs.map((of) => of.peak)), Math.ceil);
  const series = roofs.map(({name, peak, bandwidth, isDashed}) => {
    const start = bandwidth ? Math.max(low, bottom / bandwidth) : low;
    const rise = bandwidth ? [[start, bandwidth * start], [peak / bandwidth, peak]] : [[low, peak]];
    return {
      name,
      silent: true,
      isListed: true,
      colour: "soft",
      lineStyle: {width: 2, type: isDashed ? "dashed" : "solid"},
      data: [...rise, [most, peak]]
    };
  });
  return {
    low,
    most,
    bottom,
    top,
    series,
    x: {isWide: true, min: low, max: most, name: "FLOP for a byte", shown: (v) => text(v)},
    y: {isWide: true, min: bottom, max: top, name: "reached by a chip", unit: "FLOP/s"}
  };
}
