"""Numbers on the pages are those of the results files."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        *(
            f"docs/{name}.md"
            for name in ("index", "measured", "which", "choose", "record", "metric-losses")
        ),
    ],
)
def test_tables_are_up_to_date(page):
    import result_pages

    text = (ROOT / page).read_text(encoding="utf-8")
    assert text == result_pages.fill(text), "Run: python docs/tools/result_pages.py"
    assert text.count("<!-- numbers: ") == text.count("<!-- end -->") > 0
    assert ROOT / page in result_pages.PAGES


def test_no_page_is_forgotten():
    import result_pages

    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        if "<!-- numbers: " in path.read_text(encoding="utf-8"):
            assert path in result_pages.PAGES


@pytest.mark.parametrize(
    "table",
    [
        "readable",
        "honest",
        "speed",
        "quality",
        "quality_all",
        "coldstart",
        "which_f1",
        "which_cost",
        "which_auc",
        "record_counts",
        "record_missed",
    ],
)
def test_tables_hold_measured_numbers_only(table):
    import result_pages

    text = result_pages.TABLES[table]()
    measured = "".join(
        path.read_text(encoding="utf-8") for path in ROOT.glob("benchmarks/results/*.md")
    )
    rows = text.splitlines()
    assert len({row.count(" | ") for row in rows}) == 1
    for number in re.findall(r"(?<![\w.:-])\d+\.\d+(?:e-?\d+)?", "\n".join(rows[2:])):
        assert number in measured, number


def test_losses_are_shown_too():
    import result_pages

    page = result_pages.make_page()
    suites = result_pages.read_suites()
    assert page.count("| FAIL |") == sum(
        bar.verdict == "FAIL"
        for s in suites.values()
        for x in s.sections.values()
        for bar in x.bars
    )
    for suite in suites.values():
        assert suite.title in page


def test_results_of_a_run_in_progress_are_left_out(tmp_path):
    import result_pages

    (tmp_path / "a.md").write_text(
        "# A: b\n\n## s: title\n\n2026-01-01 stamp\n\n| bar | measured | limit | verdict |\n"
        "|---|---|---|---|\n| x | 1 | >= 2 | FAIL |\n\nmore\n"
    )
    (tmp_path / "a.partial.md").write_text("# half\n")
    suites = result_pages.read_suites(tmp_path)
    assert list(suites) == ["a"]
    section = suites["a"].sections["s"]
    assert section.stamp == "2026-01-01 stamp"
    assert section.bars == (("x", "1", ">= 2", "FAIL"),)
