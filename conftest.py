"""What pytest collects, from the root: the doctests of `src` do not see `tests/conftest.py`."""

import importlib.util

#: Spark ML's classes are the bases of this module, so it cannot be imported without pyspark.
collect_ignore = [] if importlib.util.find_spec("pyspark") else ["src/auctor/spark/ml.py"]

#: Fixtures of several rooms.
pytest_plugins = [
    "tests.fixtures.problems",
    "tests.fixtures.reports",
    "tests.fixtures.rows",
    "tests.fixtures.streams",
]
