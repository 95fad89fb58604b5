// Helpers of charts of points: lists to choose from, tooltips, whether an axis should
// be logarithmic.
"use strict";

const studyWords = (() => {
  const {element} = page;

  /// A labelled list to choose from; `choices` are [value, text].
  function choice(label, choices, chosen, changed) {
    const list = element(
      "select",
      {"aria-label": label, change: () => changed(list.value)},
      choices.map(([value, shown]) => element("option", {value}, shown))
    );
    list.value = String(chosen);
    return element("label", null, label, list);
  }

  function figureChoices(points) {
    return points.figures.map((figure) => [figure, points.name(figure)]);
  }

  function pointTip(points, i, ...figures) {
    return [
      `Point ${points.index(i)}${points.isFront(i) ? ", on the front" : ""}`,
      points.title(i),
      ...figures.map(
        (figure) => `${points.name(figure)} ${points.text(figure, points.value(figure, i))}`
      )
    ];
  }

  /// The table that a chart of these points exports.
  function numbersOf(points, list, figures) {
    return {
      head: ["point", ...points.axes.map((axis) => axis.name), ...figures.map(points.name)],
      rows: list.map((i) => [
        points.index(i),
        ...points.axes.map((_, a) => points.label(a, i)),
        ...figures.map((figure) => page.cell(points.value(figure, i), points.unit(figure)))
      ])
    };
  }

  function isWide(values) {
    const positive = values.length > 0 && values.every((value) => value > 0);
    return positive && Math.max(...values) > 40 * Math.min(...values);
  }

  /// An axis of a figure over points.
  function figureAxis(points, figure, values) {
    return {
      isWide: isWide(values),
      scale: true,
      name: points.name(figure),
      values,
      shown: (value, digits) => points.text(figure, value, digits)
    };
  }

  return {choice, figureAxis, figureChoices, isWide, numbersOf, pointTip};
})();
