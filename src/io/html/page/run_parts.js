// Wholes and their parts: what the step time is spent on, and what fills the memory of a chip.
"use strict";

const runParts = (() => {
  const {axis, cell, chart, legend, legendLines, note, PALETTE, section, text, tip} = page;
  const {kind, plain, result} = run;
  const machine = result.machine;

  /// One bar of parts that make a whole.
  function stacked(parent, name, unit, parts, limit) {
    const total = parts.reduce((sum, part) => sum + part.value, 0);
    const all =
      limit && limit > total
        ? [...parts, {name: "free", value: limit - total, colour: "free"}]
        : parts;
    const lines = (width) =>
      legendLines(
        all.map((part) => plain(part.name)),
        width
      );
    chart(parent, {
      name,
      height: (width) => 68 + 22 * lines(width),
      option: (c, width) => ({
        legend: legend(c),
        grid: {left: 4, right: 12, top: 12 + 22 * lines(width), bottom: 24},
        xAxis: axis(c, {
          type: "value",
          max: Math.max(total, limit || 0),
          axisLabel: {formatter: (v) => text(v, unit)},
          splitNumber: width < 500 ? 3 : 6
        }),
        yAxis: {type: "category", data: [""], show: false},
        series: all.map((part) => ({
          name: plain(part.name),
          type: "bar",
          stack: "all",
          barWidth: 30,
          data: [part.value],
          itemStyle: {color: c[part.colour]},
          label: {
            show:
              part.value > Math.max(total, limit || 0) * (width < 500 ? 0.16 : 0.08) &&
              part.colour !== "free",
            color: c.card,
            fontWeight: 600,
            formatter: () => text(part.value / (limit && unit === "B" ? limit : total), "%")
          },
          tooltip: {
            formatter: () =>
              tip(
                plain(part.name),
                text(part.value, unit),
                text(part.value / total, "%") + " of the sum"
              )
          }
        }))
      }),
      head: ["part", "value", "share"],
      rows: parts.map((part) => [
        plain(part.name),
        cell(part.value, unit),
        cell(part.value / total, "%")
      ])
    });
  }

  function colourOf(name, i) {
    return name === "bubble" ? "bubble" : PALETTE[i % 9];
  }

  function timeParts() {
    if (result.time_shares) {
      const part = section(
        "What the step time is spent on",
        note(
          "Each partition's time is charged to what it waits for; bubble is waiting while the " +
            "pipeline fills and " +
            "drains, transfer what stages hand each other."
        )
      );
      stacked(
        part,
        "time shares",
        "s",
        Object.entries(result.time_shares)
          .filter(([, share]) => share > 0)
          .map(([name, share]) => ({name, value: share * result.step_time, colour: name}))
      );
    }
    if (result.time) {
      const part = section(
        "What the step time is spent on",
        note(
          "Together they are the step time" + (kind === "plan" ? ", on the slowest stage." : ".")
        )
      );
      stacked(
        part,
        "time of the step",
        "s",
        Object.entries(result.time)
          .map(([name, value], i) => ({name, value, colour: colourOf(name, i)}))
          .filter((each) => each.value > 0)
      );
    }
  }

  // What is full.

  /// `use` has bytes by name, of the fullest stage or of a chip.
  function memory(parent, use) {
    const names =
      kind === "mapping"
        ? ["weights", "activations", "stored"]
        : Object.keys(use).filter(
            (name) => !["total", "second", "stage", "capacity"].includes(name)
          );
    const limit = kind === "mapping" ? use.capacity : machine && machine.memory.capacity;
    const parts = names
      .map((name, i) => ({name, value: use[name], colour: colourOf(name, i)}))
      .filter((each) => each.value > 0);
    const total = parts.reduce((sum, each) => sum + each.value, 0);
    if (!parts.length) return;
    parent.append(
      note(
        `Memory of a chip${use.stage !== undefined ? `, of stage ${use.stage}, the fullest` : ""}: ` +
          text(total, "B") +
          (limit ? ` of ${text(limit, "B")} (${text(total / limit, "%")})` : ", without a limit") +
          (use.second_tier ? "; the second tier is in use" : "") +
          (use.second ? `; ${text(use.second, "B")} in the second memory` : "") +
          "."
      )
    );
    stacked(parent, "memory of a chip", "B", parts, limit);
  }

  function capacities(partitions) {
    if (result.step_time === null) return;
    if (kind === "mapping") {
      const part = section("What is full");
      if (partitions && machine && machine.sram) runCharts.sram(part, partitions, machine.sram);
      memory(part, result.memory);
      return;
    }
    const part = section("What is full");
    if (kind === "plan") memory(part, result.memory);
    if (kind === "execution") memory(part, result.memory_parts.first);
    if (kind === "execution" && result.memory.second > 0) {
      part.append(note(`In the second memory: ${text(result.memory.second, "B")}.`));
    }
  }

  return {capacities, memory, stacked, timeParts};
})();
