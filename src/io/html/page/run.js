// The page of a run: of a mapping, of a plan of training steps, of an execution of Calculon's
// model, or of a deployment that serves.  The lines of facts come from the report, the numbers and
// charts from the keys of the result (docs/results.md).  Sections answer in order: what is the
// answer, is it proved, where does the time go, which memory is full, how was it found, how is it
// repeated.
"use strict";

(() => {
  const {count, data, element, folded, headline, known, note, section, text} = page;
  const {factsOf, lines, parallelismText, parts, plain, tableOf, UNITS} = blocks;
  const {result} = data;
  const {machine, serving, search} = result;
  const facts = data.facts || [];
  const kinds = {plan: "plan", execution: "execution", pools: "deployment"};
  const kind = kinds[Object.keys(kinds).find((key) => result[key] !== undefined)] || "mapping";
  const isServed = kind === "deployment";
  const partitions = kind === "mapping" && result.step_time !== null ? result.partitions : null;

  // Searches minimise, so the objective is the reciprocal of a figure that is to be maximised.
  const SERVED = {
    throughput: ["tokens/s"],
    throughput_per_chip: ["tokens/s of a chip"],
    interactivity: ["tokens/s of a user"],
    cost: ["$ for a million tokens"],
    energy: ["J for a token"],
    chips: ["chips"],
    ttft: ["", "s"],
    e2e: ["", "s"]
  };
  const FLEETS = {cost: "$/h", energy: "W", chips: "chips"};
  const GREAT = ["throughput", "throughput_per_chip", "interactivity"];
  const unit = {step_time: "s", power_efficiency: "J", ttft: "s", e2e: "s"}[result.objective_name];
  const isGreat = GREAT.includes(result.objective_name);
  const amount = (score) => (score > 0 ? (isGreat ? 1 / score : score) : null);

  // Greatest gap due to ties of deployments: kMostOfTies in io/report/report_parts.hpp.
  const TIES = isServed ? 2.5e-9 : 0;

  function verdict() {
    const fixed = result.scope.length ? ` (fixed beforehand: ${result.scope.join(", ")})` : "";
    const stops = {time: "the time limit", nodes: "the limit of nodes", signal: "a signal"};
    const stopped = `stopped by ${stops[result.stopped_by]}`;
    if (result.ruled_out) return ["bad", `the ${kind} is ruled out`];
    if (!search) {
      return result.status === "feasible"
        ? ["good", `the ${kind} fits`]
        : ["bad", `the ${kind} does not fit`];
    }
    switch (result.status) {
      case "optimal":
        return [
          "good",
          result.gap > TIES
            ? `within the gap that was allowed: ${text(result.gap, "%")}`
            : `optimal, proved${fixed}: gap ${result.gap > 1e-12 ? text(result.gap, "%") : "0"}`
        ];
      case "feasible":
        return ["warn", `${stopped}: gap ${text(result.gap, "%")}`];
      case "infeasible":
        return ["bad", `infeasible, proved${fixed}: no ${kind} fits`];
    }
    return ["warn", `${stopped} before any ${kind} was found`];
  }

  /// The reason why no answer fits, or why the given one does not fit or is ruled out.
  function reason() {
    const broken = ((serving && serving.figures) || {}).infeasible || [];
    if (broken.length) return `It breaks ${broken.map(plain).join(", ")}.`;
    const why = result.infeasible;
    if (!why || (!why.text && !why.limit)) return result.ruled_out && result.ruled_out.join("; ");
    const bytes = why.limit && why.limit.includes("memory") ? "B" : "";
    const where = why.stage !== undefined ? ` on stage ${why.stage}` : "";
    return (
      why.text ||
      `${plain(why.limit)}: ${text(why.needed, bytes)} are needed${where}, ` +
        `${text(why.available, bytes)} are there.`
    );
  }

  function answer() {
    const [noun, own] = isServed ? SERVED[result.objective_name] || [] : ["for a step", "s"];
    const value = isServed ? serving.value : result.step_time;
    const hidden = ["graph", "sharding", "work", "top", "search", "time", "time_shares", "front"];
    const why = reason();
    section(
      null,
      headline(
        isServed ? "value" : "step-time",
        value,
        known(value, own),
        value ? (isServed && serving.fleet.length ? FLEETS[result.objective_name] : noun) : null,
        verdict()
      ),
      why ? element("p", {id: "reason"}, why) : null,
      note(
        search
          ? `The search took ${count(search.nodes, "node")} in ${text(search.time, "s")} on ` +
              `${count(search.threads, "thread")}.`
          : `This ${kind} was given, and evaluated; nothing was searched.`
      ),
      facts.length
        ? facts.map(lines)
        : [factsOf(result, hidden), factsOf((serving || {}).figures), factsOf(result.limits)]
    );
  }

  // Tables by title: a name, a list of objects, and options of tableOf().

  function tables() {
    const ranked = (each, i) => ({"#": `${i + 1}`, ...each});
    const figures = ["tokens_per_s_per_user", "tokens_per_s_per_chip", "dollars_per_mtoken", "ttft", "chips"];
    const {best_of_mode: modes = {}, gains = [], fleet} = (isServed && serving) || {};
    const {changes, remedies} = result.infeasible || {};
    const bytes = ({limit, raise, kind: of, key}, column) => {
      const what = limit || raise || of || key || "";
      return column === "dimension" ? "" : UNITS[what] ?? (what.includes("memory") ? "B" : undefined);
    };
    const ranks = isServed
      ? {columns: ["#", ...figures.map((key) => "figures." + key), "best"]}
      : {
          columns: ["#", "parallelism", "step_time", "longer_by", "utilization", "lower_bound", "status"],
          unit: (_, key) => ({lower_bound: unit, longer_by: "%"})[key],
          id: "top"
        };
    const served = gains.filter((gain) => gain.value !== null);
    const pool = ["name", "chips", "peak", "memory.capacity", "memory.bandwidth", "price", "power"];
    const both = Object.entries(modes).map(([mode, best]) => ({mode, ...best}));
    const top = (result.top || [])
      .filter((each) => !isServed || each.best)
      .map((each) => ({...each, longer_by: each.step_time ? each.step_time / result.step_time - 1 : null}))
      .map(ranked);
    const wanted = {
      "Each of these changes would be enough": ["changes", changes, {unit: bytes}],
      "Each of these, left open or changed, would be enough": ["remedies", remedies, {unit: bytes}],
      [isServed ? "The best structures" : "The best parallelisms"]: ["top", top.length > 1 ? top : [], ranks],
      "Each mode at its best": [
        "modes",
        both.length > 1 ? both : [],
        {columns: ["mode", ...figures, "deployment"]}
      ],
      Fleet: ["fleet", fleet],
      "What a tenth more brings": [
        "gains",
        served.map((gain) => ({...gain, change: gain.value / serving.value - 1})),
        {columns: ["more", "pool", "value", "change", "deployment"]}
      ],
      "The best splits of the budgets": ["splits", (result.best_splits || []).map(ranked)],
      "What a little more of each budget brings": ["gains", result.gains],
      Pools: [
        "pools",
        result.pools,
        {columns: pool, unit: (_, key) => (key === "price" ? "$/h" : undefined)}
      ],
      Requests: ["requests", isServed && result.workload.requests],
      Network: ["network", machine && machine.network.map(dimension), {id: "network"}]
    };
    for (const [title, [name, list, more]] of Object.entries(wanted)) {
      if (list && list.length) section(title, tableOf(name, list, more));
    }
  }

  /// Sections on the machine and workload, and on a chip that is derived from budgets.
  function asked() {
    const {network, ...chips} = machine || {};
    const {requests, models, ...workload} = result.workload;
    const {parameters} = result.model || {};
    const {core, memory, power_used: power} = result.chip || {};
    section("Machine and workload", factsOf({...chips, ...workload, ...result.limits, parameters}));
    if (core) section("The chip", factsOf({...core, memory, power_used: power}));
  }

  /// A dimension of the network and the roles that it serves.
  function dimension(given, d) {
    const {strategy, degree, ...roles} = (result.network || [])[d] || {};
    const networks = (result.execution || {}).networks || [];
    ["tensor", "pipeline", "data"].forEach((role, i) => {
      if (networks[i] === d && result.execution[role] > 1) roles[role] = result.execution[role];
    });
    const serves = strategy ? `${strategy} ${degree}` : parallelismText(roles);
    const {topology, ...others} = given;
    return {dimension: `${d}`, topology, ...others, degree: given.degree ?? degree, serves};
  }

  // Parts of the time and of memory.

  function times() {
    const title = "What the step time is spent on";
    const {time, time_shares: shares, step_time: step} = result;
    const of = Object.entries(shares || {}).map(([name, share]) => [name, share * step]);
    const waits =
      "Each partition's time is charged to what it waits for; bubble is waiting while the " +
      "pipeline fills and drains, transfer what stages hand each other.";
    const sums = "Together they are the step time" + (kind === "plan" ? ", on the slowest stage." : ".");
    if (shares) parts(section(title, note(waits)), "time shares", "s", Object.fromEntries(of));
    if (time) parts(section(title, note(sums)), "time of the step", "s", time);
    const breakdown = Object.entries((serving && serving.breakdown) || {});
    const iteration = breakdown.length
      ? section("Where an iteration goes", note("Of the slowest stage, without and with prefill."))
      : null;
    for (const [name, of] of breakdown) parts(iteration, plain(name), "s", of);
  }

  /// Memory by use; if nothing fits, the memory of the nearest answer.
  function capacities() {
    const memory = result.memory || (result.infeasible || {}).memory;
    if (!memory) return;
    const {total, second, stage, capacity, ...uses} = (result.memory_parts || {}).first || memory;
    const room = memory.capacity ?? (machine && machine.memory.capacity);
    const of = Object.fromEntries(Object.entries(uses).filter(([, use]) => typeof use === "number"));
    const sum = Object.values(of).reduce((all, use) => all + use, 0);
    if (!sum) return;
    const part = section("What is full");
    if (partitions && machine && machine.sram) runCharts.sram(part, partitions, machine.sram);
    part.append(
      note(
        `Memory of a chip${stage !== undefined ? `, of stage ${stage}, the fullest` : ""}: ` +
          text(sum, "B") +
          (room ? ` of ${text(room, "B")} (${text(sum / room, "%")})` : "") +
          (memory.second ? `; ${text(memory.second, "B")} in the second memory.` : ".")
      )
    );
    parts(part, "memory of a chip", "B", of, room);
  }

  function found() {
    if (!search) return;
    const part = section("How it was found");
    const boundName = isServed ? "bound" : "lower bound";
    if (result.objective !== null && (data.history || []).some((point) => point[2] !== null)) {
      const end = [search.time, search.nodes, result.objective, result.lower_bound];
      const list = [...data.history, end].map(([time, nodes, best, bound]) => [
        time, nodes, amount(best), amount(bound)
      ]);
      runCharts.history(part, list, unit, boundName);
    } else {
      part.append(
        note(
          result.objective === null
            ? "There is no one value that an incumbent and a bound would meet at."
            : "How incumbent and bound met is not part of the results; --html of the run itself draws it."
        )
      );
    }
    // Renames `measured`, a count here, since UNITS has it as the time of a measured run.
    const {measured, space, ...effort} = search;
    const powers = Object.entries(space || {}).map(([key, value]) => [key, value && `10^${value.toPrecision(4)}`]);
    part.append(
      factsOf({...effort, memories_measured: measured, space: Object.fromEntries(powers)}, ["parts"])
    );
  }

  function picture() {
    if (kind !== "mapping" || !result.graph) return;
    const part = section("The graph of a layer");
    if (!data.graph) {
      part.append(
        note(
          data.graph_missing || "There is no picture of the graph.",
          partitions ? " The kernels of each partition are in the table above." : ""
        )
      );
      return;
    }
    const frame = element(
      "div",
      {class: "picture", tabindex: "0"},
      element("img", {
        id: "graph",
        alt:
          `${result.graph.kernels.length} kernels` +
          (partitions ? ` in ${partitions.length} partitions` : ""),
        src: "data:image/svg+xml;charset=utf-8," + encodeURIComponent(data.graph)
      })
    );
    const turn = () => frame.classList.toggle("whole");
    frame.addEventListener("click", turn);
    frame.addEventListener("keydown", (event) => event.key === "Enter" && turn());
    part.append(
      note(
        `Kernels${partitions ? " in their partitions" : ""}, and tensors with the bytes of one ` +
          "sample; backward kernels are grey. A click or Enter shows it in its own size."
      ),
      frame
    );
  }

  function repeat() {
    const part = section("How to repeat it");
    part.append(
      data.command
        ? element("pre", {class: "command", id: "command"}, data.command)
        : note("The page was made of the results alone, which do not say how they were asked for.")
    );
    if (data.config) {
      part.append(
        note("The config", data.title ? ` ${data.title}` : "", ":"),
        element("pre", {id: "config"}, data.config)
      );
    }
    const title = "The config for any folder, with the changes of the command";
    if (data.whole) part.append(folded(title, element("pre", {id: "whole"}, data.whole)));
    const json = JSON.stringify(result, null, 1);
    part.append(folded("The result as JSON", element("pre", {id: "result"}, json)));
  }

  page.header(
    `${plain(kind)} · ${result.workload ? plain(result.workload.kind) : ""}`,
    data.title || "Result"
  );
  answer();
  if (partitions) runCharts.partitions(section("Partitions"), partitions);
  times();
  capacities();
  if (partitions && machine) runCharts.rooflines(partitions, machine);
  if (isServed) runFront(result, !(result.gap > TIES));
  tables();
  asked();
  picture();
  found();
  repeat();
  page.footer();
})();
