"""The site builds without a warning and needs no network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow

pytest.importorskip("mkdocs")
pytest.importorskip("material")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; the scripts of the gallery have tests of their own."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    environment = {**os.environ, "AUCTOR_DOCS_GALLERY": "0", "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stdout + done.stderr)
    return folder


def test_every_page_is_there(site):
    for name in ("index", "choose", "cli", "maths", "benchmarks", "options", "gallery/fraud"):
        assert (site / f"{name}.html").stat().st_size > 2_000, name
    assert not list(site.rglob("*.py"))


def test_nothing_is_loaded_from_elsewhere(site):
    loads = r"""(?:<(?:script|img|iframe|source)[^>]*\ssrc|<link[^>]*\shref)=["']?(?:https?:)?//"""
    for page in site.rglob("*.html"):
        found = re.findall(loads, page.read_text(encoding="utf-8"))
        assert not found, (page.name, found)
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//", sheet.read_text(encoding="utf-8"))


def test_no_machine_is_named(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert str(ROOT) not in text, page.name


def test_formulas_are_drawn_without_scripts(site):
    page = (site / "maths.html").read_text(encoding="utf-8")
    assert page.count("<math") > 40
    assert page.count('display="block"') >= 7
    assert "arithmatex" not in page
    assert "\\frac" not in page
