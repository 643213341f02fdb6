"""Dask collections: the rows stay on the workers, which answer products and predict lazily."""

from auctor.dask.workers import DaskWorkers, from_dask

__all__ = ["DaskWorkers", "from_dask"]
