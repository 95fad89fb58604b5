// The scatter plot of a study with its front.
"use strict";

const studyCharts = (() => {
  const {note, PALETTE, section} = page;
  const {figureAxis, figureChoices, numbersOf, pointTip} = studyWords;

  /// The front of a list of [x, y, point]: points within the limits that no other such point
  /// dominates.  For the two objectives of the study it is the front of the study.
  function frontOf(all, points, {x, y}) {
    const {objective} = points;
    if (objective.length === 2 && objective.includes(x) && objective.includes(y))
      return all.filter((each) => points.isFront(each[2]));
    const [a, b] = [x, y].map((figure) => (points.better(figure) === "less" ? 1 : -1));
    let best = Infinity;
    return all
      .filter((each) => points.isAllowed(each[2]))
      .sort((p, q) => a * (p[0] - q[0]) || b * (p[1] - q[1]))
      .filter((each) => {
        const isBetter = b * each[1] < best;
        if (isBetter) best = b * each[1];
        return isBetter;
      });
  }

  function scatter(points, show) {
    const part = section(
      "Front",
      note(
        "Each point in two figures. Diamonds are the front of these two: no other point within " +
          "the limits is as good in both and better in one."
      )
    );
    if (!points.figures.length) return;
    const wanted = points.objective.filter((figure) => points.figures.includes(figure));
    const spare = points.figures.find((figure) => !wanted.includes(figure)) || points.figures[0];
    const state = {x: wanted[0] || points.figures[0], y: wanted[1] || spare, colour: ""};
    const tip = (i) => pointTip(points, i, state.x, state.y);

    function of({x, y, colour}) {
      const all = points.every
        .map((i) => [points.value(x, i), points.value(y, i), i])
        .filter(([a, b]) => a !== null && b !== null);
      const front = frontOf(all, points, state);
      const onFront = new Set(front.map((each) => each[2]));
      const others = all.filter((each) => !onFront.has(each[2]));
      const packed = (list) => Float64Array.from(list.flat());
      const groups =
        colour === ""
          ? [{name: "others", data: packed(others), colour: "bubble"}]
          : points.axes[colour].labels.map((name, place) => ({
              name,
              data: packed(others.filter((each) => points.place(colour, each[2]) === place))
            }));
      return {
        x: figureAxis(points, x, all.map((each) => each[0])),
        y: figureAxis(points, y, all.map((each) => each[1])),
        groups,
        after: [
          {
            name: "front",
            silent: true,
            data: [...front].sort((a, b) => a[0] - b[0] || b[1] - a[1]),
            // Dominated points lie on the worse side of the line.
            step: points.better(x) === "less" ? "end" : "start",
            colour: "eighth",
            lineStyle: {width: 1.5},
            z: 3
          },
          {
            name: "front",
            type: "scatter",
            data: front,
            colour: "eighth",
            symbol: "diamond",
            symbolSize: 12,
            z: 4,
            tip: (p) => tip(p.value[2])
          }
        ]
      };
    }

    const colours = points.axes
      .map((each, a) => [String(a), each.name])
      .filter(([a]) => points.axes[a].labels.length <= PALETTE.length);
    pointsChart(part, {
      name: "scatter",
      height: 400,
      of,
      tip,
      size: points.every.length > 2000 ? 3 : 7, // marks of large series are squares, drawn fast
      state,
      controls: [
        ["across", "x", figureChoices(points)],
        ["upwards", "y", figureChoices(points)],
        ["colour", "colour", [["", "none"], ...colours]]
      ],
      numbers: () => numbersOf(points, points.every, [state.x, state.y]),
      click: (p) => show(p.value[2])
    });
  }

  return {scatter};
})();
