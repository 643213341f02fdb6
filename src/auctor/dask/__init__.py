"""Dask collections: the rows stay on the workers, which answer products and predict lazily."""

from auctor.dask.predict import lazily
from auctor.dask.workers import DaskWorkers, from_dask, with_labels

__all__ = ["DaskWorkers", "from_dask", "lazily", "with_labels"]
