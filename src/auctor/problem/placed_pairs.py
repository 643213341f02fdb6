"""A loss over pairs: all workers get the scores of the rarer class."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from auctor.core.capabilities import PAIRED
from auctor.core.curvature import Curvature, PairCurvature
from auctor.core.protocols import Loss
from auctor.core.types import FloatArray, IntArray, Target
from auctor.data.sharded import Sharded
from auctor.data.spread import Leaf, PerShard, Spread, ordered_sum
from auctor.problem.placed_loss import PlacedLoss, as_array

#: Numbers sent per row of the rarer class and shard: its score, partial derivative and derivative.
PER_RARE = 3


class PlacedPairs(PlacedLoss):
    """A loss over pairs: all workers get the scores of the rarer class."""

    @property
    def per_pair(self) -> Loss:
        """The row loss of a pair."""
        return PAIRED.of(self.inner).per_pair

    @property
    def pair_square(self) -> Loss:
        """The square loss of the same pairs."""
        return PAIRED.of(self.inner).pair_square

    @staticmethod
    def pays(rows: Sharded) -> bool:
        """Whether less travels than all scores and slopes."""
        target = rows.target
        rare = min(side.rows.size for side in target.classes)
        few = PER_RARE * len(rows.holder.lengths) * rare < 2 * rows.n_rows
        return target.groups is None and few and rare > 0

    @cached_property
    def _rare(self) -> float:
        positive, negative = self.rows.target.classes
        return 1.0 if positive.rows.size <= negative.rows.size else -1.0

    @cached_property
    def _rare_ends(self) -> IntArray:
        """Cumulative numbers of rows of the rarer class per shard, without the last."""
        rare = self.holder.split(self.rows.target.y == self._rare)
        return np.cumsum([np.count_nonzero(one) for one in rare.parts])[:-1]

    def _sent_parts(self) -> Leaf:
        """Send labels, weights, shares, and the weights of all rows of the rarer class."""
        target, rare = self.rows.target, self._rare
        y, weight = self._labels(target)
        if weight is None:
            totals = [float(np.count_nonzero(one == -rare)) for one in y.parts]
            sent_weights = None
        else:
            both = zip(y.parts, weight.parts, strict=True)
            totals = [float(weights[one == -rare].sum()) for one, weights in both]
            sent_weights = np.asarray(target.weight)[target.y == rare]
        shares = PerShard([one / sum(totals) for one in totals])
        n_rare = int(np.count_nonzero(target.y == rare))
        return self.holder.keep("placed_pairs", y, weight, shares, rare, n_rare, sent_weights)

    def _evaluated(self, scores: Spread) -> tuple[float, Spread]:
        """Value and slopes; every worker gets the scores of the rarer class."""
        answer = self.holder.keep(
            "pair_loss", self.inner, self.parts, scores, self._gathered(scores)
        )
        return self._joined(answer)

    def _gathered(self, values: Spread) -> FloatArray:
        return np.concatenate(self.holder.ask("rare_values", self.parts, values))

    def _joined(self, answer: Leaf) -> tuple[float, Spread]:
        """The value, and the derivatives of both classes, each on the worker that has the row."""
        # Sum the partial derivatives of the rarer class, and send each worker those of its rows.
        answers = self.holder.ask("summary", answer)
        value, total, size = np.sum([one[:3] for one in answers], axis=0)
        rare = ordered_sum([one[3] for one in answers])
        own = Leaf(answer.references, "slopes")
        mine = PerShard(np.split(rare, self._rare_ends))
        kept = self.holder.keep("joined", self.parts, own, mine)
        known = {"total": float(total + rare.sum()), "size": float(size + np.abs(rare).sum())}
        return float(value), Spread(self.holder, kept, known)

    def _curved(self, scores: Spread, target: Target) -> Curvature:
        """The curvature of the pairs, with its products computed by the workers."""
        if self.inner.low_rank:  # solvers use its few factors, so it is computed here
            return super()._curved(scores, target)
        # The curvature stays on the workers; a product sends the rarer class's entries only.
        curvature = self.holder.keep(
            "pair_curvature", self.inner, self.parts, scores, self._gathered(scores)
        )
        diagonal = self._joined(self.holder.keep("pair_diagonal", curvature, self.parts, scores))[1]

        def product(v: FloatArray) -> FloatArray:
            change = self._there(v)
            answer = self.holder.keep(
                "pair_product", curvature, self.parts, change, self._gathered(change)
            )
            return as_array(self._joined(answer)[1])

        return PairCurvature(as_array(diagonal), product, None)

    def _conjugate(self, slopes: Spread, target: Target) -> float | None:
        """The conjugate from the total slope of a class, if the loss offers that form."""
        loss = PAIRED.find(self.inner)
        if loss is None:
            return super()._conjugate(slopes, target)
        if loss.conjugate_of_total(0.0) is None:
            return None
        total = self.holder.total("class_total", self.parts, slopes, self._rare > 0.0)
        return loss.conjugate_of_total(float(total))
