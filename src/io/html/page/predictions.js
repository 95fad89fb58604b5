// The page of a table of runs: predicted times against measured ones, errors by group, memory, and
// the runs that are farthest off.  Runs are columns, the farthest off first.
"use strict";

(() => {
  const {cell, chart, count, data, element, facts, headline, note, PALETTE, plane} = page;
  const {section, silentLine, table, text, tip} = page;
  const {choice} = studyWords;
  const {runs, errors, orders, memory} = data;
  const GROUPS = ["source", "model", "gpu", "gpus"];
  const every = runs.id.map((_, i) => i);
  const state = {colour: data.by, by: data.by};

  function error(i) {
    return runs.predicted[i] / runs.measured[i] - 1;
  }

  function percent(value, sign) {
    const shown = (100 * value).toFixed(1);
    return {value, text: (sign && value > 0 ? "+" : "") + shown + " %"};
  }

  function summary() {
    const [all] = errors[data.by];
    section(
      null,
      headline(
        "error",
        all ? all[1] : null,
        all ? percent(all[1]).text : "–",
        "from the measured times, on average"
      ),
      facts({
        "runs of the table": text(data.total),
        "timed runs": text(runs.id.length),
        median: all ? percent(all[2]).text : null,
        bias: all ? percent(all[3], true).text : null,
        "in their intervals": all ? percent(all[5]).text : null
      }),
      element("pre", {id: "command"}, data.command)
    );
  }

  /// The first columns of its row.
  function runCells(i) {
    return [runs.id[i], runs.source[i], runs.model[i], runs.gpu[i], cell(runs.gpus[i])];
  }

  function runTip(i) {
    return tip(
      runs.id[i],
      runs.source[i],
      `${runs.model[i]} on ${count(runs.gpus[i], "chip")} ${runs.gpu[i]}, ${runs.stack[i]}`,
      `measured ${text(runs.measured[i], "s")}`,
      `predicted ${text(runs.predicted[i], "s")}, ${text(runs.low[i], "s")} to ${text(runs.high[i], "s")}`,
      `error ${percent(error(i), true).text}; most of it ${runs.part[i]}, ${text(runs.share[i], "%")}`
    );
  }

  function scatterOption() {
    const names = [...new Set(runs[state.colour])].sort((a, b) => (a > b ? 1 : -1));
    const ends = [runs.measured, runs.low, runs.high].flat();
    const least = ends.reduce((a, b) => Math.min(a, b));
    const most = ends.reduce((a, b) => Math.max(a, b));
    const of = names.map((name) => every.filter((i) => runs[state.colour][i] === name));
    const axisLabel = {formatter: (v) => text(v, "s")};
    const times = {type: "log", min: least, max: most, axisLabel};
    const [across, upwards] = ["measured", "predicted"].map((name) => ({...times, name}));
    return (c, width) => ({
      ...plane(c, width, names.map(String), across, upwards),
      series: [
        ...names.map((name, k) =>
          silentLine({
            name: String(name),
            // Each interval is a line; null ends it.
            data: of[k].flatMap((i) => [
              [runs.measured[i], runs.low[i]],
              [runs.measured[i], runs.high[i]],
              [null, null]
            ]),
            color: c[PALETTE[k % PALETTE.length]],
            lineStyle: {width: 1, opacity: 0.3}
          })
        ),
        ...names.map((name, k) => ({
          type: "scatter",
          name: String(name),
          progressive: 0,
          data: of[k].map((i) => [runs.measured[i], runs.predicted[i], i]),
          color: c[PALETTE[k % PALETTE.length]],
          symbolSize: every.length > 3000 ? 4 : 6,
          itemStyle: {opacity: 0.75},
          tooltip: {formatter: (p) => runTip(p.value[2])}
        })),
        silentLine({
          name: "as measured",
          data: [least, most].map((time) => [time, time]),
          color: c.soft,
          lineStyle: {width: 1, type: "dashed"}
        })
      ]
    });
  }

  function scatter() {
    const part = section(
      "Predicted against measured",
      note("Each run with its interval. On the dashed line a run is as fast as predicted.")
    );
    if (!every.length) return;
    const body = element("div", null);
    part.append(
      element(
        "div",
        {class: "controls"},
        choice("colour", [...GROUPS, "stack"].map((name) => [name, name]), state.colour, (name) => {
          state.colour = name;
          drawn.update({option: scatterOption()});
        })
      ),
      body
    );
    const drawn = chart(body, {
      name: "runs",
      height: 520,
      option: scatterOption(),
      canvas: true,
      head: ["run", "source", "model", "chip", "chips", "measured", "predicted", "low", "high"],
      rows: every.map((i) => [
        ...runCells(i),
        ...["measured", "predicted", "low", "high"].map((key) => cell(runs[key][i], "s"))
      ])
    });
  }

  function errorTable() {
    const body = element("div", null);
    const show = () =>
      body.replaceChildren(
        table(
          ["of", "runs", "error", "median", "bias", "worst", "in the interval"],
          errors[state.by].map(([number, mean, median, bias, worst, held, name]) => [
            name,
            cell(number),
            percent(mean),
            percent(median),
            percent(bias, true),
            percent(worst),
            percent(held)
          ]),
          {"data-of": "errors"}
        )
      );
    section(
      "Errors",
      element(
        "div",
        {class: "controls"},
        choice("by", GROUPS.map((name) => [name, name]), state.by, (name) => {
          state.by = name;
          show();
        })
      ),
      body
    );
    show();
  }

  function orderTable() {
    if (!orders.length) return;
    section(
      "Which plan is faster",
      note("Pairs of plans of one model, with one batch on one machine."),
      table(
        ["of", "pairs", "in order", "best is slower by"],
        orders.map(([pairs, right, regret, name]) => [
          name,
          cell(pairs),
          percent(right),
          percent(regret)
        ]),
        {"data-of": "orders"}
      )
    );
  }

  function memoryTable() {
    if (!memory.known) return;
    section(
      "Memory",
      table(
        ["runs", "told right to fit or not", "ran, refused", "did not, accepted", "peaks", "off", "bias"],
        [
          [
            cell(memory.known),
            percent(memory.right / memory.known),
            cell(memory.refused),
            cell(memory.accepted),
            cell(memory.measured),
            percent(memory.error),
            percent(memory.bias, true)
          ]
        ],
        {"data-of": "memory"}
      )
    );
  }

  function worstTable() {
    if (!every.length) return;
    section(
      "Farthest off",
      table(
        ["run", "source", "model", "chip", "chips", "measured", "predicted", "error", "largest part"],
        every.slice(0, data.worst).map((i) => [
          ...runCells(i),
          cell(runs.measured[i], "s"),
          cell(runs.predicted[i], "s"),
          percent(error(i), true),
          `${runs.part[i]} ${text(runs.share[i], "%")}`
        ]),
        {"data-of": "farthest off"}
      )
    );
  }

  page.header("measured runs", data.title);
  summary();
  scatter();
  errorTable();
  orderTable();
  memoryTable();
  worstTable();
  page.footer();
})();
