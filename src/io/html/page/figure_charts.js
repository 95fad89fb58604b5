// Lines and bars over a common axis: of figures of a study, or of results side by side.
//
// `spec` is {name, kind, x, xs, y, unit, isLog, isStacked, series, tip, click}.  `xs` are the
// labels of the common axis.  A series is {name, colour, marks}, and a mark is {x, value, point},
// where `x` is the index of its label.
"use strict";

function figureChart(parent, spec) {
  const {cell, chart, NARROW, PALETTE, text} = page;
  const {xs} = spec;
  const isBars = spec.kind === "bars";
  const longest = Math.max(...xs.map((label) => label.length));
  const isNumber = !isBars && xs.every((label) => label.trim() !== "" && isFinite(label));
  const at = (x) => (isNumber ? Number(xs[x]) : x);
  const marks = spec.series.flatMap((each) => each.marks);
  const sums = xs.map((_, x) => marks.reduce((sum, mark) => sum + (mark.x === x && mark.value), 0));
  const values = spec.isStacked ? sums : marks.map((mark) => mark.value);
  const isWhole = spec.isStacked && spec.unit === "%" && Math.max(...sums) < 1.0001;
  const figures = {
    name: spec.y,
    isWide: spec.isLog,
    values,
    shown: (value, digits) => text(value, spec.unit, digits),
    ...(isWhole && {max: 1})
  };
  const numbers = {isWide: studyWords.isWide(xs.map(Number)), min: "dataMin", max: "dataMax"};
  const places = {name: spec.x, ...(isNumber ? numbers : {labels: xs})};
  // Bars are horizontal if their labels do not fit below vertical ones.
  const lies = (width) => isBars && xs.length * (10 + 7 * longest) > width - 110;
  chart(parent, {
    name: spec.name,
    of: (width) => {
      const lie = lies(width);
      const row = spec.isStacked ? 17 : 6 + 11 * spec.series.length;
      const most = Math.min(width < NARROW ? 120 : 260, 20 + 7 * longest);
      return {
        height: lie ? 100 + row * xs.length : 360,
        x: lie ? figures : places,
        y: lie ? {labels: xs, inverse: true, most} : figures,
        series: spec.series.map((each, s) => ({
          type: isBars ? "bar" : "line",
          name: each.name,
          stack: spec.isStacked ? "all" : undefined,
          barCategoryGap: "24%",
          symbol: "circle",
          symbolSize: 8,
          colour: each.colour || PALETTE[s % PALETTE.length],
          data: each.marks.map(({x, value, point}) =>
            lie ? [value, x, point] : [at(x), value, point]
          ),
          tip: (p) => spec.tip(each.marks[p.dataIndex], each)
        }))
      };
    },
    click: spec.click && ((p) => spec.click(p.value[2])),
    head: [spec.x || "of", ...spec.series.map((each) => each.name || spec.y)],
    rows: xs.map((label, x) => [
      label,
      ...spec.series.map((each) =>
        cell((each.marks.find((mark) => mark.x === x) || {value: null}).value, spec.unit)
      )
    ])
  });
}
