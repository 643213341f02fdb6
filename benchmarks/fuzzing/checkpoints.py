"""Checkpoints of fits and of streams, damaged or forged: refused, or resumed with a right proof.

A forged file has right checksums. A fit that goes on from one may start anywhere, but its
certificate must hold: the value is at most the gap above the optimum, which is known.
"""

from __future__ import annotations

import atexit
import io
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from auctor import MetricClassifier
from auctor.core.archive import write_members
from auctor.core.errors import AuctorError
from auctor.fit.checkpoint import Checkpoint
from auctor.streaming import StreamingAUC
from auctor.streaming.checkpoint import load_checkpoint, save_checkpoint
from benchmarks.fuzz import Case
from benchmarks.fuzzing.models import Change, members_of
from benchmarks.fuzzing.mutate import mutated

ROWS, D = 80, 5
#: Identity of the rows and parameters of the fits, as their checkpoints store it.
DATA, PARAMETERS = {"rows": ROWS}, {"metric": "log_loss"}
#: Relative rounding error of an objective.
ROUNDING = 1e-10

_ROOM = tempfile.TemporaryDirectory()
atexit.register(_ROOM.cleanup)
_PATH = Path(_ROOM.name) / "case.ckpt"
X = np.random.default_rng(1).normal(size=(ROWS, D))
Y = (X[:, 0] + np.random.default_rng(2).normal(size=ROWS) > 0.3).astype(int)


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Checkpoints of both kinds, changed."""
    files = seeds()
    everything = [data for kind in files.values() for data in kind]
    while True:
        kind = ("fit", "stream")[int(rng.integers(2))]
        origin = files[kind][int(rng.integers(len(files[kind])))]
        if rng.random() < 0.3:
            yield Case(f"{kind}: bytes", mutated(origin, everything, rng), {})
            continue
        change, members = Change(rng), members_of(origin) or {}
        for _ in range(1 + int(rng.integers(3))):
            way = ("json", "array", "array", "member", "byte")[int(rng.integers(5))]
            members = getattr(change, f"change_{way}")(members)
        made = io.BytesIO()
        write_members(made, members)
        yield Case(f"{kind}: forged", made.getvalue(), {})


def check(case: Case) -> str:
    """ "refused" or "accepted"; a wrong certificate, or a learner that cannot go on, raises."""
    _PATH.write_bytes(case.data)
    kind, way = case.kind.split(": ")
    same = members_of(case.data) in [members_of(one) for one in seeds()[kind]]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            (_fit if kind == "fit" else _stream)()
        except AuctorError:
            assert case.data not in seeds()[kind], "refused"
            return "refused"
    assert way == "forged" or same, "accepted"
    return "accepted"


def _fit() -> None:
    """Go on from the file; the certificate must hold."""
    model = MetricClassifier("log_loss", strength=0.01, solver="lbfgs", max_iter=3)
    with Checkpoint(_PATH, DATA, PARAMETERS).keeping():
        model.fit(X, Y)
    found = model.solution_
    assert np.isfinite(found.coef).all(), "weights that are no numbers"
    assert np.isfinite(found.value), "an objective that is no number"
    above = found.value - optimum()
    assert not found.gap < above - ROUNDING, f"wrong certificate: {found.gap} < {above}"
    assert found.converged == (found.gap <= found.tol), "wrong certificate: status"


def _stream() -> None:
    learner = StreamingAUC(window=30)
    load_checkpoint(_PATH, learner)
    learner.partial_fit(X, learner.classes_[np.arange(ROWS) % 2])
    assert learner.decision_function(X).shape == (ROWS,)


@cache
def optimum() -> float:
    """Lower bound of the objective."""
    model = MetricClassifier("log_loss", strength=0.01, tol=1e-12, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.fit(X, Y).solution_
    return float(found.value - found.gap)


@cache
def seeds() -> dict[str, list[bytes]]:
    """Checkpoints as they are written."""
    fits, streams = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for steps in (1, 5, 50):
            path = Path(_ROOM.name) / f"{steps}.ckpt"
            model = MetricClassifier("log_loss", strength=0.01, solver="lbfgs", max_iter=steps)
            with Checkpoint(path, DATA, PARAMETERS).keeping():
                model.fit(X, Y)
            fits.append(path.read_bytes())
            learner = StreamingAUC(window=30).partial_fit(X[: 20 * steps], Y[: 20 * steps])
            save_checkpoint(path, learner, 20 * steps)
            streams.append(path.read_bytes())
    return {"fit": fits, "stream": streams}
