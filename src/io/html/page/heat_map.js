// Heat maps of points: over any two axes of a study, and the ones that a study requests.
"use strict";

const heatMap = (() => {
  const {chart, element, NARROW, note, section, tickDigits} = page;
  const {choice, figureChoices, isWide, numbersOf, pointTip} = studyWords;

  /// The best point of each cell of the two axes, among the points with the fixed labels.
  function cellsOf(points, state) {
    const cells = new Map();
    const less = points.better(state.figure) === "less";
    for (const i of points.every) {
      const isElsewhere = ([a, place]) => place !== "best" && points.place(a, i) !== Number(place);
      if (Object.entries(state.fixed).some(isElsewhere)) continue;
      const x = points.place(state.x, i);
      const y = state.y === null ? 0 : points.place(state.y, i);
      if (x < 0 || y < 0) continue;
      const key = `${x},${y}`;
      const value = points.value(state.figure, i);
      const known = cells.get(key);
      const isBetter = known && (less ? value < known.value : value > known.value);
      if (!known || (value !== null && (known.value === null || isBetter)))
        cells.set(key, {x, y, i, value});
    }
    return [...cells.values()];
  }

  /// The drawing of cells {x, y, i, value}: the indices of their labels on both axes, a point and
  /// its figure.  `upwards` is null if there is only one axis.
  function drawing(points, figure, across, upwards, cells) {
    const filled = cells.filter((each) => each.value !== null);
    const empty = cells.filter((each) => each.value === null);
    const values = filled.map((each) => each.value);
    const wide = isWide(values);
    const shade = (value) => (wide ? Math.log10(value) : value);
    const precision = tickDigits(values);
    const back = (value) => points.text(figure, wide ? 10 ** value : value, precision);
    const names = upwards ? upwards.labels : [""];
    const shown = (value) => points.text(figure, value, precision);
    const longest = values.length > 500 ? Infinity : Math.max(...values.map((v) => shown(v).length));
    const row = Math.max(6, Math.min(34, 640 / names.length));
    const less = points.better(figure) === "less";
    const [low, high] = [Math.min, Math.max].map((end) => end(...values.map(shade)));
    // A single value has the colour of the best one.
    const ends = high > low ? [low, high] : less ? [low, low + 1] : [low - 1, low];
    const strength = (value) =>
      high === low ? 1 : (less ? high - value : value - low) / (high - low);
    return (width, c) => {
      const most = width < NARROW ? 84 : 150;
      const left = Math.min(most, 20 + 7 * Math.max(...names.map((name) => name.length)));
      const room = (width - left - 24) / across.labels.length;
      const isRoomy = room > 10 + 6.5 * longest && row > 15;
      const ramp = [c["heat-low"], c["heat-middle"], c["heat-high"]];
      const turn = Number(c["heat-turn"]); // above this strength, labels have the other colour
      return {
        height: 106 + (upwards ? row * names.length : 34),
        top: 44,
        x: {labels: across.labels, name: across.name},
        y: {labels: names, most},
        visualMap: {
          seriesIndex: 0,
          dimension: 3,
          min: ends[0],
          max: ends[1],
          calculable: false,
          orient: "horizontal",
          left: 0,
          top: 0,
          itemWidth: 12,
          itemHeight: Math.min(150, width / 5),
          textStyle: {color: c.soft},
          formatter: back,
          text: [back(high), back(low)],
          inRange: {color: less ? ramp.reverse() : ramp}
        },
        series: [
          {
            type: "heatmap",
            progressive: 0,
            name: points.name(figure),
            data: filled.map(({x, y, value, i}) => ({
              value: [x, y, value, shade(value), i],
              ...(isRoomy && {
                label: {color: strength(shade(value)) > turn ? c["on-high"] : c["on-low"]}
              })
            })),
            itemStyle: {borderColor: c.card, borderWidth: Math.min(room, row) > 8 ? 1 : 0},
            emphasis: {itemStyle: {borderColor: c.ink, borderWidth: 1}},
            label: (p) => shown(p.value[2]),
            labelStyle: {show: isRoomy, fontSize: 11},
            tip: (p) => pointTip(points, p.value[4], figure)
          },
          {
            type: "scatter",
            name: "without a value",
            symbol: "path://M0 0L10 10M10 0L0 10",
            symbolSize: 9,
            colour: "transparent",
            itemStyle: {borderColor: c.soft, borderWidth: 1.5},
            data: empty.map((each) => [each.x, each.y, 0, 0, each.i]),
            tip: ({value: [, , , , i]}) => [
              `Point ${points.index(i)}: ${points.status(i)}`,
              points.title(i),
              points.reason(i)
            ]
          }
        ],
        legend: null
      };
    };
  }

  function heatMap(points, show) {
    const n = points.axes.length;
    const state = {
      x: 0,
      y: n > 1 ? 1 : null,
      figure: points.figures.includes(points.objective[0])
        ? points.objective[0]
        : points.figures[0],
      fixed: {}
    };
    const part = section(
      "Heat map",
      note(
        "The stronger the colour, the better. Of an axis that is not " +
          "shown the best point counts, unless one of its values is chosen. " +
          "A cross has no value: infeasible, failed or unfinished. Nothing stands where a bound " +
          "made a search superfluous."
      )
    );
    const controls = element("div", {class: "controls"});
    const body = element("div", {id: "heat"});
    part.append(controls, body);
    if (!state.figure) {
      part.append(note("No point has a figure yet."));
      return;
    }
    const axisChoices = points.axes.map((each, a) => [String(a), each.name]);
    let drawn = null;

    function changed() {
      const others = points.axes.map((_, a) => a).filter((a) => a !== state.x && a !== state.y);
      state.fixed = Object.fromEntries(others.map((a) => [a, state.fixed[a] || "best"]));
      const set = (change) => (value) => {
        change(value);
        changed();
      };
      controls.replaceChildren(
        choice("across", axisChoices, state.x, set((a) => pick("x", Number(a)))),
        ...(n > 1 ? [choice("upwards", axisChoices, state.y, set((a) => pick("y", Number(a))))] : []),
        choice("figure", figureChoices(points), state.figure, set((f) => (state.figure = f))),
        ...others.map((a) =>
          choice(
            points.axes[a].name,
            [["best", "the best"], ...points.axes[a].labels.map((label, i) => [String(i), label])],
            state.fixed[a],
            set((place) => (state.fixed[a] = place))
          )
        )
      );
      if (drawn) drawn.update({of: drawingOf()});
    }

    function drawingOf() {
      const [across, upwards] = [state.x, state.y].map((a) => points.axes[a] || null);
      return drawing(points, state.figure, across, upwards, cellsOf(points, state));
    }

    /// Shows an axis in a direction; if the other direction has it, the two axes are exchanged.
    function pick(which, a) {
      const other = which === "x" ? "y" : "x";
      if (state[other] === a) state[other] = state[which];
      state[which] = a;
    }

    changed();
    const shown = () => cellsOf(points, state).map((each) => each.i);
    drawn = chart(body, {
      name: "heat map",
      of: drawingOf(),
      numbers: () => numbersOf(points, shown(), [state.figure]),
      canvas: true,
      click: (p) => show(p.value[4])
    });
  }

  return {drawing, heatMap};
})();
