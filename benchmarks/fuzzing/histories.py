"""Histories of searches, damaged or forged: refused, or a search that goes on.

A forged file has a right checksum. A search that goes on from one asks for points of the cube,
takes their values, keeps the lowest, and can be saved and read again with the same next point.
"""

from __future__ import annotations

import atexit
import json
import tempfile
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from auctor.core.errors import AuctorError
from auctor.tune import DfoTr
from benchmarks.fuzz import Case
from benchmarks.fuzzing.models import Change
from benchmarks.fuzzing.mutate import mutated

#: Evaluations after which a history is kept, and those that follow a damaged one.
EVALUATIONS, MORE = (0, 3, 12, 40, 120), 6

_ROOM = tempfile.TemporaryDirectory()
atexit.register(_ROOM.cleanup)
_PATH, _AGAIN = Path(_ROOM.name) / "case.json", Path(_ROOM.name) / "again.json"


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Histories of all kinds, changed."""
    while True:
        origin = seeds()[int(rng.integers(len(seeds())))]
        if rng.random() < 0.3:
            yield Case("bytes", mutated(origin, seeds(), rng), {})
            continue
        kept, change = json.loads(origin)["history"].encode(), Change(rng)
        for _ in range(1 + int(rng.integers(3))):
            kept = change.change_json({"meta.json": kept})["meta.json"]
        yield Case("forged", sealed(kept.decode()), {})


def sealed(text: str) -> bytes:
    """The file of a history, with a right checksum."""
    kept = {"format": 2, "sha256": sha256(text.encode()).hexdigest(), "history": text}
    return json.dumps(kept).encode()


def check(case: Case) -> str:
    """ "refused" or "accepted"; a search that cannot go on raises."""
    _PATH.write_bytes(case.data)
    with np.errstate(all="ignore"):
        try:
            engine = DfoTr.load(_PATH)
        except AuctorError:
            assert case.data not in seeds(), "refused"
            return "refused"
        if case.kind == "bytes":
            assert history(case.data) in [history(one) for one in seeds()], "accepted"
        go_on(engine)
    return "accepted"


def history(data: bytes) -> Any:
    """What a file says, however it is written."""
    return json.loads(json.loads(data)["history"])


def go_on(engine: DfoTr) -> None:
    """Ask and tell; the best value is that of a point, and a copy asks for the same point."""
    d = engine.state.dims
    for k in range(MORE):
        engine.save(_AGAIN)
        point = engine.ask(1)
        assert point.shape == (1, d), "another shape"
        assert ((point >= 0.0) & (point <= 1.0)).all(), "a point outside the cube"
        assert np.array_equal(DfoTr.load(_AGAIN).ask(1), point), "another point"
        engine.tell(point, [np.nan if k == 1 else bowl(point[0])])
    assert engine.best_value == np.nanmin(engine.state.values), "another best value"
    best = engine.best_point
    assert best is not None, "no best point"
    assert ((best >= 0.0) & (best <= 1.0)).all(), "a best point outside the cube"


def bowl(x: np.ndarray) -> float:
    """A smooth function with its minimum inside."""
    return float(((x - 0.3) ** 2).sum() + 0.1 * x[0] * x[-1])


@cache
def seeds() -> tuple[bytes, ...]:
    """Histories of searches of all kinds, after few and after many evaluations."""
    made, rng = [], np.random.default_rng(0)
    for options in (
        {"kind": "smooth", "design": 4},
        {"kind": "noisy", "restarts": False},
        {"kind": "stepwise", "space": "a space", "seed": 3},
        {"kind": "smooth", "model": "linear", "last_radius": 0.01, "start": [0.2, 0.9, 0.5]},
    ):
        engine, told = DfoTr(3, **options), 0  # type: ignore[arg-type]
        for wanted in EVALUATIONS:
            while told < wanted:
                point = engine.ask(1 + told % 2)
                engine.tell(point, [bowl(x) + 1e-3 * rng.normal() for x in point])
                told += len(point)
            if wanted == EVALUATIONS[2]:
                engine.ask(2)  # points that were asked for and not told
            engine.save(_PATH)
            made.append(_PATH.read_bytes())
    return tuple(made)
