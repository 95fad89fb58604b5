// Tools of every chart: it is saved as a picture or as numbers, and keys lead from mark to
// mark.  A chart is {name, place, instance, drawn, numbers}, drawn being its option of ECharts.
"use strict";

const chartTools = (() => {
  const {button, colours, element} = page;
  const WALKED = 2000; // marks of a series that arrows visit; tables sort and filter the others

  function save(name, end, address) {
    element("a", {href: address, download: `${name}.${end}`}).click();
  }

  /// In twice its size, on the ground of the page.
  function savePng({place, drawn, name}) {
    const size = {width: place.clientWidth, height: place.clientHeight};
    const copy = echarts.init(element("div"), null, {renderer: "canvas", ...size});
    copy.setOption(drawn);
    const look = {type: "png", pixelRatio: 2, backgroundColor: colours().card};
    save(name, "png", copy.getDataURL(look));
    copy.dispose();
  }

  /// In SI base units, which are in the head; shares have none.
  function saveCsv({numbers, name}) {
    const {head, rows} = numbers();
    const plain = (each) => (each && typeof each === "object" ? each.names ?? each.value : each);
    const quoted = (each) => {
      const value = plain(each);
      // A text that a spreadsheet would run as a formula is marked, as in files of studies.
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

  /// Arrows to the right and left go from mark to mark, Enter is a click.
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
