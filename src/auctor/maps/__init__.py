"""Score maps: networks and other non-linear models that train on every smooth loss."""

from auctor.maps.base import ScoreMap, Tangent
from auctor.maps.features import Nystroem, RandomFeatures
from auctor.maps.kinds import CallableMap, LinearMap
from auctor.maps.mlp import Mlp
from auctor.maps.problem import MapProblem

__all__ = [
    "CallableMap",
    "LinearMap",
    "MapProblem",
    "Mlp",
    "Nystroem",
    "RandomFeatures",
    "ScoreMap",
    "Tangent",
]
