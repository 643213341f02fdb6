"""Networks of fully connected layers as score maps."""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from auctor.core.checks import check_choice, check_int, check_matrix
from auctor.core.errors import speaks_for_itself
from auctor.core.types import FloatArray, IntArray, Target
from auctor.data import as_data
from auctor.lab.maps.activations import Activation, activation
from auctor.lab.maps.base import ProductTangent, Tangent


class Layer(NamedTuple):
    """Weights, (inputs, units), and offsets, (units,)."""

    weights: FloatArray
    offsets: FloatArray


class Mlp:
    """A network of fully connected layers with linear outputs: one score per row, or several.

    A single output has no offset: the intercept of the problem, which is never penalised, is its
    offset. Several outputs have offsets of their own, so that the problem needs no intercept; their
    scores are stored row by row, as `Softmax` and `Squared` take them.

    Parameters
    ----------
    X : (n, d) array
    y : (n,) or (n, k) array
        Target of one output or of k; for classes the columns are +1 or -1, as `Softmax` has them.
    hidden : tuple of int >= 1
        Units of the hidden layers; an empty tuple makes a linear model.
    activation : {"tanh", "relu", "sigmoid"}
    init : {"auto", "glorot", "he"}
        Variance of the starting weights: ``2 / (units in + units out)`` (Glorot, Bengio, 2010) or
        ``2 / units in`` (He et al., 2015). ``"auto"`` is "he" for "relu", otherwise "glorot".
    weight : (n,) array, optional

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.losses import Logistic
    >>> from auctor.minimise import minimise
    >>> from auctor.penalties import L2
    >>> from auctor.solvers import Lbfgs
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> network = Mlp(X, [-1, 1, 1, -1], hidden=(4,))
    >>> from auctor.lab.maps.problem import MapProblem
    >>> found = minimise(MapProblem(Logistic(), L2(1e-4), network), Lbfgs())
    >>> np.sign(network.scores(found.coef, X) + found.intercept)
    array([-1.,  1.,  1., -1.])
    """

    @speaks_for_itself
    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        hidden: tuple[int, ...] = (32,),
        activation: str = "tanh",
        init: str = "auto",
        weight: Any = None,
    ) -> None:
        for units in hidden:
            check_int("hidden", units, low=1)
        check_choice("init", init, ("auto", "glorot", "he"))
        y = np.asarray(y)
        self.n_outputs = y.shape[1] if y.ndim == 2 else 1
        data = as_data(X, y[:, 0] if y.ndim == 2 else y, weight=weight)
        self.X: FloatArray = np.asarray(data.to_dense(), dtype=np.float64)
        self.target: Target = data.target
        if y.ndim == 2:
            self.target = _of_outputs(y, data.target.weight)
        #: Batches of rows, which the losses of several outputs would not understand.
        self.has_rows = self.n_outputs == 1
        self._sizes = (self.X.shape[1], *hidden, self.n_outputs)
        self._init, self._activation = init, _named(activation)
        shapes = list(pairwise(self._sizes))
        self.n_rows = self.X.shape[0] * self.n_outputs
        self.n_params = sum(m * k + k for m, k in shapes) - int(self.n_outputs == 1)

    @classmethod
    def examples(cls) -> list[Mlp]:
        """Instances the conformance kit tests."""
        X = np.random.default_rng(0).normal(size=(8, 3))
        y = np.array([1.0, -1.0] * 4)
        weight = np.linspace(0.5, 2.0, 8)
        return [
            cls(X, y),
            cls(X, y, hidden=(4, 3), activation="relu", weight=weight),
            cls(X, y, hidden=(), init="he"),
            cls(X, y, hidden=(5,), activation="sigmoid", init="glorot"),
            cls(X, np.column_stack((y, -y, weight)), hidden=(4,), weight=weight),
        ]

    def rows(self, index: IntArray) -> Mlp:
        """The same network on some rows."""
        part = copy(self)
        part.X, part.target = self.X[index], self.target.take(index)
        part.n_rows = int(index.size)
        return part

    def start(self, rng: np.random.Generator) -> FloatArray:
        """Random weights and zero offsets."""
        he = self._init == "he" or (self._init == "auto" and self._activation.name == "relu")
        parts = []
        for m, k in pairwise(self._sizes):
            # m inputs and k units of the layer.
            variance = 2.0 / m if he else 2.0 / (m + k)
            parts += [np.sqrt(variance) * rng.normal(size=m * k), np.zeros(k)]
        return np.concatenate(parts)[: self.n_params]

    def unpack(self, w: FloatArray) -> list[Layer]:
        """The layers of a parameter vector."""
        layers, begin = [], 0
        padded = np.append(w, 0.0)  # a single output has no offset: a zero in its place
        for m, k in pairwise(self._sizes):
            middle = begin + m * k
            layers.append(Layer(padded[begin:middle].reshape(m, k), padded[middle : middle + k]))
            begin = middle + k
        return layers

    def scores(self, w: FloatArray, X: FloatArray) -> FloatArray:
        """Scores (n,), or (n, k), of rows X, which may be new; the intercept is not included."""
        value = self._forward(self.unpack(w), np.asarray(X, dtype=np.float64))[1]
        return value[:, 0] if self.n_outputs == 1 else value

    def at(self, w: FloatArray) -> Tangent:
        """The network at w: its outputs, and both products with the Jacobian."""
        layers = self.unpack(w)
        units, value = self._forward(layers, self.X)
        return MlpTangent(
            value.ravel(), self.n_params, self.target, layers, units, self._activation
        )

    def _forward(self, layers: list[Layer], X: FloatArray) -> tuple[list[FloatArray], FloatArray]:
        """Values of every layer, starting with the inputs, and the scores (n, k)."""
        units = [X]
        for layer in layers[:-1]:
            units.append(self._activation.value(units[-1] @ layer.weights + layer.offsets))
        value: FloatArray = units[-1] @ layers[-1].weights + layers[-1].offsets
        return units, value


class MlpTangent(ProductTangent):
    """The linearisation of a network at a point."""

    def __init__(
        self,
        value: FloatArray,
        n_params: int,
        target: Target,
        layers: list[Layer],
        units: list[FloatArray],
        function: Activation,
    ) -> None:
        super().__init__(value, n_params, target)
        self._layers, self._units = layers, units
        self._slopes = [function.first(values) for values in units[1:]]

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """Change of the scores along a direction, by forward-mode differentiation."""
        begin, change = 0, np.zeros_like(self._units[0])
        padded = np.append(w, 0.0)
        for number, (layer, units) in enumerate(zip(self._layers, self._units, strict=True)):
            # d(units W + b) = d(units) W + units dW + db, then times the activation's derivative.
            middle = begin + layer.weights.size
            moved = padded[begin:middle].reshape(layer.weights.shape)
            change = change @ layer.weights + units @ moved
            change += padded[middle : middle + layer.offsets.size]
            if number < len(self._slopes):
                change *= self._slopes[number]
            begin = middle + layer.offsets.size
        return change.ravel() + offset

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """Gradient in the parameters, by backpropagation."""
        # From the output to the inputs: gradients of offsets and weights, then of the units.
        back, parts = dscores.reshape(len(self._units[0]), -1), []
        for number in range(len(self._layers) - 1, -1, -1):
            parts += [back.sum(axis=0), (self._units[number].T @ back).ravel()]
            if number:
                back = (back @ self._layers[number].weights.T) * self._slopes[number - 1]
        return np.concatenate(parts[::-1])[: self.n_columns]


def _of_outputs(y: Any, weight: FloatArray | None) -> Target:
    """The target of several outputs, row by row; each has the weight of its row."""
    table = check_matrix("y", y, columns=y.shape[1])
    return Target(table.ravel(), None if weight is None else np.repeat(weight, table.shape[1]))


def _named(name: str) -> Activation:
    return activation(name)
