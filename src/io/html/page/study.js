// The page of a study: all its points as a heat map over two axes, as a scatter plot with the front
// and as a table.  A point that is clicked in any of them is shown whole at the lower edge; its
// index is in the address, so that a link can lead to it.
"use strict";

(() => {
  const {button, count, data, element, facts, headline, note, section, text} = page;
  const {study, columns, front} = data;
  const onFront = new Set(front.index);
  const limits = Object.entries(study.limits || {});

  /// Reads a column: base64 of floats with 64 bits, or 32 if there are many; NaN is no value.
  function unpacked(text) {
    const {buffer} = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const isLong = buffer.byteLength === 8 * columns.index.length;
    return Array.from(isLong ? new Float64Array(buffer) : new Float32Array(buffer), (value) =>
      isNaN(value) ? null : isLong ? value : Number(value.toPrecision(7))
    );
  }
  const figures = Object.fromEntries(
    Object.entries(columns.figures).map(([name, text]) => [name, unpacked(text)])
  );

  /// Units of figures that every result has; units in the study override them.
  const UNITS = {
    step_time: "s",
    "search.time": "s",
    price: "$",
    power: "W",
    cost_efficiency: "FLOP/s/$",
    power_efficiency: "FLOP/s/W"
  };

  /// The kinds of rates behind the times of a point, in words; a row may have none.
  const RATES = {
    ideal: "ideal (the peaks of the chip)",
    efficiency: "by a given efficiency",
    measured: "measured"
  };
  const rates = (i) => columns.rates.texts[columns.rates.places[i]];
  const kinds = columns.rates.texts.filter((kind) => kind);
  const differs = kinds.length > 1;
  const ratesColumn = {name: "rates", sort: (i) => rates(i) || "", shown: (i) => rates(i) || "–"};

  /// The points for all views, numbered from 0 in the order of the data.
  const points = {
    every: columns.index.map((_, i) => i),
    axes: study.axes,
    figures: Object.keys(figures),
    objective: front.objective,
    index: (i) => columns.index[i],
    status: (i) => columns.status.texts[columns.status.places[i]],
    reason: (i) => columns.reason.texts[columns.reason.places[i]],
    place: (axis, i) => columns.places[axis][i],
    label: (axis, i) => study.axes[axis].labels[columns.places[axis][i]] ?? "–",
    value: (figure, i) => figures[figure][i],
    words: differs ? [ratesColumn] : [],
    isFront: (i) => onFront.has(columns.index[i]),
    better: (figure) => (study.figures[figure] || {}).better || "less",
    unit(figure) {
      const known = study.figures[figure];
      if (known && known.unit) return known.unit;
      if (figure in UNITS) return UNITS[figure];
      if (figure === "lower_bound" && "step_time" in figures) return "s";
      return figure.startsWith("time_shares.") || figure === "utilization" || figure === "gap"
        ? "%"
        : "";
    },
    name: (figure) => figure.replaceAll("_", " ").replace(".", ": "),
    text: (figure, value, precision) => text(value, points.unit(figure), precision),
    isAllowed: (i) =>
      limits.every(([figure, [least, most]]) => {
        const value = points.value(figure, i);
        return value !== null && value >= (least ?? -Infinity) && value <= (most ?? Infinity);
      }),
    title: (i) => points.axes.map((axis, a) => `${axis.name} ${points.label(a, i)}`).join(", ")
  };

  // The point that is chosen.

  const detail = element("section", {
    class: "detail",
    id: "detail",
    hidden: "",
    "aria-live": "polite"
  });

  function show(i) {
    detail.hidden = false;
    detail.replaceChildren(
      element("div", {class: "buttons"}, button("Close", "Close", hide)),
      element("h2", null, `Point ${points.index(i)}`, points.isFront(i) ? " – on the front" : ""),
      facts(Object.fromEntries(points.axes.map((axis, a) => [axis.name, points.label(a, i)]))),
      facts({
        status: points.status(i),
        reason: points.reason(i),
        rates: RATES[rates(i)],
        ...Object.fromEntries(
          points.figures
            .filter((figure) => points.value(figure, i) !== null)
            .map((figure) => [points.name(figure), points.text(figure, points.value(figure, i))])
        )
      })
    );
    detail.dataset.index = points.index(i);
    history.replaceState(null, "", "#point=" + points.index(i));
    rows.mark(i);
  }

  function hide() {
    detail.hidden = true;
    history.replaceState(null, "", "#");
  }

  function showLinked() {
    const linked = /^#point=(\d+)$/.exec(location.hash);
    const i = linked ? columns.index.indexOf(Number(linked[1])) : -1;
    if (i >= 0) show(i);
  }

  // The summary.

  function limitsText() {
    return limits
      .map(([figure, ends]) => {
        const said = ends.map((end, i) =>
          end === null ? [] : `at ${["least", "most"][i]} ${points.text(figure, end)}`
        );
        return `${points.name(figure)} ${said.flat().join(" and ")}`;
      })
      .join("; ");
  }

  function best() {
    return points.objective.flatMap((figure) => {
      const sign = points.better(figure) === "less" ? 1 : -1;
      const known = points.every.filter((i) => points.value(figure, i) !== null);
      if (!known.length) return [];
      const found = known.reduce((best, i) =>
        sign * points.value(figure, i) < sign * points.value(figure, best) ? i : best
      );
      const address = {href: "#point=" + points.index(found)}; // for showLinked()
      const value = points.text(figure, points.value(figure, found));
      return [[`${sign > 0 ? "least" : "most"} ${points.name(figure)}`, element("a", address, value)]];
    });
  }

  function summary() {
    section(
      null,
      headline(
        "points",
        study.points,
        count(study.points, "point"),
        null,
        study.complete ? ["good", "complete"] : ["warn", "not complete: what is below may change"]
      ),
      note(
        front.exact
          ? `The front is exact: each point that is not on it is no better than one that is, in ${points.objective
              .map(points.name)
              .join(" and ")}. What was not solved was proved to be off it.`
          : "The front is that of the points known so far."
      ),
      facts({
        solved: text(study.solved),
        "pruned by a bound": text(study.pruned),
        infeasible: text(study.infeasible),
        failed: study.failed ? text(study.failed) : null,
        "on the front": text(front.index.length),
        ...Object.fromEntries(best()),
        limits: limitsText(),
        axes: points.axes.map((axis) => `${axis.name} (${axis.labels.length})`).join(", "),
        bases: study.bases && study.bases.length > 1 ? study.bases.join(", ") : null
      }),
      differs
        ? element(
            "p",
            {class: "note", id: "rates"},
            `Rates: ${kinds
              .map((kind) => {
                const of = points.every.filter((i) => rates(i) === kind).length;
                return `${RATES[kind]} in ${count(of, "point")}`;
              })
              .join("; ")}, as the table says. Figures of one kind do not compare with those of another.`
          )
        : null,
      data.total > points.every.length
        ? element(
            "p",
            {class: "note", id: "thinned"},
            `Of ${count(data.total, "result")} the page has ${points.every.length.toLocaleString("en-US")}: ` +
              "the front, and an even selection of the others."
          )
        : null
    );
  }

  page.header("study", study.study);
  summary();
  studyFigures(points, study.charts || [], show);
  heatMap.heatMap(points, show);
  studyCharts.scatter(points, show);
  const rows = studyTable(points, show);
  document.getElementById("page").append(detail);
  page.footer();
  window.addEventListener("hashchange", showLinked);
  showLinked();
})();
