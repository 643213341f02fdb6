"""One measured bar per file; each has ``name`` and ``run(settings) -> dict``."""
