"""Which room may import what: every room stands in every import contract, or is named here."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "auctor"
FILES = sorted(SOURCE.rglob("*.py"))
ROOMS = {path.parent.name for path in SOURCE.glob("*/__init__.py")} | {"minimise"}
LINTER = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["tool"]["importlinter"]
CONTRACTS = {contract["name"]: contract for contract in LINTER["contracts"]}

#: Rooms that a contract does not list, and why.
EXCEPTIONS = {
    "Layers point one way": {},
    "Reports see numbers, not solvers": {
        "core": "types and errors of all rooms",
        "kernels": "metrics sort by a kernel",
        "metrics": "reports show metrics",
    },
    "scikit-learn only at the estimators: not below them": {
        "estimators": "scikit-learn's API",
        "online": "scikit-learn's API",
        "covariance": "scikit-learn's API",
        "tune": "scikit-learn's API",
        "hierarchy": "scikit-learn's API",
        **dict.fromkeys(
            ("boosting", "saved", "export", "dask", "spark", "cli", "testing"),
            "above the estimators: the next contract",
        ),
    },
    "Drawing and terminal libraries only where people look": {
        "reports": "draws",
        "cli": "prints",
        "testing": "may import every room",
    },
    "Clusters, devices and tree libraries only in the rooms of their name": {
        "dask": "the room of Dask",
        "spark": "the room of Spark",
        "boosting": "the room of LightGBM",
        "cli": "imports boosting for `auctor compare`",
        "testing": "may import every room",
    },
}

#: Files of the rooms beside the estimators that import scikit-learn, and why. Every other file of
#: these rooms is in a contract that forbids it.
ESTIMATOR_FILES = {
    "covariance": {
        "estimator": "SparseInverseCovariance",
        "selection": "SparseInverseCovarianceCV",
    },
    "tune": {
        "search": "SearchCV",
        "folds": "clones and fits the estimator of a search",
    },
    "hierarchy": {
        "base": "base class of the estimators",
        "labels": "scikit-learn's checks of what users pass as labels",
        "multi_label": "HierarchicalMultiLabel",
        "node_estimators": "clones and fits a scikit-learn classifier for every label",
        "top_down": "TopDownClassifier",
    },
}

#: Libraries of the extras, and the rooms that import them, by a statement or by `require`.
LIBRARIES = {
    "dask": {"dask"},
    "distributed": {"dask"},
    "pyspark": {"spark"},
    "pandas": {"dask", "spark", "training"},
    "lightgbm": {"boosting"},
    "optuna": {"tune"},
    "onnx": {"export"},
    "skl2onnx": {"export"},
    "matplotlib": {"reports"},
    "jinja2": {"reports"},
    "rich": {"reports", "cli"},
    "typer": {"cli"},
    "pyarrow": {"tables", "cli"},
    "zstandard": {"tables"},
    "sklearn": {"estimators", "online", "covariance", "tune", "hierarchy"},
}


def rooms_of(modules):
    return {re.sub(r"^auctor\.", "", module) for module in modules}


def listed(contract):
    """The rooms that a contract speaks of."""
    if contract["type"] == "layers":
        return set(re.findall(r"\w+", " ".join(contract["layers"])))
    other = contract["forbidden_modules"]
    inside = any(module.startswith("auctor.") for module in other)
    return rooms_of(contract["source_modules"] + (other if inside else []))


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_every_room_stands_in_every_contract(name):
    named = listed(CONTRACTS[name])
    assert ROOMS - named == EXCEPTIONS[name].keys()
    assert all(EXCEPTIONS[name].values())


def test_above_the_estimators_are_the_rooms_that_the_contract_below_leaves_out():
    below, above = (
        listed(CONTRACTS[f"scikit-learn only at the estimators: {where}"])
        for where in ("not below them", "above, only through them")
    )
    assert below | above == ROOMS - LIBRARIES["sklearn"]


@pytest.mark.parametrize("room", ESTIMATOR_FILES)
def test_in_a_room_with_estimators_only_their_files_import_scikit_learn(room):
    contract = CONTRACTS["scikit-learn only at the estimators: not in the algorithms beside them"]
    named = {module for module in rooms_of(contract["source_modules"]) if module.startswith(room)}
    with_scikit_learn = {f"{room}.{name}" for name in ESTIMATOR_FILES[room]}
    files = {f"{room}.{path.stem}" for path in (SOURCE / room).rglob("*.py")}
    assert named | with_scikit_learn | {f"{room}.__init__"} == files
    assert not named & with_scikit_learn
    for name in ESTIMATOR_FILES[room]:
        assert "sklearn" in set(imported(ast.parse((SOURCE / room / f"{name}.py").read_text())))
    assert "sklearn" not in set(imported(ast.parse((SOURCE / room / "__init__.py").read_text())))


def test_the_rooms_beside_the_estimators_are_those_that_may_import_scikit_learn():
    assert ESTIMATOR_FILES.keys() == LIBRARIES["sklearn"] - {"estimators", "online"}


def imported(tree):
    """Top names of what a file imports, by a statement or by ``require("name", ...)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "require":
            first = node.args[0]
            yield first.value.split(".")[0] if isinstance(first, ast.Constant) else "?"


def test_libraries_of_extras_are_imported_in_their_rooms():
    found = {name: set() for name in LIBRARIES}
    for path in FILES:
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            if name in found:
                found[name].add(room)
    assert found == LIBRARIES


#: Files that test how a matrix is stored, outside `data` and `kernels`, and why.
STORAGE_IS_KNOWN = {
    "evaluate/curves_info.py": "takes rows of a user's table, and may not import data",
    "reports/graph.py": "takes a user's graph, and may not import data",
    "testing/storages.py": "makes the same data in every storage, for the kit",
}


def storage_tests(tree):
    """Names by which code asks how a matrix is stored, stores it, or makes it dense itself."""
    kinds = {f"{form}_{kind}" for form in ("csr", "csc", "coo") for kind in ("array", "matrix")}
    words = {"issparse", "isspmatrix", "toarray", "todense"} | kinds
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            found = {node.attr if isinstance(node, ast.Attribute) else node.id} & words
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("hasattr", "isinstance"):
            asked = ast.walk(node.args[1])
            names = {getattr(part, "value", getattr(part, "id", None)) for part in asked}
            names = {name for name in names if isinstance(name, str)}
            found = names & (words | {"tocsr", "tocsc", "nnz"})
        else:
            continue
        if found:
            yield node


def test_storage_is_known_to_data_and_kernels_alone():
    for bad in (
        "issparse(X)",
        "hasattr(X, 'toarray')",
        "isinstance(X, csr_array | int)",
        "X.toarray()",
        "csr_array(X)",
        "sparse.coo_matrix(X)",
        "def f(X: csc_array): ...",
    ):
        assert any(storage_tests(ast.parse(bad)))
    good = "compressed_rows(X)\nisinstance(X, np.ndarray)\nX.nnz"
    assert not any(storage_tests(ast.parse(good)))
    found = {
        str(path.relative_to(SOURCE))
        for path in FILES
        if path.relative_to(SOURCE).parts[0] not in ("data", "kernels")
        and any(storage_tests(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == STORAGE_IS_KNOWN.keys()


def test_an_extra_holds_only_what_some_file_imports():
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["project"]
    tools = {"dev", "docs", "bench"}  # for people who work on the project
    wanted = {
        re.match(r"[\w-]+", requirement)[0]
        for extra, requirements in project["optional-dependencies"].items()
        if extra not in tools
        for requirement in requirements
    }
    assert wanted <= LIBRARIES.keys()
