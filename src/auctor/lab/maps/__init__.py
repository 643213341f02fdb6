"""Score maps: networks and other non-linear models that train on every smooth loss."""

from auctor.lab.maps.base import ScoreMap, Tangent
from auctor.lab.maps.kinds import CallableMap, LinearMap
from auctor.lab.maps.mlp import Mlp
from auctor.lab.maps.problem import MapProblem

__all__ = ["CallableMap", "LinearMap", "MapProblem", "Mlp", "ScoreMap", "Tangent"]
