// The section on what was asked: the machine, what each dimension of its network serves, and the
// workload.
"use strict";

const runMachine = (() => {
  const {cell, count, element, facts, known, note, section, table, text} = page;
  const {kind, plain, result, tag} = run;
  const machine = result.machine;

  function servesCell(dimension) {
    const strategies =
      kind === "mapping" ? [[dimension.strategy, dimension.degree]] : Object.entries(dimension);
    const colour = {
      tensor: "compute",
      pipeline: "memory",
      data: "network",
      context: "transfer",
      expert: "sixth"
    };
    return element(
      "span",
      null,
      strategies.map(([role, degree]) => [tag(`${role} ${degree}`, colour[role] || "bubble"), " "])
    );
  }

  function networkRows() {
    if (kind === "execution") {
      const axes = ["tensor", "pipeline", "data"];
      const served = (d) =>
        ((result.execution || {}).networks || [])
          .map((n, i) => (n === d ? axes[i] : null))
          .filter((role) => role !== null && result.execution[role] > 1)
          .map((role) => [role, result.execution[role]]);
      return machine.network.map((n, d) => [
        `${d}`,
        "network",
        cell(n.degree),
        servesCell(Object.fromEntries(served(d))),
        cell(n.bandwidth, "B/s"),
        cell(n.latency, "s")
      ]);
    }
    return machine.network.map((n, d) => {
      const use = (result.network || [])[d];
      const degree = kind === "mapping" && use ? use.degree : n.degree;
      return [
        `${d}`,
        plain(n.topology),
        degree === null ? "searched" : cell(degree),
        use ? servesCell(use) : "–",
        cell(n.bandwidth, "B/s"),
        cell(n.latency, "s")
      ];
    });
  }

  function memoryText(memory) {
    const capacity = memory.capacity === null ? "unlimited" : text(memory.capacity, "B");
    return `${capacity} at ${text(memory.bandwidth, "B/s")}`;
  }

  function asked() {
    if (!result.workload) return;
    const workload = result.workload;
    const layer = result.graph;
    const part = section(
      "Machine and workload",
      facts({
        chips: machine ? text(machine.chips) : null,
        "peak of a chip": machine ? text(machine.peak, "FLOP/s") : null,
        SRAM: machine ? known(machine.sram, "B") : null,
        memory: machine ? memoryText(machine.memory) : null,
        "second memory":
          machine && machine.second_memory ? memoryText(machine.second_memory) : null,
        workload: plain(workload.kind),
        layers: text(workload.layers),
        sequence: workload.sequence > 1 ? text(workload.sequence) : null,
        "global batch": known(workload.global_batch || (result.execution || {}).global_batch),
        graph: layer
          ? `${count(layer.kernels.length, "kernel")}, ${count(layer.tensors.length, "tensor")}`
          : null,
        parameters: result.model ? text(result.model.parameters) : null
      })
    );
    if (machine && machine.network.length) {
      part.append(
        note("The network, innermost dimension first, and what each dimension serves."),
        table(["#", "topology", "degree", "serves", "bandwidth", "latency"], networkRows(), {
          id: "network"
        })
      );
    }
  }

  return {asked};
})();
