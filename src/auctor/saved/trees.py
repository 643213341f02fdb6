"""Trees with splits by AUC in files: their nodes as arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from auctor.core.types import Array
from auctor.saved.values import check_labels, need
from auctor.saved.whole import SavedEstimator


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedTree(SavedEstimator):
    """A tree: its classes, its nodes by name of the array, and the strength it was pruned at."""

    classes: Array
    nodes: dict[str, Array]
    strength: float

    @classmethod
    def of(cls, tree: Any) -> Self:
        """The nodes of a fitted tree."""
        nodes = {one.name: getattr(tree.tree_, one.name) for one in fields(tree.tree_)}
        found = cls.parameters(tree)
        return cls(**found, classes=tree.classes_, nodes=nodes, strength=tree.strength_)

    def estimator(self) -> Any:
        """The fitted tree, checked; imports scikit-learn."""
        need(check_labels(self.classes).size == 2, "two classes")
        tree = self.unfitted()
        tree.check_parameters()
        tree.adopt(self.classes, self.nodes, self.strength)
        return tree
