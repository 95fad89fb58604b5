// The charts of a mapping: its partitions, SRAM and rooflines; and the course of any search.
"use strict";

const runCharts = (() => {
  const {cell, chart, element, KINDS, NARROW, note, section, text} = page;
  const SHOWN = 60; // bars of more partitions could not be told apart

  /// The partitions that charts show: all, or the longest ones in order.
  function shown(partitions) {
    if (partitions.length <= SHOWN) return partitions;
    const longest = new Set([...partitions].sort((a, b) => b.time - a.time).slice(0, SHOWN));
    return partitions.filter((each) => longest.has(each));
  }

  /// The axis of partitions, one below the other.
  function places(list, width) {
    const name = ({index, kernels: [first, ...others]}) =>
      `${index}  ${first.length > 21 ? first.slice(0, 20) + "…" : first}` +
      (others.length ? ` +${others.length}` : "");
    const labels = list.map((each) => (width < NARROW ? String(each.index) : name(each)));
    return {labels, inverse: true, most: 210, axisLabel: {interval: 0}};
  }

  /// The bound of a partition; a level of the chip counts as compute.
  function binding(partition) {
    return KINDS.includes(partition.bound_by) ? partition.bound_by : "compute";
  }

  function partitionTip(partition) {
    return [
      `partition ${partition.index}, bound by ${partition.bound_by}: ${text(partition.time, "s")}`,
      ...KINDS.map((kind) => `${kind} ${text(partition[kind], "s")}`),
      partition.kernels.slice(0, 12).join(", ") +
        (partition.kernels.length > 12 ? ` and ${partition.kernels.length - 12} more` : "")
    ];
  }

  function withCores({kernels, cores}) {
    const of = (kernel) => (cores[kernel] ? ` [${cores[kernel].join("×")}]` : "");
    return kernels.map((kernel) => kernel + of(kernel)).join(", ");
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
      of: (width) => ({
        height: 60 + list.length * 50,
        x: {unit: "s"},
        y: places(list, width),
        grid: {right: width < NARROW ? 18 : 90},
        series: KINDS.map((kind) => ({
          name: kind,
          type: "bar",
          barGap: "8%",
          barCategoryGap: "26%",
          colour: kind,
          data: list.map((partition) => ({
            value: partition[kind],
            itemStyle: {opacity: binding(partition) === kind ? 1 : 0.38},
            label: {show: width >= NARROW && binding(partition) === kind}
          })),
          label: (p) => text(list[p.dataIndex].time, "s"),
          labelStyle: {position: "right"},
          tip: (p) => partitionTip(list[p.dataIndex])
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

  function sram(parent, all, capacity) {
    const list = shown(all);
    const most = Math.max(...list.map((partition) => partition.sram / capacity), 1);
    parent.append(
      note(
        `SRAM of a chip, ${text(capacity, "B")}, by partition.`,
        all.some((partition) => partition.sram > capacity)
          ? " Above 100 %: a kernel alone whose weight is cut into pieces that take turns."
          : ""
      )
    );
    chart(parent, {
      name: "SRAM",
      of: (width, c) => ({
        height: 40 + list.length * 26,
        x: {unit: "%", max: most, interval: most > 1 ? undefined : 0.25},
        y: places(list, width),
        grid: {right: 60},
        series: [
          {
            name: "SRAM",
            type: "bar",
            barWidth: "62%",
            colour: "ninth",
            data: list.map((partition) => partition.sram / capacity),
            showBackground: true,
            backgroundStyle: {color: c.free},
            label: (p) => text(p.value, "%"),
            labelStyle: {position: "right"},
            tip: ({dataIndex: i}) => [
              `partition ${list[i].index}`,
              `${text(list[i].sram, "B")} of ${text(capacity, "B")}`
            ]
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

  /// The label of each point.  If several points nearly coincide, the first one has the numbers of
  /// up to four of them, and the others have no label.  at(point) returns the position of a point,
  /// from 0 to 1 across and upwards.
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

  function rooflineOf(parent, all, {peak}, kind) {
    const bandwidth = bandwidthOf(all, kind);
    const list = all
      .filter(({flop, time}) => flop > 0 && time > 0)
      .map((partition) => {
        const {flop, time, [kind + "_bytes"]: bytes} = partition;
        return {partition, x: bytes > 0 ? flop / bytes : null, y: flop / time};
      });
    if (!list.length) return;
    const xs = list.filter((point) => point.x !== null).map((point) => point.x);
    const roofs = [{name: "roof", peak, bandwidth}];
    const under = roofline([...xs, 1e3], list.map((point) => point.y), roofs);
    const {low, most, bottom, top} = under;
    const along = (value, from, to) => Math.log(value / from) / Math.log(to / from);
    const labels = jointLabels(list, ({x, y}) => [along(x ?? most, low, most), along(y, bottom, top)]);
    chart(parent, {
      name: `${kind} roofline`,
      of: () => ({
        height: 320,
        x: {...under.x, name: `${under.x.name} ${kind === "memory" ? "of memory traffic" : "on the network"}`},
        y: under.y,
        series: [
          ...under.series,
          {
            name: kind,
            type: "scatter",
            colour: kind,
            data: list.map(({x, y, partition}) => ({
              value: [x ?? most, y],
              name: String(partition.index),
              symbol: x === null ? "triangle" : "circle",
              symbolRotate: x === null ? -90 : 0,
              symbolSize: 11,
              itemStyle: {opacity: binding(partition) === kind ? 1 : 0.55},
              // A mark at the right edge has room for a label on its left only.
              label: {position: x === null ? "left" : "bottom"}
            })),
            label: (p) => labels[p.dataIndex],
            labelStyle: {opacity: 1},
            labelLayout: {hideOverlap: true, moveOverlap: "shiftY"},
            tip: ({dataIndex}) => {
              const {partition, x, y} = list[dataIndex];
              return [
                `partition ${partition.index}, bound by ${partition.bound_by}`,
                `${text(y, "FLOP/s")}, ${text(y / peak, "%")} of the peak`,
                x === null ? "moves no bytes there" : `${text(x)} FLOP for a byte`
              ];
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
    const skipped = all.filter((each) => !(each.flop > 0)).map((each) => each.index);
    const columns = element("div", {class: "columns"});
    section(
      "Rooflines",
      note(
        "What a chip reaches in each partition, useful work only, under what its " +
          "peak and a bandwidth allow. Points are numbered as partitions; a triangle at the " +
          "right edge moves no bytes there."
      ),
      skipped.length ? note(`Without useful FLOP, and so not drawn: ${skipped.join(", ")}.`) : null,
      columns
    );
    for (const kind of KINDS.slice(1)) rooflineOf(columns, all, machine, kind);
  }

  /// `list` has [time, nodes, incumbent, bound], with null before the first value.
  function history(parent, list, unit, boundName) {
    const values = list
      .flatMap((each) => each.slice(2))
      .filter((value) => value !== null && value > 0);
    const series = [
      ["incumbent", 2, "memory"],
      [boundName, 3, "compute"]
    ];
    chart(parent, {
      name: "incumbent and bound",
      of: () => ({
        height: 270,
        x: {unit: "s", min: 0, name: "time of the search"},
        y: {isWide: Math.max(...values) > 50 * Math.min(...values), scale: true, unit, values},
        tooltip: {
          trigger: "axis",
          tip: (marks) => [
            text(marks[0].value[0], "s"),
            ...marks.map((mark) => `${mark.seriesName} ${text(mark.value[1], unit)}`)
          ]
        },
        series: series.map(([name, column, colour]) => ({
          name,
          type: "line",
          step: "end",
          colour,
          symbolSize: list.length < 60 ? 6 : 0,
          lineStyle: {width: 2},
          data: list.filter((each) => each[column] !== null).map((each) => [each[0], each[column]])
        }))
      }),
      head: ["time", "nodes", "incumbent", boundName],
      rows: list.map(([time, nodes, ...ends]) => [
        cell(time, "s"),
        cell(nodes),
        ...ends.map((end) => cell(end, unit))
      ])
    });
  }

  return {history, partitions, rooflines, sram};
})();
