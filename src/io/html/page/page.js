// Parts that all pages share: elements, numbers with units, tables, charts, the theme.
//
// Names come from configs, so no string is parsed as HTML: all text, in tooltips as well, is put
// into elements.  One function draws each chart from two axes and series of marks, and draws it
// again when the colours or the width change.  Below most charts is a table with the same numbers,
// whose `data-value` is in SI base units.
"use strict";

const page = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;

  /// element("p", {class: "note"}, "text", child, ...); null children are left out.
  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (typeof value === "function") made.addEventListener(name, value);
      else if (value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(
      ...children.flat(Infinity).filter((child) => child !== null && child !== undefined)
    );
    return made;
  }

  // Names of colours: bounds of a partition, and series in their order.

  const KINDS = ["compute", "memory", "network"];
  const PALETTE = [...KINDS, "transfer", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "bubble"];

  // Numbers.

  const PREFIXES = [..."YZEPTGMk", "", ..."munp"].map((name, i) => [Number(`1e${24 - 3 * i}`), name]);

  const WORDS = [
    [1e12, "trillion"],
    [1e9, "billion"],
    [1e6, "million"]
  ];

  /// A number with `precision` significant digits, such as "70.55 billion".
  function digits(value, precision = 4) {
    if (value === 0) return "0";
    if (value === Infinity) return "∞";
    const size = Math.abs(value);
    const word = size < 1e15 && WORDS.find(([factor]) => size >= factor * 0.99995);
    if (word) return digits(value / word[0], precision) + " " + word[1];
    if (size >= 1e15 || size < 1e-4)
      return value
        .toExponential(precision - 1)
        .replace(/\.?0+e/, "e")
        .replace("e+", "e");
    const rounded = Number(value.toPrecision(precision));
    return Number.isInteger(rounded) && size >= 1e4
      ? Math.round(value).toLocaleString("en-US")
      : String(rounded);
  }

  /// A value with its unit, such as "2.427 ms"; a dash for no value.  Units: s, B, FLOP/s, $, W,
  /// ...; "%" for shares; "" for counts.
  function text(value, unit, precision) {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    if (unit === "%") return digits(100 * value, precision) + " %";
    if (!unit) return digits(value, precision);
    const shown = unit.replace(/^1/, "");
    if (value === 0) return "0 " + shown;
    const size = Math.abs(value);
    const found =
      PREFIXES.find(
        ([factor, name]) => size >= factor * 0.99995 && (factor >= 1 || unit === "s")
      ) || (unit === "s" ? [1e-12, "p"] : [1, ""]);
    return digits(value / found[0], precision) + " " + found[1] + shown;
  }

  /// A value with its unit; null for 0 and for no value.
  function known(value, unit) {
    return value ? text(value, unit) : null;
  }

  /// The number of digits with which the ticks of an axis over `values` differ.
  function tickDigits(values) {
    const low = values.reduce((a, b) => Math.min(a, b), Infinity);
    const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
    const size = Math.max(Math.abs(low), Math.abs(high));
    return high > low ? Math.max(4, 2 + Math.ceil(Math.log10(size / (high - low)))) : 4;
  }

  function count(number, noun) {
    return number.toLocaleString("en-US") + " " + noun + (number === 1 ? "" : "s");
  }

  // Tables.

  /// A cell with a number: the value, its unit, and its text.
  function cell(value, unit) {
    return {value, unit, text: text(value, unit)};
  }

  function tableCell(content) {
    if (content && content.nodeType) return element("td", null, content);
    if (content && content.names)
      return element("td", {class: "names"}, element("div", null, content.names));
    if (content && "text" in Object(content)) {
      return element("td", {class: "number", "data-value": content.value}, content.text);
    }
    return element("td", null, content === null || content === undefined ? "–" : String(content));
  }

  /// `head` are names of columns, `rows` lists of strings, cell(...)s, {names} or elements.
  function table(head, rows, attributes) {
    const isCell = (each) => each && typeof each === "object" && !each.nodeType && "text" in each;
    const isNumber = (i) => rows.length > 0 && rows.every((row) => isCell(row[i]));
    const heads = head.map((name, i) => element("th", {class: isNumber(i) ? "number" : null}, name));
    const lines = rows.map((row) => element("tr", null, row.map(tableCell)));
    return scrolling(attributes, element("tr", null, heads), element("tbody", null, lines));
  }

  /// A table that may be wider than the page.
  function scrolling(attributes, head, body) {
    return element(
      "div",
      {class: "scroll", tabindex: "0", role: "region", "aria-label": "table"},
      element("table", attributes, element("thead", null, head), body)
    );
  }

  /// Content that a click opens.
  function folded(title, content) {
    return element("details", null, element("summary", null, title), content);
  }

  /// {name: value, ...} as a grid whose rows are about equally full; null values are left out.
  function facts(entries) {
    const known = Object.entries(entries).filter(
      ([, value]) => value !== null && value !== undefined && value !== ""
    );
    const isWide = (value) => String(value).length > 22 && !value.nodeType;
    const places = known.reduce((sum, [, value]) => sum + (isWide(value) ? 2 : 1), 0);
    return element(
      "dl",
      {class: "facts", style: `--most: ${Math.ceil(places / Math.ceil(places / 6))}`},
      known.map(([name, value]) =>
        element(
          "div",
          isWide(value) ? {class: "wide"} : null,
          element("dt", null, name),
          element("dd", null, value)
        )
      )
    );
  }

  function button(label, shown, click) {
    return element("button", {type: "button", "aria-label": label, click}, shown);
  }

  function section(title, ...children) {
    const made = element("section", null, title ? element("h2", null, title) : null, ...children);
    document.getElementById("page").append(made);
    return made;
  }

  /// The first line: a value in large letters, words after it, and [colour, words] of a badge.
  function headline(id, value, shown, words, badge) {
    return element(
      "div",
      {class: "verdict"},
      shown ? element("span", {class: "big", id, "data-value": value}, shown) : null,
      words ? element("span", {class: "note"}, words) : null,
      badge ? element("span", {class: "badge " + badge[0], id: "verdict"}, badge[1]) : null
    );
  }

  function note(...children) {
    return element("p", {class: "note"}, ...children);
  }

  // Charts.

  const charts = [];

  function colours() {
    const style = getComputedStyle(root);
    return new Proxy({}, {get: (_, name) => style.getPropertyValue("--" + name).trim()});
  }

  /// Lines of text as the element of a tooltip.
  function tip(...lines) {
    return element(
      "div",
      {style: "white-space: normal; max-width: 320px; overflow-wrap: anywhere"},
      lines
        .filter((line) => line !== null)
        .map((line, i) => element("div", i === 0 ? {style: "font-weight: 600"} : null, line))
    );
  }

  const NARROW = 500;

  /// An axis of ECharts: with `labels`, or numbers in `unit`, or numbers that shown(value, digits)
  /// turns into text.  Numbers have enough digits for ticks over `values` to differ.  Other keys
  /// are passed to ECharts.
  function axisOf(c, width, {labels, unit, shown, values = [], isWide, most, ...more}, isAcross, room) {
    const precision = tickDigits(values);
    const formatter = (v) => (shown ? shown(v, precision) : text(v, unit, precision));
    const own = labels
      ? {type: "category", data: labels, axisTick: {show: false}}
      : {type: isWide ? "log" : "value", ...(isAcross && {splitNumber: width < NARROW ? 3 : 6})};
    const axisLabel = {color: labels ? c.ink : c.soft, hideOverlap: true, ...(!labels && {formatter})};
    if (labels && !isAcross) Object.assign(axisLabel, {width: room - 12, overflow: "truncate"});
    return {
      axisLine: {lineStyle: {color: c.line}},
      axisTick: {lineStyle: {color: c.line}},
      splitLine: {show: !labels, lineStyle: {color: c.grid}},
      nameTextStyle: {color: c.soft},
      nameLocation: "middle",
      nameGap: isAcross ? 28 : room - 18,
      ...own,
      ...more,
      axisLabel: {...axisLabel, ...more.axisLabel}
    };
  }

  /// A legend with the names of series: up to three lines, or one line that scrolls.
  function legendOf(c, width, series) {
    const listed = series.filter(
      ({name, data, silent, isListed}) => name && data.length && (!silent || isListed)
    );
    const names = [...new Set(listed.map((each) => each.name))];
    const lines = legendLines(names, width - 20);
    if (names.length < 2) return {lines: 0};
    return {
      lines: lines > 3 ? 1 : lines,
      legend: {
        top: 0,
        left: 0,
        itemWidth: 13,
        itemHeight: 9,
        itemGap: 12,
        icon: "roundRect",
        textStyle: {color: c.ink},
        pageTextStyle: {color: c.ink},
        pageIconColor: c.ink,
        inactiveColor: c.line,
        type: lines > 3 ? "scroll" : "plain",
        width: width - 20,
        data: names
      }
    };
  }

  /// A series of ECharts.  `colour` is a colour or a name of one; tip(mark) returns the lines of a
  /// tooltip, label(mark) a text.  A silent series is a line without marks.
  function seriesOf(c, {colour, tip: lines, label, isListed, ...more}) {
    return {
      ...(colour && {color: c[colour] || colour}),
      ...(more.silent && {type: "line", symbol: "none", tooltip: {show: false}}),
      ...(lines && {tooltip: {formatter: (mark) => tip(...lines(mark))}}),
      ...more,
      ...(label && {
        label: {show: true, color: c.ink, formatter: label, ...more.labelStyle}
      })
    };
  }

  /// The option of ECharts for two axes, the series and further keys of an option; and the height
  /// that the legend adds.
  function optionOf(c, width, {x, y, series, top = 0, ...more}) {
    const {legend, lines} = legendOf(c, width, series);
    const longest = Math.max(0, ...(y.labels || []).map((label) => label.length));
    const narrow = width < NARROW;
    const room = y.labels
      ? Math.min(y.most || (narrow ? 120 : 260), 20 + 7 * longest)
      : y.name ? 88 : 62;
    const option = {
      legend,
      grid: {
        left: y.show === false ? 4 : room,
        right: narrow ? 18 : 24,
        top: top + (lines ? 12 + 22 * lines : 8),
        bottom: x.name ? 46 : 26
      },
      xAxis: axisOf(c, width, x, true, room),
      yAxis: axisOf(c, width, y, false, room),
      series: series.map((each) => seriesOf(c, each))
    };
    const extra = 22 * Math.max(0, lines - 1);
    return {option: {...option, ...more, grid: {...option.grid, ...more.grid}}, extra};
  }

  /// The approximate number of lines that the names of a legend take.
  function legendLines(names, width) {
    let lines = 1;
    let used = 0;
    for (const name of names) {
      const wide = 7 * name.length + 32;
      if (used > 0 && used + wide > width) {
        ++lines;
        used = 0;
      }
      used += wide;
    }
    return lines;
  }

  function draw(chart) {
    const c = colours();
    const width = chart.place.clientWidth;
    const {height, tooltip = {}, ...spec} = chart.of(width, c);
    const {option, extra} = optionOf(c, width, spec);
    chart.place.style.height = height + extra + "px";
    if (chart.instance.getWidth() !== width || chart.instance.getHeight() !== height + extra) {
      chart.instance.clear(); // else resize() would draw the old content
      chart.instance.resize({width, height: height + extra});
    }
    chart.drawn = {
      animation: false,
      textStyle: {color: c.ink, fontFamily: getComputedStyle(document.body).fontFamily},
      aria: {enabled: true},
      ...option,
      tooltip: {
        confine: true,
        backgroundColor: c.card,
        borderColor: c.line,
        textStyle: {color: c.ink, fontSize: 13},
        ...tooltip,
        ...(tooltip.tip && {formatter: (marks) => tip(...tooltip.tip(marks))})
      }
    };
    chart.instance.setOption(chart.drawn, {notMerge: true});
  }

  /// Adds a chart to `parent`.  of(width, colours) returns {height, x, y, series, ...}.  `head` and
  /// `rows` are the table of its numbers; for a chart without a table, numbers() returns both.
  /// click(params) is called when a mark is clicked.
  function chart(parent, {name, of, head, rows, numbers, click, canvas}) {
    const place = element("div", {
      class: "chart",
      role: "img",
      tabindex: "0",
      "aria-label": name,
      "data-chart": name
    });
    const made = {name, place, of, numbers: numbers || (() => ({head, rows}))};
    const figure = element("figure", null, place, chartTools.saves(made));
    if (head) figure.append(folded("The same as numbers", table(head, rows, {"data-of": name})));
    parent.append(figure);
    place.style.height = "10px";
    made.instance = echarts.init(place, null, {renderer: canvas ? "canvas" : "svg"});
    if (click) made.instance.on("click", click);
    chartTools.followKeys(made, click);
    charts.push(made);
    draw(made);
    return {update: (change) => draw(Object.assign(made, change))};
  }

  function redraw() {
    charts.forEach(draw);
  }

  // The theme of the system is used until the reader chooses one; prints are always light.

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;

  function setTheme(theme) {
    root.setAttribute("data-theme", theme || chosen || (dark.matches ? "dark" : "light"));
    redraw();
  }

  dark.addEventListener("change", () => setTheme());
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return; // as when a phone hides its address bar
    width = window.innerWidth;
    redraw();
  });
  window.addEventListener("beforeprint", () => {
    document.getElementById("page").style.width = "746px"; // then charts are as wide as paper
    setTheme("light");
  });
  window.addEventListener("afterprint", () => {
    document.getElementById("page").style.width = "";
    setTheme();
  });

  /// The title with its buttons.
  function header(kicker, title) {
    document.title = title + " – dfsearch";
    document.getElementById("page").append(
      element(
        "div",
        {class: "top"},
        element("div", null, element("div", {class: "kicker"}, kicker), element("h1", null, title)),
        element(
          "div",
          {class: "buttons"},
          button("light or dark", "◐", () => {
            chosen = root.getAttribute("data-theme") === "dark" ? "light" : "dark";
            setTheme();
          }),
          button("print", "Print", () => window.print())
        )
      )
    );
  }

  function footer() {
    const made = `Made by dfsearch ${data.dfsearch}. Charts: Apache ECharts ${echarts.version}, `;
    const words = made + "Apache License 2.0, in this file. It loads nothing from anywhere.";
    document.getElementById("page").append(element("footer", null, words));
  }

  // Data that dfsearch did not write can make a script fail.
  window.addEventListener("error", () => {
    const what = "The page cannot show all of its data: they are not as dfsearch writes them.";
    document.getElementById("page").prepend(element("section", {role: "alert"}, what));
  });

  setTheme();
  return {
    button,
    cell,
    chart,
    colours,
    count,
    data,
    element,
    facts,
    folded,
    footer,
    header,
    headline,
    KINDS,
    known,
    note,
    NARROW,
    PALETTE,
    scrolling,
    section,
    table,
    text,
    tickDigits
  };
})();
