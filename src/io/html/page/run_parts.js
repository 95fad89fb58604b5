// Wholes and their parts: what the step time is spent on, and what fills the memory of a chip.
"use strict";

const runParts = (() => {
  const {cell, chart, legend, legendLines, note, PALETTE, scale, section, text, tip} = page;
  const {kind, plain, result} = run;
  const machine = result.machine;

  /// One bar of parts that make a whole.
  function stacked(parent, name, unit, parts, limit) {
    const total = parts.reduce((sum, part) => sum + part.value, 0);
    const most = Math.max(total, limit || 0);
    const free = {name: "free", value: most - total, colour: "free"};
    const all = most > total ? [...parts, free] : parts;
    const names = all.map((part) => plain(part.name));
    const lines = (width) => legendLines(names, width);
    chart(parent, {
      name,
      height: (width) => 68 + 22 * lines(width),
      option: (c, width) => ({
        legend: legend(c),
        grid: {left: 4, right: 12, top: 12 + 22 * lines(width), bottom: 24},
        xAxis: scale(c, width, unit, {max: most}),
        yAxis: {type: "category", data: [""], show: false},
        series: all.map((part) => ({
          name: plain(part.name),
          type: "bar",
          stack: "all",
          barWidth: 30,
          data: [part.value],
          itemStyle: {color: c[part.colour]},
          label: {
            show: part !== free && part.value > most * (width < 500 ? 0.16 : 0.08),
            color: c.card,
            fontWeight: 600,
            formatter: () => text(part.value / most, "%")
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
            "pipeline fills and drains, transfer what stages hand each other."
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
    const part = section("What is full");
    if (partitions && machine && machine.sram) runCharts.sram(part, partitions, machine.sram);
    const isExecution = kind === "execution";
    memory(part, isExecution ? result.memory_parts.first : result.memory);
    if (isExecution && result.memory.second > 0)
      part.append(note(`In the second memory: ${text(result.memory.second, "B")}.`));
  }

  return {capacities, memory, stacked, timeParts};
})();
