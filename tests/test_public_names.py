"""Public names: their number, and that those of the documents exist after ``import auctor``."""

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

from sklearn.base import BaseEstimator

import auctor

ROOT = Path(__file__).parents[1]
#: A dotted name of the library in a text; not the name of a file, such as auctor.toml.
NAME = re.compile(r"(?<![\w./`-])`?(auctor(?:\.[A-Za-z_]\w*)+)")
FILES = {"toml", "html", "py", "onnx", "sql"}

#: Looks up dotted names in a process that has imported nothing else.
LOOK_UP = """
import auctor, sys
from functools import reduce
from auctor.core.errors import MissingExtraError
for name in sys.argv[1:]:
    try:
        reduce(getattr, name.split(".")[1:], auctor)
    except AttributeError as error:
        print(name, error)
    except MissingExtraError:
        pass
    except ModuleNotFoundError as error:  # of an extra that is not installed
        if error.name.startswith("auctor"):
            raise
"""


def names_in_documents():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = {name for page in pages for name in NAME.findall(page.read_text(encoding="utf-8"))}
    return sorted(name for name in found if name.rpartition(".")[2] not in FILES)


def test_names_of_the_documents_exist_after_one_import():
    names = names_in_documents()
    assert {"auctor.tune.SearchCV", "auctor.to_sql"} <= set(names)
    done = subprocess.run(
        [sys.executable, "-c", LOOK_UP, *names], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_there_are_few_public_names():
    packages = [m.name for m in pkgutil.walk_packages(auctor.__path__, "auctor.") if m.ispkg]
    counts = {"auctor": len(auctor.__all__)} | {
        name: len(getattr(importlib.import_module(name), "__all__", ())) for name in packages
    }
    assert counts["auctor"] <= 16
    assert sum(n for name, n in counts.items() if not name.startswith("auctor.lab")) <= 228


def test_a_name_that_does_not_exist_is_an_attribute_error():
    for room in (auctor, auctor.linear):
        assert not hasattr(room, "Nothing")


def test_estimators_have_few_base_classes():
    rooms = [name for _, name, package in pkgutil.iter_modules(auctor.__path__) if package]
    public = [
        getattr(room, name)
        for room in (importlib.import_module(f"auctor.{name}") for name in rooms)
        for name in getattr(room, "__all__", ())
        if room.__name__.partition(".")[2] not in ("dask", "spark", "gpu", "jax", "torch")
    ]
    estimators = {one for one in public if isinstance(one, type) and issubclass(one, BaseEstimator)}
    assert len(estimators) > 12
    counts = {
        one.__name__: sum(
            base.__module__.startswith(("auctor.", "sklearn.")) for base in one.__mro__
        )
        for one in estimators
    }
    # The base class of this one, RandomizedSearchCV of scikit-learn, has eight by itself.
    assert counts.pop("SearchCV") <= 9
    assert max(counts.values()) <= 8, counts
