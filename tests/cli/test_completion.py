import os
import subprocess
import sys

import pytest

from auctor.cli import names
from auctor.cli.main import main
from auctor.fit.metric import ALIASES, METRICS
from auctor.fit.registry import PENALTIES
from auctor.solvers.registry import SOLVERS
from auctor.streaming.registry import learners
from auctor.tables.formats import FORMATS


@pytest.fixture
def tab(monkeypatch, capsys):
    """What bash is offered for the last word."""

    def offers(*words):
        monkeypatch.setenv("_AUCTOR_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(["auctor", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        assert main([]) == 0
        return capsys.readouterr().out.split()

    return offers


def test_commands_and_options(tab):
    assert tab("comp") == ["compare"]
    assert "--penalty" in tab("compare", "--pen")
    assert {"report", "convert", "inspect", "list", "stream", "demo"} <= set(tab(""))


@pytest.mark.parametrize("command", ["train", "compare"])
def test_names_are_those_of_the_registries(command, tab):
    assert set(tab(command, "x.svm", "--metric", "")) == {*METRICS, *ALIASES}
    assert set(tab(command, "x.svm", "--penalty", "")) == set(PENALTIES)
    assert set(tab(command, "x.svm", "--solver", "")) == {"auto", *SOLVERS}
    assert set(tab(command, "x.svm", "--format", "")) == set(FORMATS)
    assert tab(command, "x.svm", "--penalty", "ela") == ["elastic_net"]


@pytest.mark.parametrize("metric", [*METRICS, "precision_at_k(10)", "f1"])
def test_surrogates_are_those_of_the_metric(metric, tab):
    name = {"f1": "fbeta"}.get(metric, metric.partition("(")[0])
    words = ["train", "x.svm", "--metric", f"'{metric}'", "--surrogate", ""]
    assert set(tab(*words)) == {"auto", *METRICS[name].surrogates}


def test_surrogates_of_an_unknown_metric_are_all(tab):
    offered = set(tab("train", "x.svm", "--metric", "nonsense", "--surrogate", ""))
    assert offered == {"auto"}.union(*(metric.surrogates for metric in METRICS.values()))


def test_learners(tab):
    assert set(tab("stream", "--learner", "")) == set(learners())
    assert tab("stream", "--missing", "")[:3] == ["auto", "mean", "median"]


def test_kinds(tab):
    assert tab("list", "so") == ["solvers"]


def test_metrics_come_with_a_line():
    lines = dict(names.metrics(""))
    shorts = {short: f"short for {name}" for short, name in ALIASES.items()}
    assert {name: metric.summary for name, metric in METRICS.items()} | shorts == lines


def test_other_shells_show_the_lines(monkeypatch, capsys):
    monkeypatch.setenv("_AUCTOR_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "auctor train x.svm --metric au")
    assert main([]) == 0
    out = capsys.readouterr().out
    assert '"auc":"share of (positive, negative) pairs in the right order"' in out
    monkeypatch.setenv("_AUCTOR_COMPLETE", "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("auc\tshare of")


def test_the_script_for_a_shell(monkeypatch, capsys):
    monkeypatch.setenv("_AUCTOR_COMPLETE", "source_bash")
    assert main([]) == 0
    assert "complete -o default -F _auctor_completion auctor" in capsys.readouterr().out


def test_options_to_install_it(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert "--install-completion" in out
    assert "--show-completion" in out


def test_names_of_commands_and_options_import_nothing_heavy():
    code = (
        "import sys; from auctor.cli.main import main; code = main([]); "
        "heavy = {'numpy', 'scipy', 'numba', 'sklearn'} & set(sys.modules); "
        "assert not heavy, heavy; sys.exit(code)"
    )
    environment = {
        **os.environ,
        "_AUCTOR_COMPLETE": "complete_bash",
        "COMP_WORDS": "auctor train x.svm --stand",
        "COMP_CWORD": "3",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["--standardise"]
