"""The optimum by exhaustion, for what is small enough: kernel by kernel; the 26 down-sets of a
forward layer; its 1146 of the backward part, if each phase has its own partitions and the
utilization is given, so that one-row tiles are best.  Network, micro-batch and sharding (the least
bytes) are those of the config; tile and partitions are searched.  DRAM capacity is only looked at
in the winner, and so is the index of a pinned partition.
"""

import math

import reference_model


def _tiles(problem):
    """The largest tile for every number of tiles."""
    if problem.fixed_tile:
        return [problem.fixed_tile]
    if problem.utilization is not None:
        return [1]
    smallest = {}
    for tile in range(problem.sequence, 0, -1):
        smallest.setdefault(-(-problem.sequence // tile), tile)
    return list(smallest.values())


def _down_sets(problem, members):
    before = {
        i: {t.source for t in problem.tensors if t.target == i and t.source in members}
        for i in members
    }
    found, frontier = {frozenset()}, [frozenset()]
    while frontier:
        done = frontier.pop()
        for i, needed in before.items():
            if i not in done and needed <= done and done | {i} not in found:
                found.add(done | {i})
                frontier.append(done | {i})
    return sorted(found, key=len)


def _mapping(problem, tile, partitions):
    sharding = reference_model.least_bytes_sharding(problem)
    return {
        "network": [{"degree": d[1], "strategy": d[3]} for d in problem.network],
        "micro_batch": problem.fixed_micro_batch or 1, "tile": tile,
        "partitions": [
            {"kernels": [problem.kernels[i].name for i in sorted(part)]} for part in partitions
        ],
        "sharding": {k.name: loop for k, loop in zip(problem.kernels, sharding)},
    }


def _with_pins(problem, cost):
    """The cost, if kernels that are pinned to different partitions are never together."""
    pins = [problem.pins.get(kernel.name) for kernel in problem.kernels]

    def pinned(part):
        return cost(part) if len({pins[i] for i in part} - {None}) <= 1 else math.inf

    return pinned if problem.pins else cost


def _cheapest_chain(sets, limit, cost):
    """The least sum of costs over chains of at most `limit` steps, and its parts."""
    everything = sets[-1]
    best = {sets[0]: (0.0, ())}
    ending = {done for done in sets[:-1] if cost(everything - done) < math.inf}
    for step in range(limit):
        last, second_last = step == limit - 1, step == limit - 2
        longer = dict(best)
        for done, (spent, chain) in best.items():
            for more in [everything] if last else sets:
                if not done < more or second_last and more not in ending | {everything}:
                    continue
                total = spent + cost(more - done)
                if total < longer.get(more, (math.inf,))[0]:
                    longer[more] = (total, chain + (more - done,))
        best = longer
    return best.get(everything, (math.inf, ()))


def _phases(problem):
    """Down-sets and partition limit of each part that can be searched by itself; None where the
    search would be too long."""
    everything = frozenset(range(len(problem.kernels)))
    limit = problem.partition_limit
    if limit == 1:
        return [([frozenset(), everything], 1)]
    backward = frozenset(i for i in everything if problem.kernels[i].backward)
    if not backward:
        return [(_down_sets(problem, everything), limit)]
    if problem.phases != "halves" or limit % 2 or problem.utilization is None:
        return None
    return [(_down_sets(problem, part), limit // 2) for part in (everything - backward, backward)]


def optimum(problem):
    """The least step time, or None where exhaustion is out of reach."""
    alone = [frozenset([i]) for i in range(len(problem.kernels))]
    phases = None
    if not problem.kernel_by_kernel:
        phases = _phases(problem)
        if phases is None:
            return None
    least, winner = math.inf, None
    for tile in _tiles(problem):
        cost = reference_model.partition_costs(problem, _mapping(problem, tile, alone))
        cost = _with_pins(problem, cost)
        if problem.kernel_by_kernel:
            total, chain = sum(cost(part) for part in alone), alone
        else:
            found = [_cheapest_chain(sets, limit, cost) for sets, limit in phases]
            total = sum(spent for spent, _ in found)
            chain = [part for _, parts in found for part in parts]
        if total < least:
            least, winner = total, (tile, chain, phases and len(phases) == 2 and len(found[0][1]))
    if winner is None:
        return None
    tile, chain, forward = winner
    mapping = _mapping(problem, tile, chain)
    for index, part in enumerate(mapping["partitions"]):
        skipped = problem.partition_limit // 2 - forward if forward and index >= forward else 0
        part["index"] = index + skipped
    return reference_model.evaluate(problem, mapping)["step_time"]
