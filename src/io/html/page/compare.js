// Several results side by side: their figures, the parts of their step times, and the hierarchical
// roofline of mappings.  A mapping is in the roofline twice at the same height: over its FLOP for a
// byte of memory traffic, and over its FLOP for a byte on the network.
"use strict";

(() => {
  const {cell, chart, count, data, note, PALETTE, section, text} = page;
  const {plain, tableOf} = blocks;
  const results = data.results.map((each, i) => ({...each, colour: PALETTE[i % PALETTE.length]}));
  const solved = results.filter(({result}) => result.step_time > 0);
  const KINDS = ["memory", "network"];

  function figures() {
    const least = Math.min(...solved.map(({result}) => result.step_time));
    const columns = "result status step_time to_the_least utilization parallelism".split(" ");
    const rows = results.map(({name, result}) => ({
      ...result,
      result: name,
      to_the_least: result.step_time ? result.step_time / least : null
    }));
    section(count(results.length, "result"), tableOf("results", rows, {columns, id: "results"}));
  }

  /// The parts of a step time in seconds, by name.
  function partsOf({time, time_shares: shares, step_time: step}) {
    if (time) return time;
    return Object.fromEntries(Object.entries(shares || {}).map(([name, of]) => [name, of * step]));
  }

  function steps() {
    const parts = solved.map(({result}) => partsOf(result));
    const names = [...new Set(parts.flatMap((of) => Object.keys(of).filter((name) => of[name] > 0)))];
    if (!names.length) return;
    figureChart(
      section("What the step times are spent on", note("The parts of a bar are its step time.")),
      {
        name: "time of the steps",
        kind: "bars",
        xs: solved.map(({name}) => name),
        y: "step time",
        unit: "s",
        isStacked: true,
        series: names.map((name) => ({
          name: plain(name),
          colour: PALETTE.includes(name) ? name : null,
          marks: parts.map((of, x) => ({x, value: of[name] || 0, point: x}))
        })),
        tip: (mark, of) => [solved[mark.x].name, `${of.name} ${text(mark.value, "s")}`]
      }
    );
  }

  function rooflines() {
    const mappings = solved.filter(({result}) => result.operational_intensity && result.machine);
    if (!mappings.length) return;
    const points = mappings.flatMap(({name, result, colour}) =>
      KINDS.map((kind) => ({
        name,
        kind,
        colour,
        x: result.operational_intensity[kind],
        y: result.utilization * result.machine.peak,
        bandwidth: bandwidthOf(result.partitions, kind),
        peak: result.machine.peak
      })).filter((point) => point.x !== null)
    );
    const roofs = new Map(
      points
        .filter((point) => point.bandwidth)
        .map((point) => [`${point.kind} ${point.bandwidth} ${point.peak}`, point])
    );
    const under = roofline(
      points.map((point) => point.x),
      points.map((point) => point.y),
      [...roofs.values()].map(({kind, bandwidth, peak}) => ({
        name: `${kind} ${text(bandwidth, "B/s")}`,
        bandwidth,
        peak,
        isDashed: kind === "network"
      }))
    );
    const part = section(
      "Hierarchical roofline",
      note(
        "What a chip reaches, useful work only. A mapping stands twice at one height, over its FLOP " +
          "for a byte of memory traffic (circle) and on the network (diamond), under the roofs of " +
          "the peak, the memory and the links."
      )
    );
    chart(part, {
      name: "hierarchical roofline",
      of: () => ({
        height: 420,
        x: under.x,
        y: under.y,
        series: [
          ...under.series,
          ...mappings.map(({name, colour}) => ({
            type: "line",
            name,
            colour,
            lineStyle: {width: 1},
            symbolSize: 12,
            data: points
              .filter((point) => point.name === name)
              .map(({x, y, kind}) => ({
                value: [x, y],
                symbol: kind === "memory" ? "circle" : "diamond",
                name: kind
              })),
            tip: ({name: kind, value: [x, y]}) => [
              name,
              `${text(y, "FLOP/s")} of a chip`,
              `${text(x)} FLOP for a byte of ${kind}`
            ]
          }))
        ]
      }),
      head: ["result", "of", "FLOP for a byte", "FLOP/s", "peak", "bandwidth"],
      rows: points.map((point) => [
        point.name,
        point.kind,
        cell(point.x),
        cell(point.y, "FLOP/s"),
        cell(point.peak, "FLOP/s"),
        cell(point.bandwidth, "B/s")
      ])
    });
  }

  page.header("comparison", results.map(({name}) => name).join(", "));
  figures();
  steps();
  rooflines();
  page.footer();
})();
