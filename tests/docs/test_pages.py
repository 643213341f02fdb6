"""Code on the pages runs, commands on them exist, tables on them agree with the registries."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from auctor.fit.metric import METRICS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: Pages whose Python goes with their commands: test_tasks.py runs both, in order.
IN_ORDER = ("newcomers.md", "tutorial.md")
#: Pages whose examples take seconds.
SLOW = ("additive.md",)


def blocks(path, language):
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def commands(path):
    """Calls of auctor in the shell blocks, as lists of words."""
    for block in blocks(path, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            for part in line.split("|"):
                words = shlex.split(part, comments=True)
                if words[:1] == ["auctor"]:
                    yield words[1:]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.name, marks=[pytest.mark.slow] * (path.name in SLOW))
        for path in PAGES[1:]
        if path.name not in IN_ORDER
    ],
)
def test_python_blocks_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": path.stem}
    for block in blocks(path, "python"):
        exec(compile(block, path.name, "exec"), namespace)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_commands_and_options_exist(path):
    pytest.importorskip("typer")
    from auctor.cli.app import built

    known = built()
    for name, *arguments in commands(path):
        if name.startswith("-"):
            continue
        command = known[name]
        options = {opt for p in command.params for opt in p.opts + p.secondary_opts}
        used = {word.partition("=")[0] for word in arguments if re.match(r"--?[a-z]", word)}
        assert used <= options, (name, used - options)
        command.make_context(name, list(arguments), resilient_parsing=True)


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with the files that the pages name, small."""
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    table = polars.DataFrame(X, schema=["amount", "distance", "hour"])
    table = table.with_columns(merchant=polars.Series(rng.choice(["fuel", "food"], size=300)))
    fraud = polars.Series((X[:, 0] + rng.normal(size=300) > 1.0).astype(int))
    monkeypatch.chdir(tmp_path)
    for name in ("payments.csv", "labelled.csv"):
        table.with_columns(fraud=fraud).write_csv(name)
    table.with_columns(clicked=fraud).write_csv("log.csv")
    table.write_csv("new.csv")
    for block in blocks(ROOT / "docs" / "cli.md", "toml"):
        Path("auctor.toml").write_text(block, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "page", ["README.md", "docs/cli.md", "docs/streaming.md", "docs/deployment.md"]
)
def test_commands_run(page, shop, capsys):
    pytest.importorskip("typer")
    from auctor.cli.main import main

    for words in commands(ROOT / page):
        if "-" in words or words[-1].endswith(".onnx"):  # standard input, another extra
            continue
        if words[0] == "compare":
            words += ["--folds", "2", "--inner-folds", "2", "--n-strengths", "2"]
        assert main(words) == 0, (words, capsys.readouterr().err)
        for flag in ("--out", "--report"):
            if flag in words:
                assert (shop / words[words.index(flag) + 1]).stat().st_size > 100


def test_every_command_is_explained():
    pytest.importorskip("typer")
    from auctor.cli.app import COMMANDS

    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `auctor (\w+)", text, flags=re.MULTILINE)) == set(COMMANDS)


def test_metrics_of_the_guide_are_those_of_the_registry():
    """What the table says is right; `auctor list metrics` is the complete list."""
    text = (ROOT / "docs" / "choose.md").read_text(encoding="utf-8")
    rows = re.findall(r'^\|[^|]*\| `"(\w+)(?:\([\w.]+\))?"` \|([^|]*)\|', text, flags=re.MULTILINE)
    assert len(rows) >= 10
    for name, surrogates in rows:
        assert re.findall(r"`(\w+)`", surrogates) == list(METRICS[name].surrogates)


def test_solvers_of_the_guide_exist():
    from auctor.solvers.registry import SOLVERS

    text = (ROOT / "docs" / "solvers.md").read_text(encoding="utf-8")
    table = text.partition("| loss | penalty | solver |")[2].partition("\n\n")[0]
    named = re.findall(r"\| `(\w+)`[^|]*\|$", table, flags=re.MULTILINE)
    assert named
    assert set(named) <= set(SOLVERS)


def test_no_machine_or_host_is_named():
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/(tmp|work|home|root)/", text), path
        hosts = set(re.findall(r"https?://([^/\s)]+)", text))
        assert hosts <= {"keepachangelog.com", "semver.org"}, (path, hosts)


@pytest.mark.parametrize("name", ["report.png", "train.png"])
def test_screenshots_are_small_and_shown(name):
    image = ROOT / "docs" / "img" / name
    assert image.read_bytes().startswith(b"\x89PNG")
    assert image.stat().st_size < 150_000
    assert f"docs/img/{name}" in PAGES[0].read_text(encoding="utf-8")
