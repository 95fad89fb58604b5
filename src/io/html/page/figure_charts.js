// Lines and bars over a common axis: of figures of a study, or of results side by side.
//
// `spec` is {name, x, xs, y, unit, isLog, isStacked, series, tip, click}: xs are the labels across,
// and a series is {name, colour, marks}, a mark {x, value, point} with the place of its label.
"use strict";

const figureCharts = (() => {
  const {cell, chart, PALETTE, plane, text, tickDigits} = page;
  const {isWide} = studyWords;

  const values = (spec) => spec.series.flatMap((each) => each.marks.map((mark) => mark.value));
  const names = (spec) => spec.series.map((each) => each.name).filter((name) => name);
  const colourOf = (each, s) => each.colour || PALETTE[s % PALETTE.length];

  function scale(spec, list) {
    const precision = tickDigits(list);
    return {
      type: spec.isLog ? "log" : "value",
      name: spec.y,
      axisLabel: {formatter: (v) => text(v, spec.unit, precision)}
    };
  }

  function drawn(parent, spec, height, option) {
    chart(parent, {
      name: spec.name,
      height,
      option,
      click: spec.click && ((p) => spec.click(p.value[2])),
      head: [spec.x || "of", ...spec.series.map((each) => each.name || spec.y)],
      rows: spec.xs.map((label, x) => [
        label,
        ...spec.series.map(({marks}) =>
          cell((marks.find((mark) => mark.x === x) || {value: null}).value, spec.unit)
        )
      ])
    });
  }

  function lines(parent, spec) {
    const isNumber = spec.xs.every((label) => label.trim() !== "" && isFinite(label));
    const at = (x) => (isNumber ? Number(spec.xs[x]) : x);
    const across = isNumber
      ? {type: isWide(spec.xs.map(Number)) ? "log" : "value", min: "dataMin", max: "dataMax"}
      : {type: "category", data: spec.xs};
    drawn(parent, spec, 360, (c, width) => ({
      ...plane(c, width, names(spec), {name: spec.x, ...across}, scale(spec, values(spec))),
      series: spec.series.map((each, s) => ({
        type: "line",
        name: each.name,
        color: c[colourOf(each, s)],
        symbol: "circle",
        symbolSize: 8,
        data: each.marks.map((mark) => [at(mark.x), mark.value, mark.point]),
        tooltip: {formatter: (p) => spec.tip(each.marks[p.dataIndex], each)}
      }))
    }));
  }

  /// Upright; where the names below them have no room they lie.
  function bars(parent, spec) {
    const longest = Math.max(...spec.xs.map((label) => label.length));
    const lie = (width) => spec.xs.length * (10 + 7 * longest) > width - 110;
    const sums = spec.xs.map((_, x) =>
      spec.series
        .flatMap((each) => each.marks)
        .reduce((sum, mark) => (mark.x === x ? sum + mark.value : sum), 0)
    );
    const list = spec.isStacked ? sums : values(spec);
    const most = spec.isStacked && spec.unit === "%" && Math.max(...sums) < 1.0001 ? {max: 1} : {};
    const row = spec.isStacked ? 17 : 6 + 11 * spec.series.length;
    drawn(
      parent,
      spec,
      (width) => (lie(width) ? 100 + row * spec.xs.length : 360),
      (c, width) => {
        const lies = lie(width);
        const place = {type: "category", data: spec.xs, axisTick: {show: false}};
        const upwards = {...scale(spec, list), ...most};
        const left = Math.min(width < 500 ? 120 : 260, 20 + 7 * longest);
        const labels = {width: left - 12, overflow: "truncate"};
        const option = lies
          ? plane(c, width, names(spec), upwards, {...place, inverse: true, axisLabel: labels})
          : plane(c, width, names(spec), {...place, name: spec.x}, upwards);
        if (lies) option.grid.left = left;
        return {
          ...option,
          series: spec.series.map((each, s) => ({
            type: "bar",
            name: each.name,
            stack: spec.isStacked ? "all" : undefined,
            barCategoryGap: "24%",
            color: c[colourOf(each, s)],
            data: each.marks.map((mark) =>
              lies ? [mark.value, mark.x, mark.point] : [mark.x, mark.value, mark.point]
            ),
            tooltip: {formatter: (p) => spec.tip(each.marks[p.dataIndex], each)}
          }))
        };
      }
    );
  }

  return {bars, lines};
})();
