"""What the modules share: a loss of scores and labels, whose value is in units of the metric.

The value is exact: that of all pairs, or of the best set, of the batch (with the rows of a queue or
of other processes, if asked for), computed by one sort. The gradient is computed with the value. A
second derivative is that of the slopes, by PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from auctor.core.checks import check_int
from auctor.core.errors import (
    DataError,
    DataWarning,
    IncompatibleError,
    Option,
    ParameterError,
    speaks,
    warn,
)
from auctor.torch.batch import Batch, Queue, Tensor, check_batch, gather, read_batch

#: A function of scores that returns the value and the slopes.
Scan = Callable[[Tensor], tuple[Tensor, Tensor]]


class _Scanned(torch.autograd.Function):
    """A value with its slopes; differentiated again, the slopes are computed again."""

    @staticmethod
    def forward(scores: Tensor, scan: Scan) -> tuple[Tensor, Tensor]:
        with torch.autocast(scores.device.type, enabled=False):
            value, slopes = scan(scores)
        return value.to(scores.dtype), slopes.to(scores.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        scores, ctx.scan = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(scores, output[1])

    @staticmethod
    def backward(ctx: Any, rate: Tensor, _: Tensor) -> tuple[Tensor, None]:
        scores, slopes = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph=True: slopes that can be differentiated
            with torch.autocast(scores.device.type, enabled=False):
                slopes = ctx.scan(scores)[1].to(scores.dtype)
        return rate * slopes, None


class MetricLoss(torch.nn.Module):
    """What the modules share: how a batch is read, and which rows enter.

    Parameters
    ----------
    queue : int
        Number of latest scores of each class that are kept from earlier batches. They make more
        pairs, and sets that are more like those of all rows; they are not differentiated. They are
        in ``state_dict``.
    gather : None or "ddp"
        With "ddp" the rows of all processes of `torch.distributed` enter. The gradient is scaled so
        that the mean over processes, which DDP takes, is that of one process with all rows.
    """

    #: Whether pairs of rows of the same group can be asked for.
    takes_groups = False

    def __init__(self, *, queue: int = 0, gather: str | None = None) -> None:
        super().__init__()
        check_int("queue", queue, low=0)
        if gather not in (None, "ddp"):
            raise ParameterError(
                "{option} to be None or 'ddp'",
                got=repr(gather),
                todo="Pass one of these.",
                option="gather",
            )
        self.queue_size, self.gather = int(queue), gather
        self.queue = Queue(self.queue_size) if queue else None
        self._warned = False
        #: Batches without a pair, counted where the scores are.
        self.register_buffer("without_pairs", torch.zeros((), dtype=torch.int64), persistent=False)

    @speaks
    def forward(
        self, scores: Tensor, y: Tensor, weight: Tensor | None = None, group: Tensor | None = None
    ) -> Tensor:
        """The loss of a batch.

        Parameters
        ----------
        scores : (rows,) or (rows, labels) tensor
            Raw outputs of a network. Half precision is computed as float32, with sums in float64.
        y : tensor of the same shape
            1 against 0 or -1; NaN is a missing label. Columns are separate tasks: the loss is the
            mean over the columns that have both classes.
        weight : (rows,) tensor, optional
        group : (rows,) tensor of integers, optional
            Only pairs of the same group count.
        """
        check_batch(scores, y, weight, group)
        if group is not None and not self.takes_groups:
            raise DataError("rows without groups", got="groups", todo="Use AUCLoss, or drop them.")
        if self.queue is not None and (group is not None or scores.ndim == 2):
            raise IncompatibleError(
                "one column of scores without groups for {option}",
                got="groups" if group is not None else "several columns",
                todo="Drop {option}.",
                option="queue",
            )
        if scores.dtype in (torch.float16, torch.bfloat16):
            scores = scores.float()
        if scores.ndim == 1:
            return self._column(scores, y, weight, group)[0]
        columns = range(scores.shape[1])

        def one(x: Tensor | None, k: int) -> Tensor | None:
            return x[:, k] if x is not None and x.ndim == 2 else x

        found = [
            self._column(scores[:, k], y[:, k], one(weight, k), one(group, k)) for k in columns
        ]
        if not found:
            return scores.sum()
        values = torch.stack([value for value, _ in found])
        present = torch.stack([both for _, both in found]).to(values.dtype)
        return values.sum() / present.sum().clamp(min=1.0)

    def _column(
        self, scores: Tensor, y: Tensor, weight: Tensor | None, group: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The loss of a column, and whether it has both classes."""
        batch, processes = read_batch(scores, y, weight, group), 1
        if self.gather == "ddp":
            batch, processes = gather(batch)
        own = batch
        if self.queue is not None:
            batch = batch.with_rows(self.queue.rows(scores))
            if self.training:
                self.queue.store(own)
        if not batch.scores.shape[0]:
            return scores.sum(), scores.new_zeros((), dtype=torch.bool)
        both = has_both(batch)
        self._count(both)
        value = self._value(batch)
        if processes > 1:  # DDP divides the gradient by the number of processes
            value = value.detach() + processes * (value - value.detach())
        return value, both

    def _count(self, both: Tensor) -> None:
        self.without_pairs.add_((~both).to(self.without_pairs.device))
        if both.device.type == "cpu" and not bool(both) and not self._warned:
            self._warned = True
            warn(
                DataWarning(
                    does="gets a batch without rows of both classes, whose loss and gradient are 0",
                    todo="Draw both classes into every batch, or set {option}.",
                    option=Option("queue", bare=True),
                )
            )

    def _value(self, batch: Batch) -> Tensor:
        """The value of a batch; NaN if a score or the value is not finite, or a label not valid."""
        self.check(batch)

        def scan(scores: Tensor) -> tuple[Tensor, Tensor]:
            value, slopes = self.scan(scores, batch)
            fine = torch.isfinite(scores.detach()).all() & torch.isfinite(value) & batch.valid
            none = torch.full((), float("nan"), dtype=value.dtype, device=value.device)
            return torch.where(fine, value, none), torch.where(fine, slopes, none)

        value: Tensor = _Scanned.apply(batch.scores, scan)[0]
        return value

    def check(self, batch: Batch) -> None:
        """Raise for batches that the loss cannot use, by their size."""

    def scan(self, scores: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Value and slopes of a batch."""
        raise NotImplementedError


def has_both(batch: Batch) -> Tensor:
    """Whether both classes have a row of positive weight; nobody waits for it."""
    counts = torch.ones_like(batch.positive) if batch.weight is None else batch.weight > 0
    return (batch.positive & counts).any() & (~batch.positive & counts).any()
