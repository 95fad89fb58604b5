// Several results side by side: figures, what their steps are spent on, and mappings in one
// hierarchical roofline, each twice at one height: over its FLOP for a byte of memory and of network.
"use strict";

(() => {
  const {axis, cell, chart, count, data, legend, note, PALETTE, section} = page;
  const {silentLine, table, text, tip} = page;
  const plain = (name) => name.replaceAll("_", " ");
  const results = data.results.map((each, i) => ({...each, colour: PALETTE[i % PALETTE.length]}));
  const solved = results.filter(({result}) => result.step_time > 0);
  const KINDS = ["memory", "network"];

  function figures() {
    const least = Math.min(...solved.map(({result}) => result.step_time));
    const degrees = (of) =>
      Object.entries(of || {})
        .map(([name, degree]) => `${plain(name)} ${degree}`)
        .join(", ");
    section(
      count(results.length, "result"),
      table(
        ["result", "status", "step time", "to the least", "share of the peak", "parallelism"],
        results.map(({name, result}) => [
          name,
          plain(result.status),
          cell(result.step_time, "s"),
          cell(result.step_time ? result.step_time / least : null),
          cell(result.utilization, "%"),
          degrees(result.parallelism)
        ]),
        {id: "results"}
      )
    );
  }

  /// Seconds by name.
  function partsOf({time, time_shares: shares, step_time: step}) {
    if (time) return time;
    return Object.fromEntries(Object.entries(shares || {}).map(([name, of]) => [name, of * step]));
  }

  function steps() {
    const parts = solved.map(({result}) => partsOf(result));
    const names = [...new Set(parts.flatMap((of) => Object.keys(of).filter((name) => of[name] > 0)))];
    if (!names.length) return;
    figureCharts.bars(
      section("What the step times are spent on", note("The parts of a bar are its step time.")),
      {
        name: "time of the steps",
        xs: solved.map(({name}) => name),
        y: "step time",
        unit: "s",
        isStacked: true,
        series: names.map((name) => ({
          name: plain(name),
          colour: PALETTE.includes(name) ? name : null,
          marks: parts.map((of, x) => ({x, value: of[name] || 0, point: x}))
        })),
        tip: (mark, of) => tip(solved[mark.x].name, `${of.name} ${text(mark.value, "s")}`)
      }
    );
  }

  /// What a roof of a kind rises by: the bandwidth that times were computed with.
  function bandwidthOf({partitions}, kind) {
    const mover = partitions.find((each) => each[kind + "_bytes"] > 0 && each[kind] > 0);
    return mover ? mover[kind + "_bytes"] / mover[kind] : null;
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
        bandwidth: bandwidthOf(result, kind),
        peak: result.machine.peak
      })).filter((point) => point.x !== null)
    );
    const roofs = new Map(
      points
        .filter((point) => point.bandwidth)
        .map((point) => [`${point.kind} ${point.bandwidth} ${point.peak}`, point])
    );
    const nameOf = (of) => `${of.kind} ${text(of.bandwidth, "B/s")}`;
    const ridge = (of) => of.peak / of.bandwidth;
    const power = (value, round) => 10 ** round(Math.log10(value));
    const xs = [...points.map((point) => point.x), ...[...roofs.values()].map(ridge)];
    const low = power(Math.min(...xs), Math.floor);
    const most = power(1.01 * Math.max(...xs), Math.ceil);
    const bottom = power(Math.min(...points.map((point) => point.y)), Math.floor);
    const top = power(1.3 * Math.max(...points.map((point) => point.peak)), Math.ceil);
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
      height: 420,
      option: (c, width) => ({
        legend: legend(c, {
          type: "scroll",
          width: width - 20,
          data: [...mappings.map(({name}) => name), ...new Set([...roofs.values()].map(nameOf))]
        }),
        grid: {left: 86, right: 24, top: 40, bottom: 46},
        xAxis: axis(c, {
          type: "log",
          min: low,
          max: most,
          name: "FLOP for a byte",
          nameGap: 28,
          axisLabel: {formatter: (v) => text(v)}
        }),
        yAxis: axis(c, {
          type: "log",
          min: bottom,
          max: top,
          name: "reached by a chip",
          nameGap: 68,
          axisLabel: {formatter: (v) => text(v, "FLOP/s")}
        }),
        series: [
          ...[...roofs.values()].map((of) => {
            const start = Math.max(low, bottom / of.bandwidth);
            return silentLine({
              name: nameOf(of),
              color: c.soft,
              lineStyle: {width: 2, type: of.kind === "memory" ? "solid" : "dashed"},
              data: [[start, of.bandwidth * start], [ridge(of), of.peak], [most, of.peak]]
            });
          }),
          ...mappings.map(({name, colour}) => ({
            type: "line",
            name,
            color: c[colour],
            lineStyle: {width: 1},
            symbolSize: 12,
            data: points
              .filter((point) => point.name === name)
              .map(({x, y, kind}) => ({
                value: [x, y],
                symbol: kind === "memory" ? "circle" : "diamond",
                name: kind
              })),
            tooltip: {
              formatter: ({name: kind, value: [x, y]}) =>
                tip(name, `${text(y, "FLOP/s")} of a chip`, `${text(x)} FLOP for a byte of ${kind}`)
            }
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
