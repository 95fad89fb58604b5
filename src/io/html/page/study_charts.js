// The scatter plot of a study with its front.
"use strict";

const studyCharts = (() => {
  const {chart, element, note, PALETTE, section} = page;
  const {choice, figureAxis, figureChoices, numbersOf, pointTip} = studyWords;

  /// Of [x, y, point] those within the limits that no other one is as good as in both and better
  /// than in one; of the study's two objectives its own front.
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

  function drawing(points, state) {
    const all = points.every
      .map((i) => [points.value(state.x, i), points.value(state.y, i), i])
      .filter(([x, y]) => x !== null && y !== null);
    const front = frontOf(all, points, state);
    const onFront = new Set(front.map((each) => each[2]));
    const others = all.filter((each) => !onFront.has(each[2]));
    const line = [...front].sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    const groups =
      state.colour === ""
        ? [["others", others, "bubble"]]
        : points.axes[state.colour].labels.map((label, place) => [
            label,
            others.filter((each) => points.place(state.colour, each[2]) === place),
            PALETTE[place % PALETTE.length]
          ]);
    // What a point of the front is better than lies on the worse side of the line.
    const step = points.better(state.x) === "less" ? "end" : "start";
    const mark = {type: "scatter", tip: (p) => pointTip(points, p.value[2], state.x, state.y)};
    return (_, c) => ({
      height: 400,
      x: figureAxis(points, state.x, all.map((each) => each[0])),
      y: figureAxis(points, state.y, all.map((each) => each[1])),
      series: [
        ...groups.map(([name, list, colour]) => ({
          ...mark,
          name,
          large: true,
          data: Float64Array.from(list.flat()),
          dimensions: ["x", "y", "point"],
          colour,
          symbolSize: points.every.length > 2000 ? 3 : 7, // large ones are squares, drawn fast
          itemStyle: {opacity: 0.75}
        })),
        {name: "front", silent: true, data: line, step, colour: "eighth", lineStyle: {width: 1.5}, z: 3},
        {
          ...mark,
          name: "front",
          data: front,
          colour: "eighth",
          symbol: "diamond",
          symbolSize: 12,
          z: 4,
          itemStyle: {borderColor: c.card, borderWidth: 1}
        }
      ]
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
    const body = element("div", {id: "scatter"});
    const set = (key) => (value) => {
      state[key] = value;
      drawn.update({of: drawing(points, state)});
    };
    const colours = points.axes
      .map((each, a) => [String(a), each.name])
      .filter(([a]) => points.axes[a].labels.length <= PALETTE.length);
    part.append(
      element(
        "div",
        {class: "controls"},
        choice("across", figureChoices(points), state.x, set("x")),
        choice("upwards", figureChoices(points), state.y, set("y")),
        choice("colour", [["", "none"], ...colours], "", set("colour"))
      ),
      body
    );
    const drawn = chart(body, {
      name: "scatter",
      of: drawing(points, state),
      numbers: () => numbersOf(points, points.every, [state.x, state.y]),
      canvas: true,
      click: (p) => show(p.value[2])
    });
  }

  return {scatter};
})();
