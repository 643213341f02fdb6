import json

import pytest

from auctor import lab, losses, penalties
from auctor.cli.listing import PartKind, parts
from auctor.cli.main import main
from auctor.fit.metric import METRICS
from auctor.fit.registry import LOSSES, PENALTIES
from auctor.solvers.registry import SOLVERS
from auctor.streaming.registry import learners
from auctor.tables.formats import FORMATS


@pytest.mark.parametrize(
    ("kind", "registry"),
    [
        (PartKind.METRICS, METRICS),
        (PartKind.LOSSES, LOSSES),
        (PartKind.PENALTIES, PENALTIES),
        (PartKind.SOLVERS, SOLVERS),
    ],
)
def test_every_name_is_listed_with_a_line(kind, registry):
    listed = {part.name: part.summary for part in parts(kind)}
    assert set(registry) <= {name.partition("(")[0] for name in listed}
    assert all(summary and "\n" not in summary for summary in listed.values())


def test_every_exported_class_is_listed_once():
    for kind, exported, base in (
        (PartKind.LOSSES, losses.__all__, "BaseLoss"),
        (PartKind.PENALTIES, penalties.__all__ + lab.penalties.__all__, "BasePenalty"),
    ):
        listed = parts(kind)
        assert len({part.name for part in listed}) == len(listed)
        assert len(listed) == len(exported) - 1
        assert not any(base in part.name for part in listed)


def test_metrics_name_their_surrogates_default_first():
    summary = dict(parts(PartKind.METRICS))["auc"]
    assert summary.endswith(f"(surrogates: {', '.join(METRICS['auc'].surrogates)})")


def test_text(capsys, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for word in ("metrics", "log_loss", "squared_hinge", "losses.Hinge", "elastic_net", "newton"):
        assert word in out
    assert "\x1b" not in out  # not a terminal: no colour


def test_one_kind(capsys):
    assert main(["list", "solvers"]) == 0
    out = capsys.readouterr().out
    assert "fista" in out
    assert "elastic_net" not in out


def test_json(capsys):
    assert main(["list", "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert list(numbers) == [kind.value for kind in PartKind]
    assert numbers["solvers"][0].keys() == {"name", "summary"}


def test_unknown_kind(capsys):
    assert main(["list", "poems"]) == 2
    assert "solvers" in capsys.readouterr().err


def test_learners_and_formats():
    listed = {part.name: part.summary for part in parts(PartKind.LEARNERS)}
    assert set(listed) == set(learners())
    assert all(summary and "\n" not in summary for summary in listed.values())
    found = {part.name: part.summary for part in parts(PartKind.FORMATS)}
    assert set(found) == set(FORMATS) - {"auto"}
    assert ".feather" in found["arrow"]
    assert "any other name" in found["svmlight"]


def test_estimators_and_tools():
    listed = {part.name: part.summary for part in parts(PartKind.ESTIMATORS)}
    assert {"MetricClassifier", "KernelClassifier", "KernelRegressor"} <= set(listed)
    tools = {part.name: part.summary for part in parts(PartKind.TOOLS)}
    assert {"lab.qp.solve", "lab.qp.hard_margin", "lab.completion.complete"} <= set(tools)
    assert all(summary and "\n" not in summary for summary in (listed | tools).values())
