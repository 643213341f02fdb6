"""The README's code runs, and what it says about names is true."""

import re
from pathlib import Path

from auctor.fit.metric import METRICS

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(text):
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def test_every_block_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "readme"}
    found = blocks(README)
    assert found
    for block in found:
        exec(compile(block, "README.md", "exec"), namespace)
    model = namespace["model"]
    assert model.score(namespace["X_test"], namespace["y_test"]) > 0.98
    assert model[-1].solution_.certified
    assert "test AUC:" in capsys.readouterr().out


def test_the_first_example_is_short():
    lines = [line for line in blocks(README)[0].splitlines() if line.strip()]
    assert len(lines) <= 15


def test_table_of_surrogates_is_that_of_the_registry():
    """What the table says is right; `auctor list metrics` is the complete list."""
    rows = re.findall(
        r'^\|[^|]*\| `"(\w+)(?:\([\w.]+\))?"` \|([^|]*)\|', README, flags=re.MULTILINE
    )
    assert len(rows) >= 10
    for name, surrogates in rows:
        assert re.findall(r"`(\w+)`", surrogates) == list(METRICS[name].surrogates)


def test_links_to_files_exist():
    for target in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (Path(__file__).parents[1] / target).exists(), target
