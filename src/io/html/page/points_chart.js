// A chart of points: of a study, of a front of deployments, or of measured runs.
"use strict";

/// Draws groups of points over two figures.  of(state, colours) returns {x, y, groups, before,
/// after}: the axes; groups {name, colour, data} with data of [x, y, point]; and the series to draw
/// below and above the groups.  tip(point) returns the lines of a tooltip.  pointsChart returns a
/// function that draws the chart again.
function pointsChart(parent, {name, height, of, tip, size, controls = [], state = {}, ...more}) {
  const {chart, element, PALETTE} = page;
  let drawn = null;
  const drawing = (_, c) => {
    const {x, y, groups, before = [], after = [], chosen = null} = of(state, c);
    const marks = groups.map(({name: group, colour, data}, k) => ({
      type: "scatter",
      name: group,
      progressive: 0,
      large: data instanceof Float64Array,
      dimensions: ["x", "y", "point"],
      data,
      colour: colour || PALETTE[k % PALETTE.length],
      symbolSize: chosen === null ? size : (value) => (value[2] === chosen ? 2 * size : size),
      itemStyle: {opacity: 0.75, borderColor: c.card, borderWidth: 0.5},
      tip: (p) => tip(p.value[2])
    }));
    return {height, x, y, series: [...before, ...marks, ...after]};
  };
  const update = () => drawn.update({});
  const lists = controls.map(([label, key, choices]) =>
    studyWords.choice(label, choices, state[key], (value) => {
      state[key] = value;
      update();
    })
  );
  if (lists.length) parent.append(element("div", {class: "controls"}, lists));
  drawn = chart(parent, {name, of: drawing, canvas: true, ...more});
  return update;
}
