"""The module of any loss of auctor, by its compiled kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from auctor.core.capabilities import CURVED
from auctor.core.protocols import Loss
from auctor.core.types import Target
from auctor.fit.registry import as_loss
from auctor.torch.batch import Batch, Tensor
from auctor.torch.module import MetricLoss, has_both


class Wrapped(MetricLoss):
    """Any loss of auctor on binary labels, by its compiled kernel on the processor.

    Scores come to this process, so this is for losses that have no module of their own. Second
    derivatives are the curvature products of the loss; without them, differentiating twice raises.

    Parameters
    ----------
    loss : Loss
        Such as ``auctor.losses.AveragePrecision()``.
    queue, gather
        As in `MetricLoss`.

    Examples
    --------
    >>> import torch
    >>> from auctor.losses import Logistic
    >>> round(Wrapped(Logistic())(torch.zeros(2), torch.tensor([1, 0])).item(), 6)
    0.693147
    """

    takes_groups = True

    def __init__(self, loss: Loss, *, queue: int = 0, gather: str | None = None) -> None:
        super().__init__(queue=queue, gather=gather)
        self.loss = as_loss("loss", loss)

    def _value(self, batch: Batch) -> Tensor:
        """The value of a batch, with gradient and curvature of the compiled loss."""
        y = np.where(batch.positive.cpu().numpy(), 1.0, -1.0)
        weight = None if batch.weight is None else batch.weight.double().cpu().numpy()
        group = None if batch.group is None else batch.group.cpu().numpy()
        finite = bool(torch.isfinite(batch.scores.detach()).all()) and bool(batch.valid)
        if not finite:
            return batch.scores.sum() * float("nan")
        if not bool(has_both(batch)):
            return batch.scores.sum() * 0.0
        target = Target(y, weight, group)
        self.loss.check_target(target)
        value: Tensor = _Compiled.apply(batch.scores, self.loss, target)
        return value


def _numbers(x: Tensor) -> Any:
    return x.detach().double().cpu().numpy()


class _Compiled(torch.autograd.Function):
    """Value of a compiled loss."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, loss: Any, target: Target) -> Tensor:
        value, slopes = loss.value_grad(_numbers(scores), target)
        ctx.loss, ctx.target = loss, target
        ctx.save_for_backward(scores, torch.as_tensor(slopes).to(scores))
        return scores.new_tensor(value)

    @staticmethod
    def backward(ctx: Any, rate: Tensor) -> tuple[Tensor, None, None]:
        scores, slopes = ctx.saved_tensors
        if torch.is_grad_enabled():
            slopes = _Slopes.apply(scores, slopes, ctx.loss, ctx.target)
        return rate * slopes, None, None


class _Slopes(torch.autograd.Function):
    """Slopes of a compiled loss, whose derivative is its curvature."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, slopes: Tensor, loss: Any, target: Target) -> Tensor:
        ctx.loss, ctx.target = loss, target
        ctx.save_for_backward(scores)
        return slopes.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, change: Tensor) -> tuple[Tensor, None, None, None]:
        (scores,) = ctx.saved_tensors
        curvature = CURVED.of(ctx.loss).curvature(_numbers(scores), ctx.target)
        product = curvature.matvec(_numbers(change))
        return torch.as_tensor(product).to(scores), None, None, None
