// What the result of a run is, and how its page speaks of it.
"use strict";

const run = (() => {
  const {count, data, element, text} = page;
  const result = data.result;
  const kind =
    result.plan !== undefined
      ? "plan"
      : result.execution !== undefined
        ? "execution"
        : result.pools !== undefined
          ? "deployment"
          : "mapping";
  // Where more is better no deployment is above it.
  const boundName = kind === "deployment" ? "bound" : "lower bound";

  // Values of deployments that differ by less are equally good; of a front twice as much.
  const TIES = 2.5e-9;

  function plain(name) {
    return name.replaceAll("_", " ");
  }

  function tag(name, colour) {
    return element("span", {class: "tag", style: `--dot: var(--${colour || name})`}, plain(name));
  }

  const OBJECTIVE_UNITS = {step_time: "s", cost_efficiency: "$ s", power_efficiency: "J"};
  // Of deployments; searches minimise, so of what should be much the result has the reciprocal.
  const MUCH = {
    throughput: "tokens/s",
    throughput_per_chip: "tokens/s of a chip",
    interactivity: "tokens/s of a user"
  };
  const LITTLE = {
    cost: (value, digits) => `${text(value, "", digits)} $ for a million tokens`,
    energy: (value, digits) => text(value, "J", digits) + " for a token",
    chips: (value) => count(value, "chip"),
    ttft: (value, digits) => text(value, "s", digits),
    e2e: (value, digits) => text(value, "s", digits)
  };

  function objective(value, digits) {
    if (kind === "deployment" && value !== null) {
      const asked = result.objective_name;
      const name = asked === "front" ? result.serving.front_axis : asked;
      const all = {cost: "$/h", energy: "W", chips: "chips"};
      if (result.serving.fleet.length) return `${text(value, "", digits)} ${all[name]}`;
      if (MUCH[name]) return `${text(1 / value, "", digits)} ${MUCH[name]}`;
      if (LITTLE[name]) return LITTLE[name](value, digits);
    }
    const unit = OBJECTIVE_UNITS[result.objective_name];
    return unit === "$ s" ? text(value, "", digits) + " $ s" : text(value, unit, digits);
  }

  const STOPS = {time: "the time limit", nodes: "the limit of nodes", signal: "a signal"};

  // What a proof does not cover, in brackets; nothing where it covers all.
  function scope() {
    const fixed = result.scope || [];
    return fixed.length ? ` (fixed beforehand: ${fixed.join(", ")})` : "";
  }

  function verdict() {
    const stopped = result.stopped_by
      ? `stopped by ${STOPS[result.stopped_by] || result.stopped_by}`
      : "";
    switch (result.status) {
      case "optimal":
        if (!(result.gap > (kind === "deployment" ? TIES : 0))) {
          const gap = result.gap ? text(result.gap, "%") : "0";
          return ["good", `optimal, proved${scope()}: gap ${gap}`];
        }
        return ["good", `within the gap asked for: ${text(result.gap, "%")}`];
      case "feasible":
        if (!result.search) return ["good", `the ${kind} fits`];
        return ["warn", `${stopped}: gap ${text(result.gap, "%")}`];
      case "infeasible":
        if (result.ruled_out) return ["bad", `the ${kind} is ruled out`];
        if (!result.search) return ["bad", `the ${kind} does not fit`];
        return ["bad", `infeasible, proved${scope()}: no ${kind} fits`];
    }
    return ["warn", `${stopped} before any ${kind} was found`];
  }

  function proof() {
    const search = result.search;
    if (result.ruled_out) return `The config rules it out: ${result.ruled_out.join("; ")}.`;
    if (!search) return `This ${kind} was given, and evaluated; nothing was searched.`;
    const effort =
      `${count(search.nodes, "node")} in ${text(search.time, "s")} on ` +
      count(search.threads, "thread");
    if (result.status === "infeasible") {
      return `All that could be chosen${scope()} was ruled out: ${effort}.`;
    }
    const bound = result.lower_bound !== null ? objective(result.lower_bound) : null;
    if (result.status === "optimal" && !result.gap) {
      return (
        `No other ${kind} that the config allows${scope()} is better under the model` +
        (bound ? `: the ${boundName} on all of them meets the answer at ${bound}` : "") +
        `. The search took ${effort}.`
      );
    }
    return (
      (bound
        ? `No ${kind} is better than ${bound}; how far the best one is below the answer, if at all, ` +
          "is not known. "
        : "") + `The search took ${effort}.`
    );
  }

  function parallelismText(degrees) {
    return (
      Object.entries(degrees || {})
        .map(([name, degree]) => `${name} ${degree}`)
        .join(", ") || null
    );
  }

  /// What the framework that was asked for costs.
  function frameworkText() {
    if (!result.framework) return null;
    const {name, gain} = result.framework;
    const better = gain === null ? "reaches what this one does not" : `is ${text(gain, "%")} better`;
    return `${name}; the best of any ${better}`;
  }

  return {boundName, frameworkText, kind, objective, parallelismText, plain, proof, result, tag, verdict};
})();
