// The page of a run: of a mapping, of a plan of training steps, of an execution of Calculon's
// model, or of a deployment that serves.  Which it is, its keys tell (docs/results.md).  Sections
// are in the order of questions: what is the answer and is it proved, on what machine, where does
// the time go, what is full, how was it found, how is it repeated.
"use strict";

(() => {
  const {cell, count, data, element, facts, folded, headline, known, note, section} = page;
  const {table, text} = page;
  const {frameworkText, kind, objective, parallelismText, plain, proof, result, verdict} = run;
  const machine = result.machine;
  const partitions = kind === "mapping" && result.step_time !== null ? result.partitions : null;

  function answer() {
    const serving = result.serving || {};
    section(
      null,
      headline(
        "step-time",
        result.step_time,
        known(result.step_time, "s"),
        result.step_time ? "for a step" : null,
        verdict()
      ),
      note(proof()),
      facts({
        "lower bound": result.lower_bound !== null ? objective(result.lower_bound) : null,
        objective:
          result.objective_name !== "step_time" && result.objective !== null
            ? `${plain(result.objective_name)}: ${objective(result.objective)}`
            : null,
        "share of the peak": known(result.utilization, "%"),
        "most of the time": result.bound_by || null,
        parallelism: parallelismText(result.parallelism),
        "tokens a second": known(result.tokens_per_second || serving.tokens_per_second),
        "time to first token": known(serving.time_to_first_token, "s"),
        "time for an output token": known(serving.time_per_output_token, "s"),
        price: known(result.price, "$"),
        power: known(result.power, "W"),
        "for a dollar": known(result.cost_efficiency, "FLOP/s"),
        "for a watt": known(result.power_efficiency, "FLOP/s"),
        tile:
          result.tile && (result.workload || {}).sequence > 1
            ? `${result.tile} of ${result.workload.sequence}`
            : null,
        framework: frameworkText(),
        "micro-batch": result.micro_batch || (result.execution || {}).micro_batch || null,
        "micro-batches": result.micro_batches || null,
        "layers of a stage": result.layers_per_stage || null,
        "bubble factor": result.bubble_factor > 1 ? text(result.bubble_factor) : null
      })
    );
  }

  // Why nothing fits.

  const RESOURCES = {
    sram: ["SRAM", "B"],
    memory: ["memory", "B"],
    "second memory": ["second memory", "B"]
  };

  function infeasible() {
    const why = result.infeasible;
    if (!why) return;
    const [name, unit] = RESOURCES[why.resource || why.limit] || [why.resource || why.limit, ""];
    const where = why.stage !== undefined ? ` on stage ${why.stage}` : "";
    const part = section(
      "Why nothing fits",
      element(
        "p",
        {id: "reason"},
        why.text ||
          `${plain(name)}: ${text(why.needed, unit)} are needed${where}, ${text(why.available, unit)} are there.`
      )
    );
    if (why.changes && why.changes.length) {
      part.append(
        note("Each of these alone would be enough, with all else as it is."),
        table(
          ["raise", "from", "to", "no less than"],
          why.changes.map((change) => {
            const bytes = change.raise === "memory" || change.raise === "sram" ? "B" : "";
            const what =
              change.dimension === null
                ? change.raise
                : `${change.raise} of dimension ${change.dimension}`;
            return [
              plain(what),
              cell(change.from, bytes),
              cell(change.enough, bytes),
              cell(change.at_least, bytes)
            ];
          })
        )
      );
    }
    if (why.remedies && why.remedies.length) {
      part.append(
        note("Each of these, left open, would be enough."),
        table(
          ["leave open", "then fits", "needs"],
          why.remedies.map((remedy) => [
            plain(remedy.key),
            parallelismText(remedy.parallelism),
            cell(remedy.needed, "B")
          ])
        )
      );
    }
    if (why.memory) runParts.memory(part, why.memory);
  }
  // Decisions of plans and executions, and the next best.

  function valueText(value) {
    if (Array.isArray(value)) return value.length ? value.join(", ") : "none";
    return typeof value === "boolean" ? (value ? "yes" : "no") : plain(String(value));
  }

  function decisions() {
    const chosen = result.plan || result.execution;
    if (!chosen) return;
    section(
      "Decisions",
      facts(
        Object.fromEntries(
          Object.entries(chosen).map(([key, value]) => [plain(key), valueText(value)])
        )
      )
    );
  }

  function top() {
    if (!result.top || result.top.length < 2) return;
    const best = result.top[0].step_time;
    section(
      "The best parallelisms",
      note("Each with its own best " + kind + ", best first."),
      table(
        [
          "#",
          "parallelism",
          "step time",
          "longer by",
          "share of the peak",
          "lower bound",
          "status"
        ],
        result.top.map((each, i) => [
          `${i + 1}`,
          parallelismText(each.parallelism),
          cell(each.step_time, "s"),
          cell(each.step_time === null ? null : each.step_time / best - 1, "%"),
          cell(each.utilization, "%"),
          kind === "mapping" && result.objective_name !== "step_time"
            ? cell(each.lower_bound)
            : cell(each.lower_bound, "s"),
          plain(each.status)
        ]),
        {id: "top"}
      )
    );
  }

  function countsText(list) {
    return Object.entries(list || {})
      .map(([name, number]) => `${plain(name)} ${text(number)}`)
      .join(", ");
  }

  function counts() {
    const search = result.search;
    if (!search) return;
    const part = section("How it was found");
    if (result.objective !== null && (data.history || []).some((point) => point[2] !== null)) {
      const end = [search.time, search.nodes, result.objective, result.lower_bound];
      runCharts.history(part, [...data.history, end], objective);
    } else {
      part.append(
        note(
          result.objective === null
            ? "There was no single incumbent to follow."
            : "How incumbent and bound met is not part of the results; --html of the run itself draws it."
        )
      );
    }
    const pruned = search.pruned || {};
    part.append(
      facts({
        "nodes expanded": text(search.nodes),
        time: text(search.time, "s"),
        threads: text(search.threads),
        "first incumbent": known(search.first_incumbent, "s"),
        "best incumbent": known(search.best_incumbent, "s"),
        "better ones on the way": text(search.incumbents),
        "pruned by bound": text(pruned.bound),
        "pruned by dominance": pruned.dominance !== undefined ? text(pruned.dominance) : null,
        "pruned by capacity": pruned.capacity !== undefined ? text(pruned.capacity) : null,
        "deployments to choose from": known(search.deployments),
        "single batches costed": search.deployments ? text(search.leaves) : null,
        "intervals closed by": countsText(search.closed_by),
        "batches cut off by": countsText(search.batches_cut_by),
        "network, tile and micro-batch": search.outer_points
          ? count(search.outer_points, "choice")
          : null,
        "memory of the search": known((search.memory || {}).used, "B"),
        "bounds switched off": (search.no_bound || []).join(", ")
      })
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
        "Kernels" +
          (partitions ? " in their partitions" : "") +
          ", and tensors with the bytes of one " +
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
    const title = "The whole config, with what its files and the command put in";
    if (data.whole) part.append(folded(title, element("pre", {id: "whole"}, data.whole)));
    const json = JSON.stringify(result, null, 1);
    part.append(folded("The result as JSON", element("pre", {id: "result"}, json)));
  }

  page.header(
    `${plain(kind)} · ${result.workload ? plain(result.workload.kind) : ""}`,
    data.title || "Result"
  );
  if (kind === "deployment") {
    runServing.show();
  } else {
    answer();
    infeasible();
    runMachine.asked();
    if (partitions) runCharts.partitions(section("Partitions"), partitions);
    runParts.timeParts();
    runParts.capacities(partitions);
    if (partitions) runCharts.rooflines(partitions, machine);
    decisions();
    runBudget(result);
    top();
    picture();
  }
  counts();
  repeat();
  page.footer();
})();
