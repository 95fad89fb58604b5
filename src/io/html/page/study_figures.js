// The charts that a study requests: figures of its points over some of its axes, as lines, bars or
// a heat map.  If several points have the same labels on these axes, the chart shows the best one:
// by its figure, or, in a chart of several figures, by the objective.
"use strict";

const studyFigures = (() => {
  const {chart, KINDS, section} = page;
  const {numbersOf, pointTip} = studyWords;

  /// Figures that results do not contain: the parts of a step in seconds, and FLOP/s.
  function derived(points, figure, i) {
    const of = (name) => (points.figures.includes(name) ? points.value(name, i) : null);
    const times = (a, b) => (a === null || b === null ? null : a * b);
    if (figure.startsWith("time.")) {
      return times(of(figure.replace("time.", "time_shares.")), of("step_time"));
    }
    if (figure !== "flop_per_second" || !of("step_time")) return null;
    return times(of("flop"), 1 / of("step_time"));
  }

  function withDerived(points) {
    const isKnown = (figure) => points.figures.includes(figure);
    return {
      ...points,
      value: (figure, i) => (isKnown(figure) ? points.value : derived.bind(null, points))(figure, i),
      unit: (figure) =>
        figure === "flop_per_second" ? "FLOP/s" : figure.startsWith("time.") ? "s" : points.unit(figure),
      text(figure, value, precision) {
        return page.text(value, this.unit(figure), precision);
      }
    };
  }

  /// The joined labels of points on the axes `names`, and a function from a point to the index of
  /// its label.  Labels have the order of their axes, or of `only` for axes that it restricts.
  function places(points, names, only, list) {
    const labels = names.map((name) => only[name] || axisOf(points, name).labels);
    const labelOf = (name, i) => points.label(points.axes.indexOf(axisOf(points, name)), i);
    const keyOf = (i) => names.map((name, k) => labels[k].indexOf(labelOf(name, i)));
    const order = (p, q) => p.map((place, k) => place - q[k]).find((less) => less !== 0) || 0;
    const keys = [...new Map(list.map((i) => [String(keyOf(i)), keyOf(i)])).values()].sort(order);
    const at = new Map(keys.map((key, k) => [String(key), k]));
    return {
      labels: keys.map((key) => key.map((place, k) => labels[k][place]).join(", ")),
      of: (i) => at.get(String(keyOf(i)))
    };
  }

  function axisOf(points, name) {
    return points.axes.find((axis) => axis.name === name);
  }

  function show(points, asked, click) {
    const [figure] = asked.y;
    const isOf = (i) => ([name, labels]) =>
      labels.includes(points.label(points.axes.indexOf(axisOf(points, name)), i));
    const list = points.every.filter((i) => Object.entries(asked.only).every(isOf(i)));
    const x = places(points, asked.x, asked.only, list);
    const row = places(points, asked.series, asked.only, list);
    const several = asked.y.length > 1;
    const judged = (several && points.objective[0]) || figure;
    const sign = points.better(judged) === "less" ? 1 : -1;
    const best = new Map();
    for (const i of list) {
      const key = `${x.of(i)},${row.of(i)}`;
      const value = points.value(judged, i);
      const known = best.get(key);
      const isBetter = known && value !== null && sign * value < sign * known.value;
      if (!known || known.value === null || isBetter) {
        best.set(key, {x: x.of(i), y: row.of(i), i, value});
      }
    }
    const cells = [...best.values()].sort((a, b) => a.x - b.x);
    const part = section(asked.name);
    const title = asked.x.join(", ");
    if (asked.kind === "heat") {
      const rows = asked.series.length ? {name: asked.series.join(", "), labels: row.labels} : null;
      chart(part, {
        name: asked.name,
        of: heatMap.drawing(points, figure, {name: title, labels: x.labels}, rows, cells),
        numbers: () => numbersOf(points, cells.map((each) => each.i), [figure]),
        canvas: true,
        click: (p) => click(p.value[4])
      });
      return;
    }
    const colour = (name) => [...KINDS, "bubble", "transfer"].find((kind) => name.endsWith("." + kind));
    const marksOf = (name, of) =>
      of
        .map(({x: place, i}) => ({x: place, value: points.value(name, i), point: i}))
        .filter((mark) => mark.value !== null);
    const series = several
      ? asked.y.map((name) => ({
          name: points.name(name).replace(/^.*: /, ""),
          figure: name,
          colour: colour(name),
          marks: marksOf(name, cells)
        }))
      : row.labels.map((name, y) => ({
          name,
          figure,
          marks: marksOf(figure, cells.filter((each) => each.y === y))
        }));
    figureChart(part, {
      name: asked.name,
      kind: asked.kind,
      x: title,
      xs: x.labels,
      y: several ? points.name(figure).replace(/: .*$/, "") : points.name(figure),
      unit: points.unit(figure),
      isLog: asked.log,
      isStacked: several,
      series,
      tip: (mark, of) => pointTip(points, mark.point, of.figure),
      click
    });
  }

  return (points, charts, click) =>
    charts.forEach((asked) => show(withDerived(points), asked, click));
})();
