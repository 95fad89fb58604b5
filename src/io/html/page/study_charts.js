// The scatter plot of a study with its front.
"use strict";

const studyCharts = (() => {
  const {chart, element, note, PALETTE, plane, section, silentLine, tickDigits} = page;
  const {choice, figureChoices, isWide, numbersOf, pointTip} = studyWords;

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

  function scatterOption(points, state) {
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
    const scale = (figure, column) => {
      const values = all.map((each) => each[column]);
      const precision = tickDigits(values);
      return {
        type: isWide(values) ? "log" : "value",
        scale: true,
        name: points.name(figure),
        axisLabel: {formatter: (v) => points.text(figure, v, precision)}
      };
    };
    // What a point of the front is better than lies on the worse side of the line.
    const step = points.better(state.x) === "less" ? "end" : "start";
    return (c, width) => ({
      ...plane(c, width, undefined, scale(state.x, 0), scale(state.y, 1)),
      series: [
        ...groups.map(([name, list, colour]) => ({
          type: "scatter",
          name,
          large: true,
          data: Float64Array.from(list.flat()),
          dimensions: ["x", "y", "point"],
          color: c[colour],
          symbolSize: points.every.length > 2000 ? 3 : 7, // large ones are squares, which are drawn fast
          itemStyle: {opacity: 0.75},
          tooltip: {formatter: (p) => pointTip(points, p.value[2], state.x, state.y)}
        })),
        silentLine({name: "front", data: line, step, color: c.eighth, lineStyle: {width: 1.5}, z: 3}),
        {
          type: "scatter",
          name: "front",
          data: front,
          color: c.eighth,
          symbol: "diamond",
          symbolSize: 12,
          z: 4,
          itemStyle: {borderColor: c.card, borderWidth: 1},
          tooltip: {formatter: (p) => pointTip(points, p.value[2], state.x, state.y)}
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
    if (!points.figures.length) return {};
    const wanted = points.objective.filter((figure) => points.figures.includes(figure));
    const spare = points.figures.find((figure) => !wanted.includes(figure)) || points.figures[0];
    const state = {x: wanted[0] || points.figures[0], y: wanted[1] || spare, colour: ""};
    const body = element("div", {id: "scatter"});
    const set = (key) => (value) => {
      state[key] = value;
      update();
    };
    part.append(
      element(
        "div",
        {class: "controls"},
        choice("across", figureChoices(points), state.x, set("x")),
        choice("upwards", figureChoices(points), state.y, set("y")),
        choice(
          "colour",
          [
            ["", "none"],
            ...points.axes
              .map((each, a) => [String(a), each.name])
              .filter(([a]) => points.axes[a].labels.length <= PALETTE.length)
          ],
          "",
          set("colour")
        )
      ),
      body
    );
    const drawn = chart(body, {
      name: "scatter",
      height: 400,
      option: scatterOption(points, state),
      numbers: () => numbersOf(points, points.every, [state.x, state.y]),
      canvas: true,
      click: (p) => show(p.value[2])
    });
    function update() {
      drawn.update({option: scatterOption(points, state)});
    }
    return {};
  }

  return {scatter};
})();
