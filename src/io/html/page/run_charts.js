// The charts of a mapping: its partitions, SRAM, rooflines, and the course of the search.
"use strict";

const runCharts = (() => {
  const {axis, cell, chart, element, KINDS, legend, note, scale, section} = page;
  const {silentLine, text, tickDigits, tip} = page;
  const SHOWN = 60; // bars of more partitions could not be told apart

  function shortened(names, width) {
    if (width < 500) return "";
    const first = names[0].length > 21 ? names[0].slice(0, 20) + "…" : names[0];
    return names.length > 1 ? `${first} +${names.length - 1}` : first;
  }

  /// The partitions that charts show: all, or the longest ones in order.
  function shown(partitions) {
    if (partitions.length <= SHOWN) return partitions;
    const longest = new Set([...partitions].sort((a, b) => b.time - a.time).slice(0, SHOWN));
    return partitions.filter((partition) => longest.has(partition));
  }

  function categories(c, list, width) {
    return {
      type: "category",
      inverse: true,
      axisTick: {show: false},
      axisLine: {lineStyle: {color: c.line}},
      data: list.map((partition) => `${partition.index}  ${shortened(partition.kernels, width)}`),
      axisLabel: {color: c.ink, interval: 0, width: width < 500 ? 26 : 190, overflow: "truncate"}
    };
  }

  function side(width) {
    return width < 500 ? 34 : 200;
  }

  /// What binds a partition; a level of the chip counts as compute.
  function binding(partition) {
    return KINDS.includes(partition.bound_by) ? partition.bound_by : "compute";
  }

  function partitionTip(partition) {
    return tip(
      `partition ${partition.index}, bound by ${partition.bound_by}: ${text(partition.time, "s")}`,
      ...KINDS.map((kind) => `${kind} ${text(partition[kind], "s")}`),
      partition.kernels.slice(0, 12).join(", ") +
        (partition.kernels.length > 12 ? ` and ${partition.kernels.length - 12} more` : "")
    );
  }

  function partitions(parent, all) {
    const list = shown(all);
    parent.append(
      note(
        "The kernels of a partition are on the chip together; partitions take turns. Times are for one " +
          "layer and one sample. The bar that binds a partition is full, the others are pale.",
        list.length < all.length
          ? ` Of ${all.length} partitions the ${list.length} longest are drawn.`
          : ""
      )
    );
    chart(parent, {
      name: "partitions",
      height: 60 + list.length * 50,
      option: (c, width) => ({
        legend: legend(c),
        grid: {left: side(width), right: width < 500 ? 18 : 90, top: 30, bottom: 26},
        xAxis: scale(c, width, "s"),
        yAxis: categories(c, list, width),
        series: KINDS.map((kind) => ({
          name: kind,
          type: "bar",
          barGap: "8%",
          barCategoryGap: "26%",
          color: c[kind],
          data: list.map((partition) => ({
            value: partition[kind],
            itemStyle: {opacity: binding(partition) === kind ? 1 : 0.38},
            label: {
              show: width >= 500 && binding(partition) === kind,
              position: "right",
              color: c.ink,
              formatter: () => text(partition.time, "s")
            }
          })),
          tooltip: {formatter: (p) => partitionTip(list[p.dataIndex])}
        }))
      }),
      head: ["#", ...KINDS, "time", "bound by", "SRAM", "kernels"],
      rows: all.map((partition) => [
        cell(partition.index),
        ...KINDS.map((kind) => cell(partition[kind], "s")),
        cell(partition.time, "s"),
        partition.bound_by,
        cell(partition.sram, "B"),
        {names: withCores(partition)}
      ])
    });
    if (all.length <= 12 && window.innerWidth >= 700)
      parent.lastElementChild.querySelector("details").open = true;
  }

  function withCores(partition) {
    return partition.kernels
      .map((kernel) => {
        const cores = partition.cores[kernel];
        return cores ? `${kernel} [${cores[0]}×${cores[1]}]` : kernel;
      })
      .join(", ");
  }

  function sram(parent, all, capacity) {
    const list = shown(all);
    const over = all.some((partition) => partition.sram > capacity);
    const most = Math.max(...list.map((partition) => partition.sram / capacity), 1);
    parent.append(
      note(
        `SRAM of a chip, ${text(capacity, "B")}, by partition.`,
        over ? " Above 100 %: a kernel alone whose weight is cut into pieces that take turns." : ""
      )
    );
    chart(parent, {
      name: "SRAM",
      height: 40 + list.length * 26,
      option: (c, width) => ({
        grid: {left: side(width), right: 60, top: 6, bottom: 26},
        xAxis: scale(c, width, "%", {max: most, interval: most > 1 ? undefined : 0.25}),
        yAxis: categories(c, list, width),
        series: [
          {
            name: "SRAM",
            type: "bar",
            barWidth: "62%",
            color: c.ninth,
            data: list.map((partition) => partition.sram / capacity),
            showBackground: true,
            backgroundStyle: {color: c.free},
            label: {
              show: true,
              position: "right",
              color: c.ink,
              formatter: (p) => text(p.value, "%")
            },
            tooltip: {
              formatter: ({dataIndex}) => {
                const {index, sram: used} = list[dataIndex];
                return tip(`partition ${index}`, `${text(used, "B")} of ${text(capacity, "B")}`);
              }
            }
          }
        ]
      }),
      head: ["#", "bytes", "share"],
      rows: all.map((partition) => [
        cell(partition.index),
        cell(partition.sram, "B"),
        cell(partition.sram / capacity, "%")
      ])
    });
  }

  // Rooflines.

  /// What one partition reaches, against the bytes of `kind` that it moves; x is null where it
  /// moves none.
  function points(all, kind) {
    return all
      .filter((partition) => partition.flop > 0 && partition.time > 0)
      .map((partition) => {
        const {flop, time, [kind + "_bytes"]: bytes} = partition;
        return {partition, x: bytes > 0 ? flop / bytes : null, y: flop / time};
      });
  }

  function powerOfTen(value, round) {
    return 10 ** round(Math.log10(value));
  }

  /// The label of each point.  Of points that all but cover each other the first has the numbers of
  /// all, up to four.  `at` gives the place of a point, from 0 to 1 across and upwards.
  function jointLabels(list, at) {
    const heads = [];
    for (const point of list) {
      const [x, y] = at(point);
      const near = heads.find((head) => Math.hypot(head.x - x, head.y - y) < 0.035);
      if (near) near.points.push(point);
      else heads.push({x, y, points: [point]});
    }
    return list.map((point) => {
      const own = heads.find((head) => head.points[0] === point);
      if (!own) return "";
      const names = own.points.map((each) => each.partition.index);
      return names.slice(0, 4).join(", ") + (names.length > 4 ? ", …" : "");
    });
  }

  function roofline(parent, all, machine, kind) {
    const mover = all.find((partition) => partition[kind + "_bytes"] > 0 && partition[kind] > 0);
    const list = points(all, kind);
    if (!list.length) return;
    const bandwidth = mover ? mover[kind + "_bytes"] / mover[kind] : null;
    const peak = machine.peak;
    const xs = list.filter((point) => point.x !== null).map((point) => point.x);
    if (bandwidth) xs.push(peak / bandwidth);
    const low = powerOfTen(Math.min(...xs, 1e3), Math.floor);
    const most = powerOfTen(Math.max(...xs, 1e3) * 1.01, Math.ceil);
    const bottom = powerOfTen(Math.min(...list.map((point) => point.y), peak), Math.floor);
    const roof = (x) => (bandwidth ? Math.min(peak, bandwidth * x) : peak);
    const corner = bandwidth ? [[peak / bandwidth, peak]] : [];
    const start = bandwidth ? Math.max(low, bottom / bandwidth) : low;
    const top = powerOfTen(peak * 1.3, Math.ceil);
    const labels = jointLabels(list, (point) => [
      (Math.log(point.x === null ? most : point.x) - Math.log(low)) / Math.log(most / low),
      (Math.log(point.y) - Math.log(bottom)) / Math.log(top / bottom)
    ]);
    chart(parent, {
      name: `${kind} roofline`,
      height: 320,
      option: (c, width) => ({
        grid: {left: 86, right: 24, top: 34, bottom: 46},
        legend: legend(c, {data: ["roof", kind]}),
        xAxis: axis(c, {
          type: "log",
          min: low,
          max: most,
          name: `FLOP for a byte ${kind === "memory" ? "of memory traffic" : "on the network"}`,
          nameGap: 28,
          axisLabel: {formatter: (v) => text(v)}
        }),
        yAxis: axis(c, {
          type: "log",
          min: bottom,
          max: top,
          name: "reached by a chip",
          nameGap: 68,
          axisLabel: {formatter: (v) => text(v, "FLOP/s")}
        }),
        series: [
          silentLine({
            name: "roof",
            color: c.soft,
            lineStyle: {width: 2},
            data: [[start, roof(start)], ...corner, [most, peak]]
          }),
          {
            name: kind,
            type: "scatter",
            color: c[kind],
            data: list.map((point) => ({
              value: [point.x === null ? most : point.x, point.y],
              name: String(point.partition.index),
              symbol: point.x === null ? "triangle" : "circle",
              symbolRotate: point.x === null ? -90 : 0,
              symbolSize: 11,
              itemStyle: {opacity: binding(point.partition) === kind ? 1 : 0.55},
              // At the right edge there is no room on both sides of a mark.
              label: {position: point.x === null ? "left" : "bottom"}
            })),
            label: {show: true, color: c.ink, opacity: 1, formatter: (p) => labels[p.dataIndex]},
            labelLayout: {hideOverlap: true, moveOverlap: "shiftY"},
            tooltip: {
              formatter: ({dataIndex}) => {
                const {partition, x, y} = list[dataIndex];
                return tip(
                  `partition ${partition.index}, bound by ${partition.bound_by}`,
                  `${text(y, "FLOP/s")}, ${text(y / peak, "%")} of the peak`,
                  x === null ? "moves no bytes there" : `${text(x)} FLOP for a byte`
                );
              }
            }
          }
        ]
      }),
      head: ["#", "FLOP", "bytes", "FLOP for a byte", "FLOP/s"],
      rows: list.map((point) => [
        cell(point.partition.index),
        cell(point.partition.flop, "FLOP"),
        cell(point.partition[kind + "_bytes"], "B"),
        cell(point.x),
        cell(point.y, "FLOP/s")
      ])
    });
  }

  function rooflines(all, machine) {
    if (!machine) return;
    const part = section(
      "Rooflines",
      note(
        "What a chip reaches in each partition, useful work only, under what its " +
          "peak and a bandwidth allow. Points are numbered as partitions; a triangle at the " +
          "right edge moves no bytes there."
      )
    );
    const skipped = all
      .filter((partition) => !(partition.flop > 0))
      .map((partition) => partition.index);
    if (skipped.length)
      part.append(note(`Without useful FLOP, and so not drawn: ${skipped.join(", ")}.`));
    const columns = element("div", {class: "columns"});
    part.append(columns);
    for (const kind of KINDS.slice(1)) roofline(columns, all, machine, kind);
  }

  // The search.

  /// `list` has [time, nodes, incumbent, lower bound], null where there is none yet.
  function history(parent, list, shownAs) {
    const values = list
      .flatMap((each) => each.slice(2))
      .filter((value) => value !== null && value > 0);
    const spread = Math.max(...values) / Math.min(...values);
    chart(parent, {
      name: "incumbent and bound",
      height: 270,
      option: (c, width) => ({
        legend: legend(c),
        grid: {left: 74, right: 20, top: 34, bottom: 44},
        xAxis: scale(c, width, "s", {min: 0, name: "time of the search", nameGap: 26}),
        yAxis: axis(c, {
          type: spread > 50 ? "log" : "value",
          scale: true,
          axisLabel: {formatter: (v) => shownAs(v, tickDigits(values))}
        }),
        tooltip: {
          trigger: "axis",
          formatter: (marks) =>
            tip(
              text(marks[0].value[0], "s"),
              ...marks.map((mark) => `${mark.seriesName} ${shownAs(mark.value[1])}`)
            )
        },
        series: [
          ["incumbent", 2, "memory"],
          [run.boundName, 3, "compute"]
        ].map(([name, column, colour]) => ({
          name,
          type: "line",
          step: "end",
          color: c[colour],
          symbolSize: list.length < 60 ? 6 : 0,
          lineStyle: {width: 2},
          data: list.filter((each) => each[column] !== null).map((each) => [each[0], each[column]])
        }))
      }),
      head: ["time", "nodes", "incumbent", run.boundName],
      rows: list.map((each) => [
        cell(each[0], "s"),
        cell(each[1]),
        {value: each[2], text: shownAs(each[2])},
        {value: each[3], text: shownAs(each[3])}
      ])
    });
  }

  return {history, partitions, rooflines, sram};
})();
