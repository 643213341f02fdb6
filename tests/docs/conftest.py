import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session", autouse=True)
def tools():
    """The modules that make pages, importable by name."""
    sys.path.insert(0, str(ROOT / "docs" / "tools"))
    yield
    sys.path.remove(str(ROOT / "docs" / "tools"))
