"""A batch of scores and labels: checks, classes, rows of other batches or processes."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import torch
import torch.distributed

from auctor.core.errors import DataError, DataTypeError

#: A tensor; PyTorch is an extra, whose types are not read.
Tensor: TypeAlias = Any


class Batch(NamedTuple):
    """Scores of rows with their classes, weights and groups.

    ``valid`` is a boolean without dimension: whether labels and weights are those of a loss. On a
    GPU nobody waits for it; the loss is NaN where it does not hold.
    """

    scores: Tensor
    positive: Tensor
    weight: Tensor | None
    group: Tensor | None
    valid: Tensor

    def with_rows(self, other: Batch) -> Batch:
        """The rows of this batch, then those of another one, whose scores are constants."""
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = torch.cat([_ones(self), _ones(other)])
        return Batch(
            torch.cat([self.scores, other.scores.detach().to(self.scores.dtype)]),
            torch.cat([self.positive, other.positive]),
            weight,
            self.group,
            self.valid,
        )


def _ones(batch: Batch) -> Tensor:
    scores, weight = batch.scores, batch.weight
    return torch.ones_like(scores.detach()) if weight is None else weight.to(scores.dtype)


def check_batch(scores: Tensor, y: Tensor, weight: Tensor | None, group: Tensor | None) -> None:
    """Refuse what can be told from shapes, kinds of numbers and devices alone."""
    for name, other in (("scores", scores), ("y", y), ("weight", weight), ("group", group)):
        if other is not None and not isinstance(other, torch.Tensor):
            kind = type(other).__name__
            raise DataTypeError(f"{name} as a tensor; got {kind}. Pass torch.as_tensor of it.")
    if not scores.is_floating_point():
        raise DataTypeError(
            "scores of floating point", got=scores.dtype, todo="Pass the raw outputs of a network."
        )
    if scores.ndim not in (1, 2):
        raise DataError(
            "scores of shape (rows,) or (rows, labels)",
            got=tuple(scores.shape),
            todo="Pass scores.squeeze(-1).",
        )
    for name, other in (("y", y), ("weight", weight), ("group", group)):
        if other is None:
            continue
        fits = other.shape == scores.shape
        if name != "y" and scores.ndim == 2:
            fits = fits or other.shape == scores.shape[:1]
        if not fits:
            raise DataError(
                f"{name} of the shape of the scores, {tuple(scores.shape)}",
                got=tuple(other.shape),
                todo="Pass scores.squeeze(-1): (rows, 1) against (rows,) would be a matrix.",
            )
        if other.device != scores.device:
            raise DataError(
                f"{name} where the scores are, {scores.device}",
                got=other.device,
                todo=f"Pass {name}.to(scores.device).",
            )
    if group is not None and (group.is_floating_point() or group.is_complex()):
        raise DataTypeError(
            "one integer per row as group", got=group.dtype, todo="Number the groups."
        )


def read_batch(scores: Tensor, y: Tensor, weight: Tensor | None, group: Tensor | None) -> Batch:
    """One column of scores with its classes: 1 against 0 or -1, or True against False.

    Rows whose label is NaN have weight 0. On a CPU other labels and negative weights are refused;
    elsewhere that would have to wait for the device, and the loss is NaN.
    """
    missing = torch.isnan(y) if y.is_floating_point() else None
    if y.dtype == torch.bool:
        valid = torch.ones((), dtype=torch.bool, device=y.device)
    else:
        zero, minus = y == 0, y == -1
        known = zero | minus | (y == 1)
        known = known if missing is None else known | missing
        valid = known.all() & ~(zero.any() & minus.any())
    if weight is not None:
        valid = valid & (weight >= 0).all() & torch.isfinite(weight).all()
    if y.device.type == "cpu" and not bool(valid):
        raise DataError(
            "labels 0 and 1, or -1 and +1, and weights that are not negative",
            got="others",
            todo="Encode the labels of each column, with NaN for missing ones.",
        )
    if missing is not None:
        present = (~missing).to(scores.dtype)
        weight = present if weight is None else weight.to(scores.dtype) * present
    return Batch(scores, y > 0, weight, group, valid)


class Gathered(NamedTuple):
    """Batches of all processes as one, and the number of processes."""

    batch: Batch
    processes: int


def gather(batch: Batch) -> Gathered:
    """The rows of all processes, of which only those of this one are differentiated.

    Batches may be of different sizes: they are padded with rows of weight 0.
    """
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return Gathered(batch, 1)
    here, processes = torch.distributed.get_rank(), torch.distributed.get_world_size()
    scores = batch.scores
    size = torch.tensor([scores.shape[0]], device=scores.device)
    sizes = [torch.empty_like(size) for _ in range(processes)]
    torch.distributed.all_gather(sizes, size)
    most = int(torch.stack(sizes).max())
    pad = most - scores.shape[0]

    def padded(x: Tensor) -> Tensor:
        return torch.cat([x, x.new_zeros(pad)])

    own = [padded(scores), padded(batch.positive.to(scores.dtype)), padded(_ones(batch))]
    # One message: scores, classes and weights of each process.
    sent = torch.cat([one.detach() for one in own])
    parts = [torch.empty_like(sent) for _ in range(processes)]
    torch.distributed.all_gather(parts, sent)
    rows = [list(part.split(most)) for part in parts]
    rows[here] = own
    group = None
    if batch.group is not None:
        mine = padded(batch.group)
        groups = [torch.empty_like(mine) for _ in range(processes)]
        torch.distributed.all_gather(groups, mine)
        group = torch.cat(groups)
    together = [torch.cat([one[k] for one in rows]) for k in range(3)]
    found = Batch(together[0], together[1] > 0.5, together[2], group, batch.valid)
    return Gathered(found, processes)


class Queue(torch.nn.Module):
    """The latest scores of each class, which make more pairs than a batch has.

    Parameters
    ----------
    size : int
        Scores of each class.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        # One place more than the size: rows that are not stored are written there.
        for name in ("positive", "negative"):
            self.register_buffer(f"{name}_scores", torch.zeros(size + 1))
            self.register_buffer(f"{name}_weight", torch.zeros(size + 1))
            self.register_buffer(f"{name}_next", torch.zeros((), dtype=torch.int64))

    def rows(self, like: Tensor) -> Batch:
        """The stored rows; places that are not filled yet have weight 0."""
        parts = [self._parts(name) for name in ("positive", "negative")]
        positive = torch.arange(2 * self.size, device=like.device) < self.size
        scores, weight = (torch.cat([part[k][:-1] for part in parts]) for k in (0, 1))
        return Batch(scores, positive, weight, None, positive.any())

    def _parts(self, name: str) -> tuple[Tensor, Tensor, Tensor]:
        kinds = ("scores", "weight", "next")
        found: list[Tensor] = [getattr(self, f"{name}_{kind}") for kind in kinds]
        return found[0], found[1], found[2]

    def store(self, batch: Batch) -> None:
        """Write the scores of a batch over the oldest ones of their class; waits for no number."""
        weight = _ones(batch).detach().to(torch.float32)
        # What single precision cannot hold would make every later batch infinite.
        latest = batch.scores.detach().to(torch.float32)
        fine = torch.isfinite(latest) & (weight > 0)
        for name, mine in (("positive", batch.positive), ("negative", ~batch.positive)):
            scores, weights, begin = self._parts(name)
            mine = mine & fine
            rank = torch.cumsum(mine, 0)
            count = mine.sum()
            # Of more rows than there are places, the last ones stay.
            mine = mine & (rank > count - self.size)
            place = torch.where(mine, (begin + rank - 1) % self.size, self.size)
            scores.scatter_(0, place, latest.to(scores.dtype))
            weights.scatter_(0, place, weight)
            begin.copy_((begin + count) % self.size)

    def _load_from_state_dict(
        self, state_dict: dict[str, Tensor], prefix: str, *rest: object
    ) -> None:
        """Refuse a queue of another size by a message that says so."""
        stored = state_dict.get(prefix + "positive_scores")
        if stored is not None and stored.shape[0] != self.size + 1:
            raise DataError(
                f"a stored queue of {self.size} scores",
                got=stored.shape[0] - 1,
                todo="Construct the loss with {option} of that size.",
                option="queue",
            )
        super()._load_from_state_dict(state_dict, prefix, *rest)
