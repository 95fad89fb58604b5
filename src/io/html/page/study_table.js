// The table of a study: a page of rows at a time, sorted by any column, filtered by words.
"use strict";

function studyTable(points, show) {
  const {button, element, note, scrolling, section} = page;
  const ROWS = 25;
  const objective = points.objective.filter((figure) => points.figures.includes(figure));
  const figureColumn = (figure) => ({
    name: points.name(figure),
    sort: (i) => points.value(figure, i),
    shown: (i) => points.text(figure, points.value(figure, i)),
    number: true
  });
  const status = {
    name: "status",
    sort: points.status,
    shown: (i) => points.status(i) + (points.isFront(i) ? ", front" : "")
  };

  /// Each column has a name, the value to sort by, the shown text, and whether it is a number.  The
  /// objective follows the index, so that a phone shows it.
  const columns = [
    {name: "#", sort: points.index, shown: (i) => String(points.index(i)), number: true},
    ...objective.map(figureColumn),
    ...points.axes.map((axis, a) => ({
      name: axis.name,
      sort: (i) => points.place(a, i),
      shown: (i) => points.label(a, i)
    })),
    ...(points.status ? [status] : []),
    ...points.figures.filter((figure) => !objective.includes(figure)).map(figureColumn),
    ...(points.words || [])
  ];
  const state = {column: 0, ascending: true, words: [], first: 0};
  let chosen = -1;

  const haystack = points.every.map((i) =>
    columns
      .filter((column) => !column.number || column.name === "#")
      .map((column) => column.shown(i))
      .join(" ")
      .toLowerCase()
  );

  /// The filtered points in order; points without a value come last in either direction.
  function ordered() {
    const {sort} = columns[state.column];
    const direction = state.ascending ? 1 : -1;
    return points.every
      .filter((i) => state.words.every((word) => haystack[i].includes(word)))
      .sort((a, b) => {
        const [left, right] = [sort(a), sort(b)];
        if (left === null || right === null) return (left === null) - (right === null) || a - b;
        return left < right ? -direction : left > right ? direction : a - b;
      });
  }

  const head = element("tr", null);
  const body = element("tbody", null);
  const place = element("span", {class: "note", id: "rows"});
  const filter = element("input", {
    type: "search",
    id: "filter",
    placeholder: points.status ? "front, or words of a row" : "words of a row",
    "aria-label": "filter",
    input: () => {
      state.words = filter.value
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word);
      state.first = 0;
      fill();
    }
  });

  function turn(by) {
    state.first += by;
    fill();
  }

  function sortBy(column) {
    state.ascending = state.column === column ? !state.ascending : true;
    state.column = column;
    state.first = 0;
    fill();
  }

  function row(i) {
    return element(
      "tr",
      {
        class: "link" + (i === chosen ? " chosen" : ""),
        tabindex: "0",
        "data-index": points.index(i),
        click: () => show(i),
        keydown: (event) => {
          if (event.key === "Enter") show(i);
        }
      },
      columns.map((column) =>
        element(
          "td",
          column.number
            ? {class: "number", "data-value": column.sort(i)}
            : {class: column.shown(i).length > 30 ? "names" : null},
          column.shown(i)
        )
      )
    );
  }

  function fill() {
    const all = ordered();
    state.first = Math.max(
      0,
      Math.min(state.first, Math.floor(Math.max(all.length - 1, 0) / ROWS) * ROWS)
    );
    head.replaceChildren(
      ...columns.map((column, c) =>
        element(
          "th",
          {
            class: column.number ? "number" : null,
            "aria-sort": c === state.column ? (state.ascending ? "ascending" : "descending") : null
          },
          element(
            "button",
            {type: "button", click: () => sortBy(c)},
            column.name + (c === state.column ? (state.ascending ? " ▲" : " ▼") : "")
          )
        )
      )
    );
    body.replaceChildren(...all.slice(state.first, state.first + ROWS).map(row));
    place.textContent = all.length
      ? `${state.first + 1} to ${Math.min(state.first + ROWS, all.length)} of ${all.length.toLocaleString("en-US")}`
      : "no row has all these words";
  }

  const part = section(
    "Table",
    note("A click on a head sorts, a click on a row shows the point."),
    element(
      "div",
      {class: "controls"},
      filter,
      button("rows before", "◀", () => turn(-ROWS)),
      button("rows after", "▶", () => turn(ROWS)),
      place
    ),
    scrolling({id: "table"}, head, body)
  );
  part.id = "table-section";
  fill();
  return {
    mark(i) {
      chosen = i;
      const at = ordered().indexOf(i);
      if (at >= 0) state.first = at - (at % ROWS);
      fill();
    }
  };
}
