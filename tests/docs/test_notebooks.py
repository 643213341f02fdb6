"""Notebooks are those of the scripts of the gallery, whose code the tests of the gallery run."""

import json

import pytest


@pytest.mark.parametrize("name", ["scorecard", "fraud", "auc_or_log_loss"])
def test_a_notebook_is_that_of_its_script(name):
    import notebooks

    script = notebooks.FOLDER / f"{name}.py"
    written = (notebooks.NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")
    assert written == notebooks.notebook(script), "Run: python docs/tools/notebooks.py"
    cells = json.loads(written)["cells"]
    code = "\n".join("".join(one["source"]) for one in cells if one["cell_type"] == "code")
    compile(code, name, "exec")
    kept = [line for line in script.read_text(encoding="utf-8").splitlines() if line in code]
    assert all(line.strip() in "\n".join(kept) for line in code.splitlines())
    assert cells[0]["source"][0].startswith("# ")


def test_no_notebook_is_left_over():
    import notebooks

    assert {path.stem for path in notebooks.NOTEBOOKS.glob("*.ipynb")} == set(notebooks.CHOSEN)
