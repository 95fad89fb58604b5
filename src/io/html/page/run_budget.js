// Of a machine that is derived from a technology: its chip, the best splits of the budgets, and
// what more of each budget would bring.
"use strict";

function runBudget(result) {
  const {cell, chart, facts, note, scale, section, table, text, tip} = page;
  const UNITS = {area: "mm²", power: "W", edge: "mm"};

  function splitText(split) {
    return (
      Object.entries(split || {})
        .filter(([, parts]) => Object.keys(parts).length)
        .map(
          ([budget, parts]) =>
            `${budget}: ` +
            Object.entries(parts)
              .map(([part, share]) => `${part} ${text(share, "%")}`)
              .join(", ")
        )
        .join("; ") || "–"
    );
  }

  function chip() {
    const {core, memory} = result.chip;
    if (!core || !memory) return;
    section(
      "The chip",
      facts({
        cores: text(core.cores),
        voltage: `${text(core.voltage)} V`,
        frequency: text(core.frequency, "Hz"),
        peak: text(core.peak, "FLOP/s"),
        "share of it usable": text(core.utilization, "%"),
        "memory stacks": text(memory.stacks),
        "memory bandwidth": text(memory.bandwidth, "B/s"),
        "memory capacity": text(memory.capacity, "B"),
        split: result.split ? splitText(result.split) : null
      })
    );
  }

  function splits() {
    section(
      "The best splits of the budgets",
      table(
        ["#", "split", "objective", "lower bound", "status"],
        result.best_splits.map((each, i) => [
          `${i + 1}`,
          splitText(each.split),
          cell(each.objective),
          cell(each.lower_bound),
          each.status
        ])
      )
    );
  }

  function nameOf(gain) {
    return `${gain.budget} of ${gain.part || "the package"}`;
  }

  function gains() {
    const useful = result.gains.filter((gain) => gain.change !== null && gain.change !== 0);
    const part = section(
      "What more of a budget would bring",
      note(
        useful.length
          ? "The step time with a little more of one budget, against that of the answer; less is faster."
          : "No single budget, made a little larger, would change the step time."
      )
    );
    const rows = result.gains.map((gain) => [
      nameOf(gain),
      `${text(gain.has)} ${UNITS[gain.budget] || ""}`,
      `${text(gain.more)} ${UNITS[gain.budget] || ""}`,
      gain.effect.replaceAll("_", " "),
      cell(gain.step_time, "s"),
      cell(gain.change, "%")
    ]);
    const head = ["budget", "has", "more", "effect", "step time", "change"];
    if (!useful.length) {
      part.append(table(head, rows));
      return;
    }
    chart(part, {
      name: "gains",
      height: 40 + 28 * useful.length,
      head,
      rows,
      option: (c, width) => ({
        grid: {left: width < 500 ? 110 : 150, right: 16, top: 6, bottom: 26},
        xAxis: scale(c, width, "%", {
          // Numbers stand at the ends of bars.
          boundaryGap: [-1, 1].map((side) =>
            useful.some((gain) => side * gain.change > 0) ? "30%" : 0
          )
        }),
        yAxis: {
          type: "category",
          inverse: true,
          data: useful.map(nameOf),
          axisTick: {show: false},
          axisLabel: {color: c.ink, interval: 0},
          axisLine: {lineStyle: {color: c.line}}
        },
        series: [
          {
            type: "bar",
            name: "gains",
            barWidth: "60%",
            data: useful.map((gain) => ({
              value: gain.change,
              label: {position: gain.change < 0 ? "left" : "right"},
              itemStyle: {color: gain.change < 0 ? c.network : c.eighth}
            })),
            tooltip: {
              formatter: ({dataIndex: i}) =>
                tip(nameOf(useful[i]), `step time ${text(useful[i].step_time, "s")}`)
            },
            label: {show: true, color: c.ink, formatter: (p) => text(p.value, "%")}
          }
        ]
      })
    });
  }

  if (result.chip) chip();
  if (result.best_splits && result.best_splits.length) splits();
  if (result.gains && result.gains.length) gains();
}
