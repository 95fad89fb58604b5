// Axes and roofs of roofline charts: FLOP/s of a chip over its FLOP for a byte.
"use strict";

/// The slope of a roof: the bandwidth in the times of partitions, or null if none moves bytes.
function bandwidthOf(partitions, kind) {
  const mover = partitions.find((each) => each[kind + "_bytes"] > 0 && each[kind] > 0);
  return mover ? mover[kind + "_bytes"] / mover[kind] : null;
}

/// The axes for points at `xs` and `ys`, with their ends `low`, `most`, `bottom` and `top`; and a
/// series for each roof {name, peak, bandwidth, isDashed}.  A roof without a bandwidth is flat.
function roofline(xs, ys, roofs) {
  const {text} = page;
  const power = (value, round) => 10 ** round(Math.log10(value));
  const ridges = roofs.filter((of) => of.bandwidth).map((of) => of.peak / of.bandwidth);
  const low = power(Math.min(...xs, ...ridges) / 3, Math.floor); // with room for labels of marks
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
