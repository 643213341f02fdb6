"""What pytest collects, from the root: the doctests of `src` do not see `tests/conftest.py`."""

import importlib.util

#: Modules whose classes derive from those of an extra, which cannot be imported without it.
OF_EXTRAS = {
    "pyspark": ["src/auctor/spark/ml.py"],
    "jax": [f"src/auctor/jax/{name}.py" for name in ("losses", "ops")],
    "torch": [
        f"src/auctor/torch/{name}.py" for name in ("batch", "losses", "module", "ops", "wrapped")
    ]
    + [f"src/auctor/gpu/{name}.py" for name in ("data", "kernels", "losses", "stores", "workers")],
}
collect_ignore = [
    path
    for extra, paths in OF_EXTRAS.items()
    if not importlib.util.find_spec(extra)
    for path in paths
]

#: Fixtures of several rooms.
pytest_plugins = [
    "tests.fixtures.problems",
    "tests.fixtures.reports",
    "tests.fixtures.rows",
    "tests.fixtures.streams",
]
