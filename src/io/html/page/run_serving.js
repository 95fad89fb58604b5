// A deployment that serves: its figures, where an iteration goes, what the other mode could do, the
// front, and what would mend a question that nothing answers.
"use strict";

const runServing = (() => {
  const {cell, chart, count, element, facts, headline, known, note, PALETTE, plane} = page;
  const {section, silentLine, table, text, tip} = page;
  const {frameworkText, plain, objective, proof, result, verdict} = run;
  const {limits, pools, serving, workload} = result;
  const UNITS = {ttft: "s", tpot: "s", e2e: "s", memory: "B", power: "W"};
  const FIGURES = {
    tokens_per_s_per_user: "tokens/s of a user",
    tokens_per_s_per_chip: "tokens/s of a chip",
    dollars_per_mtoken: "$ for a million tokens",
    ttft: "first token",
    chips: "chips"
  };

  function degrees(role) {
    const spread = ["pipeline", "attention_data", "expert"];
    return Object.entries(role)
      .filter(([key, value]) => !["replicas", "precision"].includes(key) && value > (spread.includes(key) ? 1 : 0))
      .map(([key, value]) => `${plain(key)} ${value}`)
      .join(", ");
  }

  function rolesOf(deployment) {
    return deployment.prefill ? [deployment.prefill, deployment.decode] : [deployment];
  }

  /// What a colour stands for.
  function groupOf(deployment) {
    const used = new Set(rolesOf(deployment).map((role) => role.pool));
    return `${deployment.mode}, ${[...used].join(" to ")}`;
  }

  function deploymentText(deployment) {
    const does = deployment.prefill ? [" prefill", " decode"] : [""];
    const numbers = Object.entries(deployment.precision || {})
      .map(([key, number]) => `; ${key} ${number}`)
      .join("");
    return (
      rolesOf(deployment)
        .map((role, i) => `${role.replicas}${does[i]} × (${degrees(role)})`)
        .join(" + ") + numbers
    );
  }

  function chipsText(deployment) {
    const chips = (role) => role.replicas * role.tensor * role.pipeline * role.attention_data;
    return rolesOf(deployment)
      .map((role) => `${count(chips(role), "chip")} ${role.pool}`)
      .join(" + ");
  }

  function figureRow(name, deployment, figures) {
    return [
      name,
      ...Object.keys(FIGURES).map((key) => cell(figures[key], UNITS[key])),
      deployment ? deploymentText(deployment) : "–"
    ];
  }

  function figureTable(of, rows, name) {
    return table([of, ...Object.values(FIGURES), "deployment"], rows, {"data-of": name});
  }

  function memoryText(bytes, role) {
    const {usable} = pools.find((pool) => pool.name === role.pool);
    return `${text(bytes, "B")} of ${text(usable, "B")} (${text(bytes / usable, "%")})`;
  }

  function within(name, value) {
    const limit = limits[name] ? ` of ${text(limits[name], UNITS[name])}` : "";
    return text(value, UNITS[name]) + limit;
  }

  function figureFacts() {
    const {best, figures} = serving;
    const [first, last] = [rolesOf(best)[0], rolesOf(best).at(-1)];
    const rate = (value) => (value ? `${text(value)} requests/s` : null);
    return facts({
      mode: best.mode,
      deployment: deploymentText(best),
      on: chipsText(best),
      "first token": within("ttft", figures.ttft),
      "each token after it": within("tpot", figures.tpot),
      "a request": within("e2e", figures.e2e),
      "for a user": `${text(figures.tokens_per_s_per_user)} tokens/s`,
      "of a chip": `${text(figures.tokens_per_s_per_chip)} tokens/s`,
      "of all chips": `${text(figures.tokens_per_s)} tokens/s`,
      served: rate(figures.requests_per_s),
      "in flight": `${text(figures.in_flight)} requests`,
      "prefill could serve": rate(figures.prefill_capacity),
      "decode could serve": rate(figures.decode_capacity),
      "transfers of caches could": rate(figures.transfer_capacity),
      "iterations with prefill": known(figures.mixed_share, "%"),
      "tokens of a step": figures.tokens_per_step > 1 ? text(figures.tokens_per_step) : null,
      memory: memoryText(figures.memory, last),
      "memory of prefill": best.prefill ? memoryText(figures.memory_prefill, first) : null,
      "a million tokens out": known(figures.dollars_per_mtoken, "$"),
      "of all tokens": known(figures.dollars_per_mtoken_total, "$"),
      "a token": known(figures.joule_per_token, "J")
    });
  }

  function answer() {
    const shown = result.objective !== null ? objective(result.objective) : null;
    const broken = ((serving.figures || {}).infeasible || []).map(plain).join(", ");
    section(
      null,
      headline("value", serving.value, shown, null, verdict()),
      broken ? element("p", {id: "reason"}, `It breaks ${broken}.`) : null,
      note(proof()),
      result.framework ? facts({framework: frameworkText()}) : null,
      serving.figures ? figureFacts() : null
    );
  }

  function remedies() {
    if (!result.infeasible) return;
    const list = result.infeasible.remedies;
    section(
      "What would help",
      note(
        list.length
          ? "Each of these alone would be enough, and no smaller change of it is."
          : "No change of a single limit that was tried."
      ),
      list.length
        ? table(
            ["limit", "from", "to", "then fits"],
            list.map(({limit, of, given, enough, deployment}) => [
              plain(of ? `${limit} of ${of}` : limit),
              cell(given, UNITS[limit]),
              cell(enough, UNITS[limit]),
              deployment
                ? `${deployment.mode}: ${deploymentText(deployment)} on ${chipsText(deployment)}`
                : "a fleet"
            ]),
            {"data-of": "remedies"}
          )
        : null
    );
  }

  function asked() {
    // Those of a fleet are in its table.
    const {requests = [], rate, concurrency} = workload;
    const shares = requests.reduce((sum, each) => sum + each.share, 0);
    const request = ({input, output, prefix, share}) =>
      `${text(input)} tokens in${prefix ? ` (${text(prefix)} cached)` : ""}, ${text(output)} out` +
      (requests.length > 1 ? `: ${text(share / shares, "%")}` : "");
    section(
      "Requests and chips",
      facts({
        requests: requests.map(request).join("; ") || null,
        rate: rate ? `${text(rate)} requests/s` : null,
        "at once": concurrency ? `at most ${text(concurrency)}` : null,
        ...Object.fromEntries(
          Object.entries(limits)
            .filter(([, limit]) => limit !== null)
            .map(([name, limit]) => [`limit of ${name}`, text(limit, UNITS[name] || "$")])
        )
      }),
      table(
        ["pool", "chips", "peak", "memory", "bandwidth", "price", "power"],
        pools.map((pool) => [
          pool.name,
          cell(pool.chips),
          cell(pool.peak, "FLOP/s"),
          cell(pool.memory.capacity, "B"),
          cell(pool.memory.bandwidth, "B/s"),
          cell(pool.price, "$/h"),
          cell(pool.power, "W")
        ]),
        {"data-of": "pools"}
      )
    );
  }

  const COLOURS = {
    weights: "memory",
    cache: "sixth",
    products: "compute",
    network: "network",
    host: "bubble"
  };

  function breakdown() {
    if (!serving.breakdown) return;
    const part = section("Where an iteration goes", note("Of the slowest stage."));
    for (const [name, times] of Object.entries(serving.breakdown)) {
      part.append(note(name === "iteration" ? "Decoding alone:" : "With a chunk of prefill:"));
      const parts = Object.entries(times).map(([key, value]) => ({
        name: key,
        value,
        colour: COLOURS[key]
      }));
      runParts.stacked(part, plain(name), "s", parts.filter((each) => each.value > 0));
    }
  }

  function fleet() {
    if (!serving.fleet.length) return;
    const part = ({model, rate, count: times, deployment, capacity, ttft, tpot, chips}) => [
      model,
      cell(rate),
      cell(times),
      cell(capacity),
      cell(ttft, "s"),
      cell(tpot, "s"),
      cell(chips),
      `${deploymentText(deployment)} on ${chipsText(deployment)}`
    ];
    section(
      "Fleet",
      table(
        ["model", "requests/s", "times", "serves", "first token", "each after it", "chips", "of one"],
        serving.fleet.map(part),
        {"data-of": "fleet"}
      )
    );
  }

  function others() {
    const modes = Object.entries(serving.best_of_mode);
    if (modes.length > 1) {
      section(
        "Each mode at its best",
        figureTable("mode", modes.map(([mode, best]) => figureRow(mode, best.deployment, best)),
          "modes")
      );
    }
    if (result.top.length > 1) {
      section(
        "The best structures",
        note("Each with its own best batch, best first."),
        figureTable("#",
          result.top.map(({best, figures}, i) => figureRow(`${i + 1}`, best, figures || {})), "top")
      );
    }
    const gains = (serving.gains || []).filter((gain) => gain.value !== null);
    if (!gains.length) return;
    section(
      "What a tenth more brings",
      table(
        ["more", "of", plain(serving.objective), "change", "deployment"],
        gains.map((gain) => [
          gain.more,
          gain.pool,
          cell(gain.value),
          cell(gain.value / serving.value - 1, "%"),
          deploymentText(gain.deployment)
        ]),
        {"data-of": "gains"}
      )
    );
  }

  // The front.

  function frontOption(points, groups, chosen) {
    const [x, y] = points.objective;
    const at = (i) => [points.value(x, i), points.value(y, i), i];
    const isCost = y === "dollars_per_mtoken";
    const lines = [
      limits.tpot ? {xAxis: 1 / limits.tpot, name: `tpot ${text(limits.tpot, "s")}`} : null,
      isCost && limits.cost ? {yAxis: limits.cost, name: `cost ${text(limits.cost)} $`} : null
    ].filter((line) => line);
    const {every} = points;
    const shown = serving.measured.length ? [...groups, "measured"] : groups;
    const values = every.map((i) => points.value(y, i)).concat((isCost && limits.cost) || []);
    const across = {
      type: "value",
      scale: true,
      name: points.name(x),
      // A limit stays in sight.
      min: limits.tpot ? ({min}) => Math.min(min, Math.floor(1 / limits.tpot)) : null
    };
    const upwards = {
      type: "log",
      name: points.name(y),
      min: Math.min(...values) / 3,
      max: Math.max(...values) * 3,
      axisLabel: {showMinLabel: false, showMaxLabel: false}
    };
    return (c, width) => ({
      ...plane(c, width, shown, across, upwards),
      series: [
        silentLine({
          name: "stair",
          // Between two points the faster one is to be had.
          step: "start",
          data: every.map(at).sort((a, b) => a[0] - b[0]),
          color: c.soft,
          lineStyle: {width: 1.5},
          markLine: {
            silent: true,
            symbol: "none",
            lineStyle: {color: c.bad, type: "dashed"},
            label: {formatter: (p) => p.name, color: c.ink, position: "insideEndTop"},
            data: lines
          }
        }),
        silentLine({
          name: "excluded", // what no deployment reaches
          data: serving.excluded.filter(([, value]) => value),
          color: c.soft,
          lineStyle: {width: 0},
          areaStyle: {opacity: 0.25, origin: isCost ? "start" : "end"}
        }),
        {
          type: "scatter",
          name: "measured",
          symbol: "diamond",
          symbolSize: 9,
          data: serving.measured.map((point) => [point[x], point[y], point.name]),
          color: c.ink,
          cursor: "default",
          tooltip: {
            formatter: ({value}) =>
              tip("measured", value[2], ...[x, y].map((key, i) => `${points.name(key)} ${text(value[i])}`))
          }
        },
        ...groups.map((name, k) => ({
          type: "scatter",
          name,
          data: every.filter((i) => points.label(0, i) === name).map(at),
          color: c[PALETTE[k % PALETTE.length]],
          symbolSize: (value) => (value[2] === chosen ? 15 : 7),
          itemStyle: {borderColor: c.card, borderWidth: 0.5},
          tooltip: {
            formatter: ({value: [, , i]}) =>
              tip(
                points.label(0, i),
                points.label(1, i),
                chipsText(serving.front[i].deployment),
                ...points.figures.map((key) => `${points.name(key)} ${points.shown(key, i)}`)
              )
          }
        }))
      ]
    });
  }

  function front() {
    const list = serving.front;
    if (!list.length) return;
    const labels = list.map(({deployment}) => [groupOf(deployment), deploymentText(deployment)]);
    const isCost = serving.front_axis === "cost";
    const points = {
      every: list.map((_, i) => i),
      axes: [{name: "mode"}],
      words: [{name: "deployment", sort: (i) => labels[i][1], shown: (i) => labels[i][1]}],
      objective: ["tokens_per_s_per_user", isCost ? "dollars_per_mtoken" : "tokens_per_s_per_chip"],
      figures: Object.keys(FIGURES),
      index: (i) => i,
      place: (a, i) => labels[i][a],
      label: (a, i) => labels[i][a],
      name: (key) => FIGURES[key],
      value: (key, i) => list[i][key],
      unit: (key) => UNITS[key],
      text: (key, value) => text(value, UNITS[key]),
      shown: (key, i) => text(list[i][key], UNITS[key])
    };
    const groups = [...new Set(labels.map(([group]) => group))];
    const part = section(
      "Front",
      note(
        (result.status === "optimal" && !result.gap
          ? "Proved: no deployment that the config allows lies beyond the stair."
          : `Found so far: at no speed is anything more than ${text(result.gap, "%")} better.`) +
          " The shaded region is beyond any degrees, by memory and products alone." +
          " Each point is a deployment; a click finds its row below."
      )
    );
    const drawn = chart(part, {
      name: "front",
      height: 420,
      option: frontOption(points, groups, null),
      numbers: () => studyWords.numbersOf(points, points.every, points.figures),
      canvas: true,
      click: (p) => p.seriesName !== "measured" && show(p.value[2])
    });
    const rows = studyTable(points, show);
    function show(i) {
      rows.mark(i);
      drawn.update({option: frontOption(points, groups, i)});
    }
  }

  function show() {
    answer();
    remedies();
    asked();
    breakdown();
    fleet();
    front();
    others();
  }

  return {show};
})();
