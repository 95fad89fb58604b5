// Tools of every chart: buttons save it as a picture or as numbers, and arrow keys move from mark
// to mark.  A chart is {name, place, instance, drawn, numbers}; `drawn` is its option of ECharts.
"use strict";

const chartTools = (() => {
  const {button, colours, element} = page;
  const WALKED = 2000; // arrow keys skip series with more marks, whose points are in tables

  function save(name, end, address) {
    element("a", {href: address, download: `${name}.${end}`}).click();
  }

  /// Saves the chart as a picture of twice its size, with the background of a card.
  function savePng({place, drawn, name}) {
    const size = {width: place.clientWidth, height: place.clientHeight};
    const copy = echarts.init(element("div"), null, {renderer: "canvas", ...size});
    copy.setOption(drawn);
    const look = {type: "png", pixelRatio: 2, backgroundColor: colours().card};
    save(name, "png", copy.getDataURL(look));
    copy.dispose();
  }

  /// Saves the numbers in SI base units; the header names the units, except of shares.
  function saveCsv({numbers, name}) {
    const {head, rows} = numbers();
    const plain = (each) => (each && typeof each === "object" ? each.names ?? each.value : each);
    const quoted = (each) => {
      const value = plain(each);
      // An apostrophe marks text that a spreadsheet would run as a formula, as in csv_cell().
      const runs = typeof value === "string" && /^[=+\-@\t\r\n＝＋－＠]/.test(value) && isNaN(value);
      const shown = (runs ? "'" : "") + String(value ?? "");
      return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
    };
    const titles = head.map((title, i) => {
      const {unit} = (rows.find((row) => row[i] && row[i].unit) || [])[i] || {};
      return unit && unit !== "%" ? `${title} [${unit}]` : title;
    });
    const lines = [titles, ...rows].map((row) => row.map(quoted).join(",") + "\n");
    const address = URL.createObjectURL(new Blob(lines, {type: "text/csv"}));
    save(name, "csv", address);
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  }

  function saves(chart) {
    const saveAs = (what, call) => button(`${chart.name} as ${what}`, what, () => call(chart));
    return element("div", {class: "saves"}, saveAs("PNG", savePng), saveAs("CSV", saveCsv));
  }

  /// The right and left arrow keys move from mark to mark; Enter clicks the mark.
  function followKeys({place, instance}, click) {
    let at = -1;
    const act = (type, mark) => instance.dispatchAction({type, ...mark});
    place.addEventListener("keydown", (event) => {
      const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (!by && !(event.key === "Enter" && click && at >= 0)) return;
      event.preventDefault();
      const marks = instance
        .getModel()
        .getSeries()
        .filter((series) => !series.get("silent") && series.getData().count() <= WALKED)
        .flatMap((series) => series.getData().mapArray((i) => [series, i]));
      if (!marks.length) return;
      if (by) at = (Math.max(at, by > 0 ? -1 : 0) + by + marks.length) % marks.length;
      const [series, dataIndex] = marks[Math.min(at, marks.length - 1)];
      const mark = {seriesIndex: series.seriesIndex, dataIndex};
      if (!by) click({seriesName: series.name, value: series.getRawValue(dataIndex)});
      act("downplay");
      act("highlight", mark);
      act("showTip", mark);
    });
    place.addEventListener("blur", () => {
      act("downplay");
      act("hideTip");
    });
  }

  return {followKeys, saves};
})();
