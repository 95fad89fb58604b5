"""The optimum by exhaustion, for what is small enough: kernel by kernel, and the 26 down-sets of a
forward layer.  Network, micro-batch and sharding (the least bytes) are those of the config; tile
and partitions are searched.  DRAM capacity is only looked at in the winner.
"""

import math

import reference_model


def _tiles(problem):
    """The largest tile for every number of tiles."""
    if problem.fixed_tile:
        return [problem.fixed_tile]
    smallest = {}
    for tile in range(problem.sequence, 0, -1):
        smallest.setdefault(-(-problem.sequence // tile), tile)
    return list(smallest.values())


def _down_sets(problem):
    before = [
        {t.source for t in problem.tensors if t.target == i} for i in range(len(problem.kernels))
    ]
    found, frontier = {frozenset()}, [frozenset()]
    while frontier:
        done = frontier.pop()
        for i, needed in enumerate(before):
            if i not in done and needed <= done and done | {i} not in found:
                found.add(done | {i})
                frontier.append(done | {i})
    return sorted(found, key=len)


def _mapping(problem, tile, partitions):
    sharding = reference_model.least_bytes_sharding(problem)
    return {
        "network": [{"degree": d[1], "strategy": d[3]} for d in problem.network],
        "micro_batch": problem.fixed_micro_batch, "tile": tile,
        "partitions": [
            {"kernels": [problem.kernels[i].name for i in sorted(part)]} for part in partitions
        ],
        "sharding": {k.name: loop for k, loop in zip(problem.kernels, sharding)},
    }


def _cheapest_chain(problem, cost, sets):
    """The least sum of costs over chains of at most `partition_limit` steps, and its parts."""
    everything = sets[-1]
    best = {sets[0]: (0.0, ())}
    for _ in range(problem.partition_limit):
        longer = dict(best)
        for done, (spent, chain) in best.items():
            for more in sets:
                if done < more:
                    total = spent + cost(more - done)
                    if total < longer.get(more, (math.inf,))[0]:
                        longer[more] = (total, chain + (more - done,))
        if longer == best:
            break
        best = longer
    return best.get(everything, (math.inf, ()))


def optimum(problem):
    """The least step time, or None where exhaustion is out of reach."""
    alone = [frozenset([i]) for i in range(len(problem.kernels))]
    sets = None
    if not problem.kernel_by_kernel:
        if problem.training:
            return None
        sets = _down_sets(problem)
    least, winner = math.inf, None
    for tile in _tiles(problem):
        cost = reference_model.partition_costs(problem, _mapping(problem, tile, alone))
        if sets is None:
            total, chain = sum(cost(part) for part in alone), alone
        else:
            total, chain = _cheapest_chain(problem, cost, sets)
        if total < least:
            least, winner = total, _mapping(problem, tile, chain)
    return reference_model.evaluate(problem, winner)["step_time"] if winner else None
