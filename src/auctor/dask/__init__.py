"""Data of Dask collections: the rows stay on the workers, which answer products."""

from auctor.dask.workers import DaskWorkers, from_dask, with_labels

__all__ = ["DaskWorkers", "from_dask", "with_labels"]
