"""Checkpoints of fits: what they hold, and that no damage to one changes what is reported."""

import io
import json
import warnings

import numpy as np
import pytest

from auctor import MetricClassifier
from auctor.core.archive import write_archive
from auctor.core.errors import AuctorError, DataError
from auctor.core.result import Status
from auctor.fit.checkpoint import KIND, Checkpoint
from tests.damage import damaged, members_of, packed

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 6))
Y = X @ [1.0, -2.0, 0.5, 0.0, 0.0, 1.0] + RNG.normal(size=150) > 0.0
ROWS = {"rows": 150}
MODELS = {
    "lbfgs": MetricClassifier("log_loss", solver="lbfgs", tol=1e-6, strength=1e-3),
    "lhac": MetricClassifier("log_loss", solver="lhac", penalty="l1", tol=1e-6, strength=1e-3),
    "auto": MetricClassifier("auc", tol=1e-5, strength=1e-3),
}


def interrupted(model, path):
    """The bytes of a checkpoint of a fit that was ended early."""
    model = model.__class__(**{**model.get_params(), "max_iter": 4})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Checkpoint(path, ROWS, model.get_params(), every=1).keeping():
            model.fit(X, Y)
    return path.read_bytes()


def resumed(model, path):
    """The solution of a fit that goes on from a checkpoint."""
    with Checkpoint(path, ROWS, model.get_params()).keeping() as checkpoint:
        return model.continue_from(checkpoint).fit(X, Y).solution_


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_goes_on_with_another_budget(name, tmp_path):
    model, path = MODELS[name], tmp_path / "c"
    interrupted(model, path)
    again = Checkpoint(path, ROWS, model.get_params())
    assert again.changed == {"max_iter": 4}
    wanted = model.fit(X, Y).solution_
    solution = resumed(model, path)
    assert solution.certified
    assert solution.status is Status.CONVERGED
    assert abs(solution.value - wanted.value) <= wanted.gap + solution.gap


def test_other_parameters_and_rows_are_refused(tmp_path):
    model, path = MODELS["lbfgs"], tmp_path / "c"
    interrupted(model, path)
    with pytest.raises(DataError, match=r"another strength: 0.5 instead of 0.001"):
        Checkpoint(path, ROWS, {**model.get_params(), "strength": 0.5})
    with pytest.raises(DataError, match="another rows: 7 instead of 150"):
        Checkpoint(path, {"rows": 7}, model.get_params())


def test_a_file_holds_no_bound_and_no_gap(tmp_path):
    """What would make an empty model optimal is not in a file, and not taken from one."""
    model, path = MODELS["lbfgs"], tmp_path / "c"
    content = interrupted(model, path)
    members = members_of(content)
    meta = json.loads(members["meta.json"])
    assert not {"bound", "gap", "lower", "certified"} & set(_keys(meta))
    # The empty model, with every claim that an attacker may think of.
    meta["progress"]["arguments"]["points"] = [{"array": "progress.points.0"}]
    meta["progress"]["arguments"]["learned"] = None
    with io.BytesIO() as file:
        np.save(file, np.append(np.zeros(6), np.log(Y.mean() / (1.0 - Y.mean()))))
        members = {"points/progress.points.0.npy": file.getvalue()}
    meta["arrays"] = {"progress.points.0": ["<f8", [7]]}
    path.write_bytes(packed({**members, "meta.json": json.dumps(meta).encode()}))
    solution = resumed(model, path)
    assert np.abs(solution.coef).max() > 0.1
    for name in ("bound", "gap", "lower"):
        meta["progress"]["arguments"][name] = 1e9
        path.write_bytes(packed({**members, "meta.json": json.dumps(meta).encode()}))
        with pytest.raises(DataError, match="needs a whole file"):
            Checkpoint(path, ROWS, model.get_params())
        del meta["progress"]["arguments"][name]


def _keys(value):
    if isinstance(value, dict):
        yield from value
    for entry in value.values() if isinstance(value, dict) else value:
        if isinstance(entry, dict | list):
            yield from _keys(entry)


def test_a_file_of_the_old_format_says_what_to_do(tmp_path):
    path = tmp_path / "c"
    write_archive(
        path, {"format": 1, "data": ROWS, "parameters": {}}, {"w0": np.zeros(7)}, kind=KIND
    )
    with pytest.raises(DataError, match=r"format 2; got 1 .* Start again without it"):
        Checkpoint(path, ROWS, {})


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_damage_is_refused_or_does_no_harm(seed, tmp_path):
    """A file is refused, or the fit reaches the same optimum with a certificate of its own."""
    rng, path = np.random.default_rng(seed), tmp_path / "c"
    wanted = {name: model.fit(X, Y).solution_ for name, model in MODELS.items()}
    contents = {name: interrupted(model, tmp_path / name) for name, model in MODELS.items()}
    accepted = 0
    for k in range(300 if seed == 0 else 5000):
        name = list(MODELS)[k % len(MODELS)]
        path.write_bytes(damaged(contents[name], rng))
        try:
            solution = resumed(MODELS[name], path)
        except AuctorError:
            continue
        accepted += 1
        assert solution.status is Status.CONVERGED
        assert solution.certified
        assert 0.0 <= solution.gap <= solution.tol
        best = wanted[name]
        assert abs(solution.value - best.value) <= best.gap + solution.gap
    assert accepted
