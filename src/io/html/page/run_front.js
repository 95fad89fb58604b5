// The front of deployments: its stair, the region that no deployment reaches, measured deployments,
// and a table below.
"use strict";

function runFront({serving, limits, status, gap}, isProved) {
  const {note, section, text} = page;
  const {deploymentText, NAMES, rolesOf, UNITS} = blocks;
  const {front: list, measured} = serving;
  const isCost = serving.front_axis === "cost";
  const [x, y] = ["tokens_per_s_per_user", isCost ? "dollars_per_mtoken" : "tokens_per_s_per_chip"];
  if (!list.length) return;

  /// The group of deployments that have one colour.
  function groupOf(deployment) {
    const used = new Set(rolesOf(deployment).map((role) => role.pool));
    return `${deployment.mode}, ${[...used].join(" to ")}`;
  }

  const labels = list.map(({deployment}) => [groupOf(deployment), deploymentText(deployment)]);
  const other = isCost ? "tokens_per_s_per_chip" : "dollars_per_mtoken";
  const figures = [x, y, "ttft", "chips", other];
  const points = {
    every: list.map((_, i) => i),
    axes: [{name: "mode"}],
    words: [{name: "deployment", sort: (i) => labels[i][1], shown: (i) => labels[i][1]}],
    objective: [x, y],
    figures,
    index: (i) => i,
    place: (a, i) => labels[i][a],
    label: (a, i) => labels[i][a],
    name: (key) => NAMES[key] || key,
    value: (key, i) => list[i][key],
    unit: (key) => UNITS[key],
    text: (key, value) => text(value, UNITS[key])
  };
  const at = (i) => [points.value(x, i), points.value(y, i), i];
  const groups = [...new Set(labels.map(([group]) => group))];
  const limit = (key, value, name) => (value ? [{[key]: value, name}] : []);
  const lines = [
    ...limit("xAxis", limits.tpot && 1 / limits.tpot, `tpot ${text(limits.tpot, "s")}`),
    ...limit("yAxis", isCost && limits.cost, `cost ${text(limits.cost)} $`)
  ];
  const values = list.map((point) => point[y]).concat((isCost && limits.cost) || []);

  let chosen = null;
  const across = {
    scale: true,
    name: points.name(x),
    // The axis extends to the limit.
    min: limits.tpot ? ({min}) => Math.min(min, Math.floor(1 / limits.tpot)) : null
  };
  const upwards = {
    isWide: true,
    name: points.name(y),
    min: Math.min(...values) / 3,
    max: Math.max(...values) * 3,
    axisLabel: {showMinLabel: false, showMaxLabel: false}
  };
  const before = ({bad, ink}) => [
    {
      name: "stair",
      silent: true,
      step: "start", // between two points, the faster one is available
      data: list.map((_, i) => at(i)).sort((a, b) => a[0] - b[0]),
      colour: "soft",
      lineStyle: {width: 1.5},
      markLine: {
        silent: true,
        symbol: "none",
        lineStyle: {color: bad, type: "dashed"},
        label: {formatter: (p) => p.name, color: ink, position: "insideEndTop"},
        data: lines
      }
    },
    {
      name: "excluded", // the region that no deployment reaches
      silent: true,
      data: serving.excluded.filter(([, value]) => value),
      colour: "soft",
      lineStyle: {width: 0},
      areaStyle: {opacity: 0.25, origin: isCost ? "start" : "end"}
    },
    {
      type: "scatter",
      name: "measured",
      symbol: "diamond",
      symbolSize: 9,
      data: measured.map((point) => [point[x], point[y], point.name]),
      colour: "ink",
      cursor: "default",
      tip: ({value}) => [
        "measured",
        value[2],
        ...[x, y].map((key, i) => `${points.name(key)} ${text(value[i])}`)
      ]
    }
  ];

  const part = section(
    "Front",
    note(
      (status === "optimal" && isProved
        ? "Proved: no deployment that the config allows lies beyond the stair."
        : `Found so far: at no speed is anything more than ${text(gap, "%")} better.`) +
        " The shaded region is beyond any degrees, by memory and products alone." +
        " Each point is a deployment; a click finds its row below."
    )
  );
  const update = pointsChart(part, {
    name: "front",
    height: 420,
    of: (_, c) => ({
      x: across,
      y: upwards,
      before: before(c),
      chosen,
      groups: groups.map((name) => ({
        name,
        data: points.every.filter((i) => labels[i][0] === name).map(at)
      }))
    }),
    tip: (i) => [
      ...labels[i],
      ...figures.map((key) => `${points.name(key)} ${points.text(key, list[i][key])}`)
    ],
    size: 7,
    numbers: () => studyWords.numbersOf(points, points.every, figures),
    click: (p) => p.seriesName !== "measured" && show(p.value[2])
  });
  const rows = studyTable(points, show);
  function show(i) {
    chosen = i;
    rows.mark(i);
    update();
  }
}
