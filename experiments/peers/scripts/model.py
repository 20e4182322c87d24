"""Graphical models of mbi 2.0: fit a model to noisy tables, and compute any marginal from it.

Who runs a script sets JAX_ENABLE_X64: in single precision the estimators stall.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import mbi
import networkx as nx
import numpy as np
import opt_einsum
from mbi import approximate_oracles, estimation, junction_tree, marginal_loss
from numpy.typing import NDArray
from scipy.special import logsumexp
from task import Axes, Table, Task

Clique = tuple[str, ...]

_BLOCK, _PATIENCE = 50, 8
"""Iterations with one step, and how many such blocks may gain less than a thousandth."""


class Fitted:
    """A growing list of noisy tables, and the maximum-entropy model that fits them best.

    `answer` gives what `MarkovRandomField.project` gives, from the same potentials: by beliefs on
    the junction tree in numpy. mbi compiles a new programme for each set of attributes, which takes
    it 0.3 to 1.5 seconds a set.
    """

    def __init__(self, task: Task, iterations: int = 1000) -> None:
        self.domain = mbi.Domain(task.attributes, task.sizes)
        self._names, self._iterations = task.attributes, iterations
        self.measurements: list[Any] = []
        self._model: Any = None

    def clique(self, axes: Axes) -> Clique:
        return tuple(self._names[axis] for axis in axes)

    def add(self, axes: Axes, noisy: Table, deviation: float) -> None:
        self.measurements.append(
            mbi.LinearMeasurement(noisy.ravel(), self.clique(axes), stddev=deviation)
        )

    @property
    def cliques(self) -> list[Clique]:
        return [measurement.clique for measurement in self.measurements]

    def megabytes(self, *more: Axes) -> float:
        """The size of the junction tree, possibly with more tables added."""
        cliques = {*self.cliques, *map(self.clique, more)}
        return float(junction_tree.hypothetical_model_size(self.domain, sorted(cliques)))

    def fit(self) -> None:
        """Fit the model by mirror descent, starting from the last model."""
        self._model = estimation.MirrorDescent().estimate(
            self.domain, self.measurements, iters=self._iterations, warm_start=self._model
        )
        self._nodes, self._edges, self._beliefs = _calibrated(self._model)

    def answer(self, axes: Axes) -> Table:
        """The model's table of some attributes."""
        asked = set(self.clique(axes))
        nodes, edges = _needed(asked, self._nodes, self._edges)
        factors: list[tuple[Clique, Table]] = [(node, self._beliefs[node]) for node in nodes]
        for left, right in edges:
            shared = tuple(sorted(set(left) & set(right)))
            below = opt_einsum.contract(self._beliefs[left], left, shared)
            factors.append(
                (shared, np.divide(1.0, below, out=np.zeros_like(below), where=below > 0))
            )
        operands = list(itertools.chain.from_iterable((table, clique) for clique, table in factors))
        table = opt_einsum.contract(*operands, self.clique(axes))
        return np.asarray(table) * float(self._model.total)

    def records(self, count: int) -> NDArray[np.int64]:
        """Synthetic records of the model: codes of shape (count, attributes)."""
        made = self._model.synthetic_data(count)
        return np.column_stack([made.to_dict()[name] for name in self._names]).astype(np.int64)


def approximate(fitted: Fitted, iterations: int) -> tuple[Any, float, int]:
    """Approximate marginals of the measured tables by convex belief propagation, the number of
    rows, and the iterations used.

    `ApproxMirrorDescent` has one step for the whole run. Where we looked, one sixteen times as long
    as the one that is sure to converge did so too, in fewer iterations, and one 64 times as long
    did not. These are its iterations, with a step that grows while the loss falls, and shrinks,
    from the best so far, where it does not. It ends where neither helps.
    """
    loss = marginal_loss.from_linear_measurements(fitted.measurements, fitted.domain)
    total = estimation.minimum_variance_unbiased_total(fitted.measurements)
    potentials = mbi.CliqueVector.zeros(fitted.domain, loss.cliques)
    propagated = approximate_oracles.convex_generalized_belief_propagation

    @jax.jit
    def moved(state: Any, step: float) -> Any:
        def once(_: int, state: Any) -> Any:
            potentials, _, messages = state
            found, messages = propagated(potentials, total, state=messages)
            return potentials - step * jax.grad(loss)(found), found, messages

        after = jax.lax.fori_loop(0, _BLOCK, once, state)
        return after, loss(after[1])

    best = (potentials, *propagated(potentials, total))
    lowest, step, used, stalled = float(loss(best[1])), 1 / (float(loss.lipschitz) * total), 0, 0
    while used < iterations and stalled < _PATIENCE:
        tried, reached = moved(best, step)
        used += _BLOCK
        stalled = 0 if reached < lowest * (1 - 1e-3) else stalled + 1
        if reached < lowest:
            best, lowest, step = tried, float(reached), 2 * step
        else:
            step /= 4
    return best[1], total, used


def _calibrated(
    model: Any,
) -> tuple[list[Clique], list[tuple[Clique, Clique]], dict[Clique, Table]]:
    """The nodes and edges of the junction tree and the probabilities of each node, by two passes of
    message passing.
    """
    domain = model.domain
    tree, _ = junction_tree.make_junction_tree(domain, list(model.cliques))
    logs = {node: np.zeros(domain.project(node).shape) for node in tree.nodes}
    for clique in model.cliques:
        home = min(
            (node for node in tree.nodes if set(clique) <= set(node)),
            key=lambda node: logs[node].size,
        )
        logs[home] = logs[home] + _spread(
            np.asarray(model.potentials[clique].values), tuple(clique), home
        )
    for roots in nx.connected_components(tree):
        order = list(nx.dfs_edges(tree, min(roots)))
        messages = {}
        for parent, child in reversed(order):
            messages[child] = _summed(logs[child], child, parent)
            logs[parent] = logs[parent] + _spread(*messages[child], parent)
        for parent, child in order:
            full, shared = _summed(logs[parent], parent, child)
            logs[child] = logs[child] + _spread(full - messages[child][0], shared, child)
    return (
        list(tree.nodes),
        [tuple(edge) for edge in tree.edges],
        {node: np.exp(table - logsumexp(table)) for node, table in logs.items()},
    )


def _spread(table: Table, clique: Clique, node: Clique) -> Table:
    """A table of some attributes of a node, reshaped so that it can be added to the table of the
    node.
    """
    ordered = table.transpose([clique.index(name) for name in node if name in clique])
    sizes = iter(ordered.shape)
    return ordered.reshape([next(sizes) if name in clique else 1 for name in node])


def _summed(log: Table, node: Clique, other: Clique) -> tuple[Table, Clique]:
    """The logarithm of a node's table, summed over the attributes that it does not share with
    another node.
    """
    shared = tuple(name for name in node if name in other)
    away = tuple(place for place, name in enumerate(node) if name not in other)
    return (np.asarray(logsumexp(log, axis=away)) if away else log), shared


def _needed(
    asked: set[str], nodes: Sequence[Clique], edges: Sequence[tuple[Clique, Clique]]
) -> tuple[list[Clique], list[tuple[Clique, Clique]]]:
    """The part of the tree that a marginal depends on.

    Leaves without requested attributes are removed in turn.
    """
    whole = [node for node in nodes if asked <= set(node)]
    if whole:
        return [min(whole, key=len)], []
    tree = nx.Graph()
    tree.add_nodes_from(nodes)
    tree.add_edges_from(edges)
    leaves = list(nodes)
    while leaves:
        leaf = leaves.pop()
        near = list(tree.neighbors(leaf)) if leaf in tree else []
        if leaf in tree and len(near) < 2:
            held = set(leaf) & asked
            if held <= (set(near[0]) if near else set()):
                tree.remove_node(leaf)
                leaves += near
    return list(tree.nodes), list(tree.edges)


def pairs(task: Task) -> list[Axes]:
    return list(itertools.combinations(range(len(task.sizes)), 2))
