"""Taxonomy: labels with parents, as a tree or a directed acyclic graph in arrays."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auctor.core.errors import DataError, speaks
from auctor.core.types import Array, IntArray
from auctor.kernels.hierarchy.decode import any_below


class Links(NamedTuple):
    """Neighbours of every node: those of node t are ``node[start[t]:start[t + 1]]``."""

    start: IntArray
    node: IntArray

    def of(self, node: int) -> IntArray:
        """Neighbours of one node."""
        nodes: IntArray = self.node[self.start[node] : self.start[node + 1]]
        return nodes

    @classmethod
    def collect(cls, size: int, source: IntArray, target: IntArray) -> Links:
        """Links from the edges ``source[i] -> target[i]`` of ``size`` nodes."""
        order = np.argsort(source, kind="stable")
        counts = np.bincount(source, minlength=size)
        return cls(np.concatenate(([0], np.cumsum(counts))).astype(np.int64), target[order])


class Taxonomy:
    """Labels with parents, in an order with parents before their children.

    Nodes are numbered 0 to ``n_nodes - 1`` in that order; ``names[t]`` is the label of node t. The
    virtual root above all top labels is no node. Use one of the ``from_`` functions.

    Parameters
    ----------
    names : sequence of labels
        One for every node, without repetitions.
    edges : sequence of (parent, child)
        Positions in ``names``.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant"])
    >>> taxonomy.names
    ('animal', 'plant', 'animal/cat', 'animal/dog')
    >>> taxonomy.ancestors("animal/dog")
    ['animal']
    >>> taxonomy.close([["animal/cat"], ["plant"]]).astype(int)
    array([[1, 0, 1, 0],
           [0, 1, 0, 0]])
    """

    @speaks
    def __init__(self, names: Sequence[Hashable], edges: Iterable[tuple[int, int]] = ()) -> None:
        names = list(names)
        if not names:
            raise DataError("at least one label; got none. Pass some labels.")
        made = {(int(parent), int(child)) for parent, child in edges}
        pairs = np.array(sorted(made), dtype=np.int64).reshape(-1, 2)
        if pairs.size and not (pairs.min() >= 0 and pairs.max() < len(names)):
            raise DataError(
                f"edges between positions 0 to {len(names) - 1}; got {int(pairs.min())} to "
                f"{int(pairs.max())}. Pass positions in the list of names."
            )
        order = _parents_first(names, pairs)
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        self.names: tuple[Hashable, ...] = tuple(names[t] for t in order)
        parent, child = place[pairs[:, 0]], place[pairs[:, 1]]
        self.parents = Links.collect(len(names), child, parent)
        self.children = Links.collect(len(names), parent, child)
        self._place = {name: t for t, name in enumerate(self.names)}

    # --- constructors ---------------------------------------------------------------------------

    @classmethod
    @speaks
    def from_parents(cls, parents: Mapping[Hashable, Any]) -> Taxonomy:
        """A taxonomy from the parent of each label: None for top labels, a list for several.

        Examples
        --------
        >>> Taxonomy.from_parents({"cat": "animal", "dog": "animal", "animal": None}).n_nodes
        3
        """
        names = list(parents)
        place = {name: t for t, name in enumerate(names)}
        edges = []
        for child, above in parents.items():
            several = isinstance(above, list | tuple | set | frozenset)
            for parent in above if several else () if above is None else (above,):
                if parent not in place:
                    raise DataError(
                        f"every parent among the labels; got {parent!r} above {child!r}. Add "
                        f"{parent!r} with its own parent, or None."
                    )
                edges.append((place[parent], place[child]))
        return cls(names, edges)

    @classmethod
    @speaks
    def from_edges(cls, edges: Iterable[tuple[Any, Any]]) -> Taxonomy:
        """A taxonomy from (parent, child) pairs; a parent of None makes a top label.

        Examples
        --------
        >>> Taxonomy.from_edges([(None, "animal"), ("animal", "cat")]).names
        ('animal', 'cat')
        """
        place: dict[Hashable, int] = {}
        pairs = []
        for parent, child in edges:
            for name in (parent, child):
                if name is not None:
                    place.setdefault(name, len(place))
            if parent is not None:
                pairs.append((place[parent], place[child]))
        return cls(list(place), pairs)

    @classmethod
    @speaks
    def from_paths(cls, paths: Iterable[Any], separator: str = "/") -> Taxonomy:
        """A tree from paths, as text with separators or as tuples; prefixes are nodes, too.

        The name of a node is its path, so that equal labels under different parents are different
        nodes.
        """
        place: dict[str, int] = {}
        pairs = []
        for path in paths:
            parts = path.split(separator) if isinstance(path, str) else [str(part) for part in path]
            above = -1
            for depth in range(1, len(parts) + 1):
                name = separator.join(parts[:depth])
                here = place.setdefault(name, len(place))
                if above >= 0:
                    pairs.append((above, here))
                above = here
        return cls(list(place), pairs)

    @classmethod
    @speaks
    def from_networkx(cls, graph: Any) -> Taxonomy:
        """A taxonomy from a directed graph whose edges point from parents to children."""
        place = {name: t for t, name in enumerate(graph.nodes)}
        return cls(list(place), [(place[a], place[b]) for a, b in graph.edges])

    @classmethod
    @speaks
    def from_file(cls, path: str | Path) -> Taxonomy:
        """A taxonomy from a text file with a parent and a child on every line.

        Lines are ``parent child``, or ``parent: P child: C`` as in the topic hierarchy of RCV1;
        further words are ignored. A parent called ``None`` makes a top label. Lines that begin with
        ``#`` are skipped.
        """
        edges: list[tuple[str | None, str]] = []
        for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "parent:" and "child:" in words:
                words = [words[1], words[words.index("child:") + 1]]
            if len(words) < 2:
                raise DataError(
                    f"a parent and a child on every line; got {line.strip()!r} in line {number} of "
                    f"{path}. Correct the line."
                )
            edges.append((None if words[0] == "None" else words[0], words[1]))
        return cls.from_edges(edges)

    # --- facts ------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Number of labels."""
        return len(self.names)

    @property
    def edges(self) -> IntArray:
        """Parent and child of every edge, (n_edges, 2)."""
        child = np.repeat(np.arange(self.n_nodes), np.diff(self.parents.start))
        return np.column_stack((self.parents.node, child))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Taxonomy):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.edges, other.edges)

    def __hash__(self) -> int:
        return hash(self.names)

    @cached_property
    def is_tree(self) -> bool:
        """Whether no label has more than one parent."""
        return bool((np.diff(self.parents.start) <= 1).all())

    @cached_property
    @speaks
    def parent(self) -> IntArray:
        """The parent of every node of a tree, -1 for top labels; raises if it is no tree."""
        if not self.is_tree:
            raise DataError(
                "one parent for every label; got a label with several. Use HierarchicalMultiLabel, "
                "whose labels may have several parents."
            )
        parents = np.full(self.n_nodes, -1, dtype=np.int64)
        has = np.diff(self.parents.start) == 1
        parents[has] = self.parents.node
        return parents

    @cached_property
    def depth(self) -> IntArray:
        """Number of edges of the longest path from the top to every node; 0 for top labels."""
        depths = np.zeros(self.n_nodes, dtype=np.int64)
        for t in range(self.n_nodes):
            above = self.parents.of(t)
            if above.size:
                depths[t] = depths[above].max() + 1
        return depths

    @cached_property
    def leaves(self) -> Array:
        """Boolean mask of the nodes without children."""
        is_leaf: Array = np.diff(self.children.start) == 0
        return is_leaf

    @speaks
    def index(self, name: Hashable) -> int:
        """The node number of a label; raises for unknown labels."""
        try:
            return self._place[name]
        except (KeyError, TypeError):
            raise DataError(
                f"labels of the taxonomy; got {name!r}. Add it, or drop it from the rows."
            ) from None

    def __contains__(self, name: Hashable) -> bool:
        return name in self._place

    @speaks
    def ancestors(self, name: Hashable) -> list[Hashable]:
        """Ancestors of a label, from the top down."""
        seen = set()
        queue = deque([self.index(name)])
        while queue:
            for above in self.parents.of(queue.popleft()):
                if int(above) not in seen:
                    seen.add(int(above))
                    queue.append(int(above))
        return [self.names[t] for t in sorted(seen)]

    # --- label sets -------------------------------------------------------------------------------

    @speaks
    def indicator(self, labels: Iterable[Any]) -> Array:
        """Sets of labels, one per row, as a 0/1 matrix (n, n_nodes); ancestors are not added."""
        rows = list(labels)
        Y = np.zeros((len(rows), self.n_nodes), dtype=bool)
        for i, row in enumerate(rows):
            if isinstance(row, str):
                raise DataError(
                    f"a set of labels for every row; got the text {row!r}. Pass [{row!r}]."
                )
            for name in row:
                Y[i, self.index(name)] = True
        return Y

    @speaks
    def label_sets(self, Y: Array) -> list[list[Hashable]]:
        """Labels of every row of a 0/1 matrix, from the top down."""
        return [[self.names[t] for t in np.flatnonzero(row)] for row in np.asarray(Y)]

    @speaks
    def close(self, labels: Any) -> Array:
        """Label sets, or a 0/1 matrix, with all ancestors added, as a 0/1 matrix."""
        matrix = isinstance(labels, np.ndarray) and labels.ndim == 2
        Y = labels.astype(bool, order="C") if matrix else self.indicator(labels)
        any_below(Y, *self.parents)
        return Y

    @speaks
    def violations(self, Y: Array) -> IntArray:
        """Indices of the rows that have a label but lack one of its parents."""
        Y = np.asarray(Y, dtype=bool)
        bad = np.zeros(Y.shape[0], dtype=bool)
        for t in range(self.n_nodes):
            for above in self.parents.of(t):
                bad |= Y[:, t] & ~Y[:, above]
        return np.flatnonzero(bad)

    def __repr__(self) -> str:
        kind = "tree" if self.is_tree else "directed acyclic graph"
        return f"Taxonomy({self.n_nodes} labels, {kind}, depth {int(self.depth.max())})"


def _parents_first(names: Sequence[Hashable], pairs: IntArray) -> IntArray:
    """An order with parents first (Kahn's algorithm), by level and then as given.

    Raises for repeated names and for cycles.
    """
    size = len(names)
    if len(set(names)) != size:
        seen: set[Hashable] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise DataError(
            f"every label once; got {twice!r} twice. Name nodes by paths: Taxonomy.from_paths does."
        )
    # Number of parents that are not in the order yet; a node is free when there are none.
    waiting = np.bincount(pairs[:, 1], minlength=size)
    below = Links.collect(size, pairs[:, 0], pairs[:, 1])
    level = [int(t) for t in np.flatnonzero(waiting == 0)]
    order: list[int] = []
    while level:
        order += level
        free: list[int] = []
        for t in level:
            for child in below.of(t):
                waiting[child] -= 1
                if waiting[child] == 0:
                    free.append(int(child))
        level = sorted(free)
    if len(order) < size:
        raise DataError(
            "labels without a cycle",
            got=" -> ".join(repr(names[t]) for t in _cycle(size, pairs, set(order))),
            todo="Remove one of these edges.",
        )
    return np.array(order, dtype=np.int64)


def _cycle(size: int, pairs: IntArray, done: set[int]) -> list[int]:
    """A cycle among the nodes that Kahn's algorithm did not reach.

    Each of them has a parent among them: following parents ends in a cycle.
    """
    above = {int(child): int(parent) for parent, child in pairs if int(parent) not in done}
    t = next(t for t in range(size) if t not in done)
    seen: list[int] = []
    while t not in seen:
        seen.append(t)
        t = above[t]
    return [*seen[seen.index(t) :], t][::-1]
