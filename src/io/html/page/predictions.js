// The page of a table of runs: predicted times against measured ones, errors by group, memory, and
// the runs with the greatest errors.  `data.runs` has a list over all runs for each key, and the
// runs with the greatest errors come first.
"use strict";

(() => {
  const {count, data, element, facts, headline, note, PALETTE, section, text} = page;
  const {tableOf} = blocks;
  const {choice} = studyWords;
  const {errors, orders, memory} = data;
  const GROUPS = ["source", "model", "gpu", "gpus"];
  const columns = Object.entries(data.runs);
  const runs = data.runs.id.map((_, i) =>
    Object.fromEntries(columns.map(([name, values]) => [name, values[i]]))
  );
  const rows = runs.map(({id, gpu, gpus, measured, predicted, part, share, ...others}) => ({
    ...others,
    run: id,
    chip: gpu,
    chips: gpus,
    measured,
    predicted,
    error: predicted / measured - 1,
    largest_part: `${part} ${text(share, "%")}`
  }));

  /// The units of a table: "%", and none for the `counted` keys.
  function shares(...counted) {
    return {unit: (_, key) => (counted.includes(key) ? "" : "%")};
  }

  function summary() {
    const [all] = errors[data.by];
    const shown = (key) => (all ? text(all[key], "%") : null);
    section(
      null,
      headline(
        "error",
        all ? all.error : null,
        shown("error") || "–",
        "from the measured times, on average"
      ),
      facts({
        "runs of the table": text(data.total),
        "timed runs": text(runs.length),
        median: shown("median"),
        bias: shown("bias"),
        "in their intervals": shown("in_the_interval")
      }),
      element("pre", {id: "command"}, data.command)
    );
  }

  function runTip(i) {
    const {id, source, model, gpu, gpus, stack, measured, predicted, low, high} = runs[i];
    return [
      id,
      source,
      `${model} on ${count(gpus, "chip")} ${gpu}, ${stack}`,
      `measured ${text(measured, "s")}`,
      `predicted ${text(predicted, "s")}, ${text(low, "s")} to ${text(high, "s")}`,
      `error ${text(rows[i].error, "%")}; most of it ${rows[i].largest_part}`
    ];
  }

  const first = ["run", "source", "model", "chip", "chips", "measured", "predicted"];

  function scatter() {
    const ends = runs.flatMap((run) => [run.measured, run.low, run.high]);
    const [least, most] = [Math.min, Math.max].map((end) => ends.reduce((a, b) => end(a, b)));
    const times = {isWide: true, min: least, max: most, unit: "s"};
    const diagonal = {
      name: "as measured",
      silent: true,
      data: [least, most].map((time) => [time, time]),
      colour: "soft",
      lineStyle: {width: 1, type: "dashed"}
    };

    function of({colour: key}) {
      const groups = [...new Set(data.runs[key])]
        .sort((a, b) => (a > b ? 1 : -1))
        .map((label, k) => ({
          name: String(label),
          colour: PALETTE[k % PALETTE.length],
          list: runs.map((run, i) => [run, i]).filter(([run]) => run[key] === label)
        }));
      return {
        x: {...times, name: "measured"},
        y: {...times, name: "predicted"},
        groups: groups.map(({name, colour, list}) => ({
          name,
          colour,
          data: list.map(([run, i]) => [run.measured, run.predicted, i])
        })),
        before: groups.map(({name, colour, list}) => ({
          name,
          silent: true,
          // Each interval is a line; null ends it.
          data: list.flatMap(([{measured, low, high}]) => [
            [measured, low],
            [measured, high],
            [null, null]
          ]),
          colour,
          lineStyle: {width: 1, opacity: 0.3}
        })),
        after: [diagonal]
      };
    }

    const part = section(
      "Predicted against measured",
      note("Each run with its interval. On the dashed line a run is as fast as predicted.")
    );
    pointsChart(part, {
      name: "runs",
      height: 520,
      of,
      tip: runTip,
      size: runs.length > 3000 ? 4 : 6,
      state: {colour: data.by},
      controls: [["colour", "colour", [...GROUPS, "stack"].map((name) => [name, name])]],
      ...blocks.numbersOf(rows, {columns: [...first, "low", "high"]})
    });
  }

  function errorTable() {
    const body = element("div", null);
    const show = (by) => body.replaceChildren(tableOf("errors", errors[by], shares("runs")));
    const list = choice("by", GROUPS.map((name) => [name, name]), data.by, show);
    section("Errors", element("div", {class: "controls"}, list), body);
    show(data.by);
  }

  page.header("measured runs", data.title);
  summary();
  if (runs.length) scatter();
  errorTable();
  if (orders.length) {
    section(
      "Which plan is faster",
      note("Pairs of plans of one model, with one batch on one machine."),
      tableOf("orders", orders, shares("pairs"))
    );
  }
  const judged = [["real", memory.ran], ["out of memory", memory.out_of_memory]].filter(([, of]) => of.runs);
  if (judged.length) {
    const refused = judged.map(([name, of]) => ({
      of: name,
      runs: of.runs,
      refused_at_low_ends: of.low,
      at_typical_ones: of.typical,
      at_high_ones: of.high
    }));
    section("Memory", tableOf("memory", refused, shares("runs")));
  }
  if (memory.measured) {
    const {measured, error, bias, within} = memory;
    const row = {peaks: measured, off: error, bias, within_the_ends: within / measured};
    section("Peaks of the allocator", tableOf("peaks", [row], shares("peaks")));
  }
  if (runs.length) {
    const worst = {columns: [...first, "error", "largest_part"], unit: (_, key) => key === "error" ? "%" : undefined};
    section("Farthest off", tableOf("farthest off", rows.slice(0, data.worst), worst));
  }
  page.footer();
})();
