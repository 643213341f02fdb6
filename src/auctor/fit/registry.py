"""Names that users type, resolved to objects in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import cast

from auctor.core.checks import meant
from auctor.core.errors import Option, ParameterError
from auctor.core.protocols import Loss, Penalty
from auctor.losses import Absolute, EpsilonInsensitive, Huber, Poisson, Quantile, Squared
from auctor.losses.gamma import Gamma
from auctor.penalties import L1, L2, ElasticNet, NoPenalty

#: Losses for regression by name.
LOSSES: dict[str, Callable[[], Loss]] = {
    "squared": Squared,
    "huber": Huber,
    "absolute": Absolute,
    "quantile": Quantile,
    "epsilon_insensitive": EpsilonInsensitive,
    "poisson": Poisson,
    "gamma": Gamma,
}


def _elastic_net(strength: float, l1_ratio: float | None) -> Penalty:
    return ElasticNet(strength, 0.5 if l1_ratio is None else l1_ratio)


#: Penalties by name, made from (strength, l1_ratio).
PENALTIES: dict[str, Callable[[float, float | None], Penalty]] = {
    "none": lambda strength, l1_ratio: NoPenalty(),
    "l2": lambda strength, l1_ratio: L2(strength),
    "l1": lambda strength, l1_ratio: L1(strength),
    "elastic_net": _elastic_net,
}


def resolve_loss(loss: object, losses: Mapping[str, Callable[[], Loss]] = LOSSES) -> Loss:
    """The loss of a name, by default for regression; a loss object is returned unchanged."""
    if isinstance(loss, str):
        return losses[known("loss", loss, losses)]()
    return as_loss("loss", loss)


def resolve_penalty(penalty: object, strength: float, l1_ratio: float | None) -> Penalty:
    """The penalty of a name and a strength; a penalty object has its own strength."""
    if l1_ratio is not None and penalty != "elastic_net":
        raise ParameterError(
            f"`penalty='elastic_net'` to use `l1_ratio`; got {penalty!r}. Drop `l1_ratio`."
        )
    if penalty is None:
        penalty = "none"
    if isinstance(penalty, str):
        return PENALTIES[known("penalty", penalty, PENALTIES)](strength, l1_ratio)
    if isinstance(penalty, type) or not hasattr(penalty, "prox"):
        raise ParameterError(
            f"`penalty` as a name or an object; got {penalty!r}. Names: {', '.join(PENALTIES)}."
        )
    return cast(Penalty, penalty)


def known(
    what: str,
    name: object,
    table: Mapping[str, object],
    also: Iterable[str] = (),
    to: Option | None = None,
) -> str:
    """The name, if the table has it, else an error that suggests a similar name.

    ``also`` are further names to suggest, such as aliases; ``to`` is another parameter with which
    only these names go together.
    """
    if not isinstance(name, str) or name not in table:
        raise ParameterError(
            f"{{option}}{'' if to is None else ' for {option2}'} to be one of "
            f"{', '.join(map(repr, table))} or an object",
            got=repr(name),
            todo=f"{meant(name, [*table, *also])}Pass one of these.",
            option=(what, *(() if to is None else (to,))),
        )
    return name


def as_loss(what: str, loss: object) -> Loss:
    """The object, if it is a loss; else an error."""
    if isinstance(loss, type) or not hasattr(loss, "value_grad"):
        raise ParameterError(
            f"{what} to be a name or a loss object; got {loss!r}. Pass an instance, such as "
            "auctor.losses.Logistic()."
        )
    return cast(Loss, loss)
