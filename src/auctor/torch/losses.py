"""The modules of the losses over pairs and sets."""

from __future__ import annotations

from numbers import Integral

from auctor.core.checks import check_int, check_real
from auctor.core.errors import DataError, ParameterError
from auctor.fit.registry import known
from auctor.losses.fscore import LARGEST_BETA, SMALLEST_BETA
from auctor.scans.fbeta import f_beta
from auctor.scans.gaussian import gaussian_auc
from auctor.scans.logistic import logistic_pairs
from auctor.scans.pairs import hinge_pairs, squared_hinge_pairs
from auctor.scans.partial import partial_pairs
from auctor.scans.rows import PairRows, pair_rows, set_rows
from auctor.scans.threshold import precision_at_k
from auctor.torch.batch import Batch, Tensor
from auctor.torch.module import MetricLoss
from auctor.torch.ops import OPS
from auctor.torch.wrapped import Wrapped

__all__ = [
    "AUCLoss",
    "FBetaLoss",
    "GaussianAUCLoss",
    "PartialAUCLoss",
    "PrecisionAtKLoss",
    "Wrapped",
]


class PairLoss(MetricLoss):
    """A loss over pairs, by group if groups are passed."""

    takes_groups = True

    def scan(self, scores: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Value and slopes of a batch."""
        rows = pair_rows(OPS, batch.positive, batch.weight, batch.group)
        return self.over_pairs(scores, rows)

    def over_pairs(self, scores: Tensor, rows: PairRows) -> tuple[Tensor, Tensor]:
        """Value and slopes of weighted pairs."""
        raise NotImplementedError


class AUCLoss(PairLoss):
    """Mean over all (positive, negative) pairs of a loss of their difference; O(n log n).

    Parameters
    ----------
    surrogate : {"squared_hinge", "hinge", "logistic"}
        Loss of ``s_i - s_j``: ``max(0, 1 - d)^2``, ``max(0, 1 - d)`` or ``log(1 + exp(-d))``.
    width : float >= 0
        Length of the quadratic piece of the hinge; 0 is the hinge itself.
    margin : float > 0
        Difference from which a pair has no loss, in score units, for the hinges.
    queue, gather
        As in `MetricLoss`.

    Examples
    --------
    >>> import torch
    >>> scores = torch.tensor([0.0, 1.0, 3.0], requires_grad=True)
    >>> loss = AUCLoss("hinge")(scores, torch.tensor([1, 0, 1]))
    >>> loss.backward()
    >>> loss.item(), scores.grad.tolist()
    (1.0, [-0.5, 0.5, 0.0])
    """

    def __init__(
        self,
        surrogate: str = "squared_hinge",
        *,
        width: float = 0.0,
        margin: float = 1.0,
        queue: int = 0,
        gather: str | None = None,
    ) -> None:
        super().__init__(queue=queue, gather=gather)
        known("surrogate", surrogate, dict.fromkeys(("squared_hinge", "hinge", "logistic")))
        check_real("width", width, low=0.0)
        check_real("margin", margin, low=0.0, open_low=True)
        if width and surrogate != "hinge":
            raise ParameterError(
                "{option} to be 'hinge' for {option2}",
                got=repr(surrogate),
                todo="Drop {option2}: this surrogate is smooth.",
                option=("surrogate", "width"),
            )
        self.surrogate, self.width, self.margin = surrogate, float(width), float(margin)

    def over_pairs(self, scores: Tensor, rows: PairRows) -> tuple[Tensor, Tensor]:
        """Value and slopes of weighted pairs."""
        if self.surrogate == "logistic":
            return logistic_pairs(OPS, scores, rows)
        if self.surrogate == "hinge":
            return hinge_pairs(OPS, scores, rows, self.width, self.margin)
        return squared_hinge_pairs(OPS, scores, rows, self.margin)


class GaussianAUCLoss(PairLoss):
    """``((1 - m_pos + m_neg)^2 + v_pos + v_neg) / 2`` of the class means and variances; O(n).

    Examples
    --------
    >>> import torch
    >>> GaussianAUCLoss()(torch.tensor([1.0, 0.5]), torch.tensor([1, 0])).item()
    0.125
    """

    def over_pairs(self, scores: Tensor, rows: PairRows) -> tuple[Tensor, Tensor]:
        """Value and slopes of weighted pairs."""
        return gaussian_auc(OPS, scores, rows)


class PartialAUCLoss(MetricLoss):
    """Mean of the pair hinge over the positives and the top share of the negatives.

    Parameters
    ----------
    max_fpr : float in (0, 1]
        Largest false positive rate.
    width : float >= 0
        Smoothing in score units.
    queue, gather
        As in `MetricLoss`.

    Examples
    --------
    >>> import torch
    >>> PartialAUCLoss(0.5)(torch.tensor([0.0, 1.0, -5.0]), torch.tensor([1, 0, 0])).item()
    2.0
    """

    def __init__(
        self, max_fpr: float, *, width: float = 0.0, queue: int = 0, gather: str | None = None
    ) -> None:
        super().__init__(queue=queue, gather=gather)
        check_real("max_fpr", max_fpr, low=0.0, high=1.0, open_low=True)
        check_real("width", width, low=0.0)
        self.max_fpr, self.width = float(max_fpr), float(width)

    def scan(self, scores: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Value and slopes of a batch."""
        rows = pair_rows(OPS, batch.positive, batch.weight)
        return partial_pairs(OPS, scores, rows, self.max_fpr, self.width)


class PrecisionAtKLoss(MetricLoss):
    """Max-margin loss of 1 - precision among the top k rows of the batch, an upper bound of it.

    Parameters
    ----------
    k : int >= 1 or float in (0, 1]
        A number of rows of every batch (of weight, if there are weights) or a share of them.
    width : float >= 0
        Smoothing in score units.
    queue, gather
        As in `MetricLoss`.

    Examples
    --------
    >>> import torch
    >>> PrecisionAtKLoss(1)(torch.tensor([2.0, 0.0, 0.0]), torch.tensor([1, 0, 0])).item()
    0.0
    """

    def __init__(
        self, k: int | float, *, width: float = 0.0, queue: int = 0, gather: str | None = None
    ) -> None:
        super().__init__(queue=queue, gather=gather)
        if isinstance(k, Integral) and not isinstance(k, bool):
            check_int("k", k, low=1)
        else:
            check_real("k", k, low=0.0, high=1.0, open_low=True)
        check_real("width", width, low=0.0)
        self.k, self.width = k, float(width)

    def check(self, batch: Batch) -> None:
        """Refuse a k above the number of rows."""
        rows = batch.scores.shape[0]
        if isinstance(self.k, Integral) and self.k > rows:
            raise DataError(
                f"{{option}} of at most the rows of a batch, {rows}",
                got=self.k,
                todo="Pass a share of the rows, a float in (0, 1].",
                option="k",
            )

    def scan(self, scores: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Value and slopes of a batch."""
        rows = set_rows(OPS, batch.positive, batch.weight)
        return precision_at_k(OPS, scores, rows, self.k, self.width)


class FBetaLoss(MetricLoss):
    """Max-margin loss of 1 - F-beta at the threshold 0, an upper bound of it.

    Parameters
    ----------
    beta : float in [1e-6, 1e6]
        Weight of recall against precision.
    width : float >= 0
        Largest distance of the smoothed form below the exact one.
    queue, gather
        As in `MetricLoss`.

    Examples
    --------
    >>> import torch
    >>> FBetaLoss()(torch.zeros(2), torch.tensor([1, 0])).item()
    1.0
    """

    def __init__(
        self, beta: float = 1.0, *, width: float = 0.0, queue: int = 0, gather: str | None = None
    ) -> None:
        super().__init__(queue=queue, gather=gather)
        check_real("beta", beta, low=SMALLEST_BETA, high=LARGEST_BETA)
        check_real("width", width, low=0.0)
        self.beta, self.width = float(beta), float(width)

    def scan(self, scores: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Value and slopes of a batch."""
        rows = set_rows(OPS, batch.positive, batch.weight)
        return f_beta(OPS, scores, rows, self.beta, self.width)
