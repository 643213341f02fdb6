"""``auctor demo`` on the tables that come with auctor."""

import json

import pytest

from auctor.cli.demo import TABLES, table_of
from auctor.cli.main import main


@pytest.mark.parametrize(("name", "shape"), [("tumours", (569, 30)), ("blocks", (1500, 10))])
def test_the_tables_are_in_the_package(name, shape):
    table = table_of(name)
    assert table.matrix.shape == shape
    assert TABLES[name][2] in table.labels


@pytest.mark.slow  # some 20 seconds; test_compare has comparisons of small tables
def test_curves_win_on_one_table_and_nothing_wins_on_the_other(tmp_path, capsys):
    assert main(["demo", "--report", str(tmp_path / "page.html"), "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    assert "LogisticRegression" in tables["tumours"]["verdict"]
    assert "curves" in tables["blocks"]["verdict"]
    assert "<html" in (tmp_path / "page.html").read_text()
