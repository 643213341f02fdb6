"""Ray: blocks of a Dataset as shards in the object store of a cluster."""

from auctor.ray.workers import RayWorkers, from_ray

__all__ = ["RayWorkers", "from_ray"]
