// Results as blocks of a page: facts, tables and parts of a whole, from keys and values alone.
"use strict";

const blocks = (() => {
  const {cell, chart, count, element, facts, PALETTE, table, text} = page;

  /// Units of values by their keys, "%" for shares; counts, as of nodes of a search, have none.
  const UNITS = {};
  const units = (unit, keys) => keys.split(" ").forEach((key) => (UNITS[key] = unit));
  units("s", "step_time time ttft ttft_99 tpot e2e iteration prefill_pass transfer latency low high");
  units("s", "measured predicted");
  units("s", "first_incumbent best_incumbent time_to_first_token time_per_output_token");
  units("B", "second_memory.capacity sram needed weights activations stored usable memory_prefill memory used limit memory.capacity");
  units("FLOP", "flop training_flop_per_token");
  units("FLOP/s", "peak flop_per_second");
  units("B/s", "bandwidth");
  units("$", "price");
  units("W", "power");
  units("FLOP/s/$", "cost_efficiency");
  units("FLOP/s/W", "power_efficiency");
  units("%", "utilization gap change share mixed_share");
  const COUNTS = ["pruned", "closed_by", "batches_cut_by", "operational_intensity"];

  // Keys whose values are words of the program, not names that users chose.
  const WORDS = ["status", "limit", "key", "raise", "effect", "kind", "objective_name", "schedule"];

  const NAMES = {
    tokens_per_s_per_user: "tokens/s of a user",
    tokens_per_s_per_chip: "tokens/s of a chip",
    dollars_per_mtoken: "$ for a million tokens",
    ttft: "first token",
    tpot: "each after it"
  };

  const plain = (name) => name.replaceAll("_", " ");
  const isWhole = (value) => value !== null && typeof value === "object";

  /// The degrees, whose product is the number of chips; then the ranks that share the experts.
  function parallelismText(degrees) {
    const {expert, ...others} = degrees || {};
    const list = Object.entries(others).map(([name, degree]) => `${name} ${degree}`);
    return list.join(", ") + (expert > 1 ? ` (experts over ${expert} of the ranks)` : "");
  }

  function rolesOf(deployment) {
    return deployment.prefill ? [deployment.prefill, deployment.decode] : [deployment];
  }

  function roleText(role, does) {
    const hidden = ["mode", "pool", "replicas", "precision"];
    const least = {pipeline: 1, attention_data: 1, expert: 1, chunk: 0, depth: 0};
    const degrees = Object.entries(role)
      .filter(([key, value]) => !hidden.includes(key) && value > (least[key] ?? -1))
      .map(([key, value]) => `${plain(key)} ${value}`);
    return `${role.replicas}${does} × (${degrees.join(", ")})`;
  }

  /// "4 prefill × (tensor 1, batch 1) + 2 decode × (tensor 4, batch 102) on 8 chips h100 + ...".
  function deploymentText(deployment) {
    const does = deployment.prefill ? [" prefill", " decode"] : [""];
    const roles = rolesOf(deployment);
    const chips = (role) => role.replicas * role.tensor * role.pipeline * role.attention_data;
    const precision = Object.entries(deployment.precision || {}).map((each) => "; " + each.join(" "));
    return (
      roles.map((role, i) => roleText(role, does[i])).join(" + ") +
      ` on ${roles.map((role) => `${count(chips(role), "chip")} ${role.pool}`).join(" + ")}` +
      precision.join("")
    );
  }

  const TEXTS = {parallelism: parallelismText, deployment: deploymentText, best: deploymentText};

  /// A value as text; null for an absent or empty value.
  function words(value, key, unit = UNITS[key]) {
    if (value === null || value === undefined || value === "") return null;
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value === "number") return text(value, unit);
    if (typeof value === "string") return WORDS.includes(key) ? plain(value) : value;
    if (Array.isArray(value)) return value.map((each) => words(each, key)).join(", ") || null;
    if (TEXTS[key]) return TEXTS[key](value) || null;
    const list = Object.entries(value).map(([name, each]) => {
      const unit = COUNTS.includes(key) ? "" : UNITS[`${key}.${name}`];
      const shown = words(each, name, unit);
      return shown && `${plain(name)} ${isWhole(each) ? `(${shown})` : shown}`;
    });
    return list.filter((each) => each).join(", ") || null;
  }

  /// The keys and values of an object, without lists of objects, zeros and `hidden` keys.
  function factsOf(object, hidden = []) {
    const isList = (value) => Array.isArray(value) && isWhole(value[0]);
    return facts(
      Object.fromEntries(
        Object.entries(object || {})
          .filter(([key, value]) => !hidden.includes(key) && value !== 0 && !isList(value))
          .map(([key, value]) => [plain(key), words(value, key)])
      )
    );
  }

  /// The head and rows of a table of objects.  Columns are paths of keys, by default all keys;
  /// unit(row, key) overrides UNITS unless it returns undefined.
  function numbersOf(list, {columns, unit = () => undefined} = {}) {
    const keys = columns || [...new Set(list.flatMap((each) => Object.keys(each)))];
    const at = (row, path) => path.split(".").reduce((value, key) => (value || {})[key], row);
    const last = (path) => path.split(".").at(-1);
    const shown = (row, path) => {
      const value = at(row, path);
      if (typeof value === "number") return cell(value, unit(row, path) ?? UNITS[path] ?? UNITS[last(path)]);
      const long = words(value, last(path));
      return long && long.length > 30 ? {names: long} : long;
    };
    const isSome = (key) => columns || list.some((row) => (at(row, key) ?? "") !== "");
    const some = keys.filter(isSome);
    return {
      head: some.map((key) => NAMES[last(key)] || plain(key).replace(".", " ")),
      rows: list.map((row) => some.map((key) => shown(row, key)))
    };
  }

  function tableOf(name, list, {columns, unit, ...attributes} = {}) {
    const {head, rows} = numbersOf(list, {columns, unit});
    return table(head, rows, {"data-of": name, ...attributes});
  }

  /// Draws the parts of a sum as one bar; a `limit` above the sum, as of a memory, adds free room.
  function parts(parent, name, unit, entries, limit) {
    const list = Object.entries(entries).filter(([, value]) => value > 0);
    const total = list.reduce((sum, [, value]) => sum + value, 0);
    const most = Math.max(total, limit || 0);
    const colours = PALETTE.filter((colour) => !list.some(([key]) => key === colour));
    const colour = (key) => (PALETTE.includes(key) ? key : colours.shift());
    const all = list.map(([key, value]) => ({key, value, colour: colour(key)}));
    if (most > total) all.push({key: "free", value: most - total, colour: "free"});
    if (!list.length) return;
    chart(parent, {
      name,
      of: (width, c) => ({
        height: 90,
        x: {unit, max: most},
        y: {labels: [""], show: false},
        series: all.map((part) => ({
          name: plain(part.key),
          type: "bar",
          stack: "all",
          barWidth: 30,
          data: [part.value],
          colour: part.colour,
          label: () => text(part.value / most, "%"),
          labelStyle: {
            show: part.key !== "free" && part.value > most * (width < page.NARROW ? 0.16 : 0.08),
            color: c.card,
            fontWeight: 600
          },
          tip: () => [
            plain(part.key),
            text(part.value, unit),
            text(part.value / total, "%") + " of the sum"
          ]
        }))
      }),
      head: ["part", "value", "share"],
      rows: list.map(([key, value]) => [plain(key), cell(value, unit), cell(value / total, "%")])
    });
  }

  /// Facts of the report as [label, value]; an empty label continues the fact before it.
  function lines(rows) {
    return element(
      "dl",
      {class: "lines"},
      rows.map(([label, value]) => [element("dt", null, label), element("dd", null, value)])
    );
  }

  return {deploymentText, factsOf, lines, NAMES, numbersOf, parallelismText, parts, plain, rolesOf, tableOf, UNITS};
})();
