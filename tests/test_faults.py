"""The suite of faults in its quick form: files, kills, bombs and names; every count is 0."""

import pytest
from benchmarks.run import Settings
from benchmarks.suites import faults


@pytest.mark.slow
@pytest.mark.parametrize("section", faults.sections, ids=lambda section: section.name)
def test_nothing_goes_wrong_without_a_word(section):
    pytest.importorskip("pyarrow")
    pytest.importorskip("typer")
    found = section.run(Settings(quick=True))
    assert [one["bar"] for one in found["bars"] if not one["pass"]] == [], found["notes"]
    assert all(part["rows"] for part in found["tables"])
