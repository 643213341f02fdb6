"""Figures of an additive model for notebooks: as HTML, and with matplotlib for papers."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from auctor.core.errors import DataError, speaks, speaks_as
from auctor.core.optional import require
from auctor.evaluate.curves_info import MOST_CURVES, ColumnCurve, CurvesInfo, curves_info
from auctor.evaluate.pair_maps import PairMap
from auctor.fit.model import model_of
from auctor.reports.html.page import additive_section

#: Number of columns of the figure of `CurvePictures.plot`: three fit the width of a notebook.
ACROSS = 3


class CurvePictures:
    """Curves, heat maps and explained rows of an additive model, which notebooks display.

    `curve_pictures` creates it.

    Parameters
    ----------
    info : CurvesInfo
        The numbers of the figures.
    """

    def __init__(self, info: CurvesInfo) -> None:
        self.info = info

    def __repr__(self) -> str:
        columns, pairs, rows = map(len, self.info)
        return f"CurvePictures({columns} curves, {pairs} pairs, {rows} rows)"

    @speaks
    def to_html(self) -> str:
        """The figures as a fragment of HTML with its own style; needs jinja2."""
        return additive_section(self.info)

    def _repr_html_(self) -> str:
        return self.to_html()

    def records(self) -> list[dict[str, Any]]:
        """One dictionary per bin, level or cell: what it adds, its band and its share of rows.

        Missing values have a line of their own. ``value`` is a number, a level, or for a pair the
        smallest values or the levels of both columns.
        """
        lines = []
        for curve in self.info.columns:
            values = curve.values.tolist() if curve.labels is None else curve.labels
            for k, value in enumerate(values):
                low, high = (None, None) if curve.band is None else curve.band[:, k].tolist()
                lines.append(_line(curve.name, value, curve.level[k], low, high, curve.share[k]))
            if curve.missing is not None:
                share = 1.0 - float(curve.share.sum())
                lines.append(_line(curve.name, "missing", curve.missing, None, None, share))
        for pair in self.info.pairs:
            for a, one in enumerate(pair.starts[0]):
                for b, two in enumerate(pair.starts[1]):
                    adds, share = pair.level[a, b], float(pair.share[a, b])
                    lines.append(_line(pair.title, f"{one} | {two}", adds, None, None, share))
        return lines

    def to_dataframe(self) -> Any:
        """The `records` as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.records())

    def to_json(self) -> str:
        """The `records` as JSON."""
        return json.dumps(self.records())

    @speaks
    def plot(self) -> Any:
        """A matplotlib figure with every curve, its band, and every map of a pair."""
        pyplot = require("matplotlib.pyplot", extra="plots")
        terms: list[ColumnCurve | PairMap] = [*self.info.columns[:MOST_CURVES], *self.info.pairs]
        down = max(1, math.ceil(len(terms) / ACROSS))
        figure, axes = pyplot.subplots(
            down, ACROSS, figsize=(4.5 * ACROSS, 3.4 * down), squeeze=False, layout="constrained"
        )
        for ax in axes.ravel()[len(terms) :]:
            ax.set_visible(False)
        for term, ax in zip(terms, axes.ravel(), strict=False):
            draw_term(term, ax)
        return figure


def _line(term: str, value: Any, adds: Any, low: Any, high: Any, share: Any) -> dict[str, Any]:
    """A record of what a bin, level or cell of a term adds."""
    ends = {"low": low, "high": high}
    return {"term": term, "value": value, "adds": float(adds), **ends, "share": float(share)}


def draw_term(term: ColumnCurve | PairMap, ax: Any) -> None:
    """Draw a curve with its band, or the heat map of a pair, on axes of matplotlib."""
    if isinstance(term, PairMap):
        most = float(np.abs(term.level).max()) or 1.0
        image = ax.pcolormesh(term.level.T, cmap="RdBu_r", vmin=-most, vmax=most)
        ax.figure.colorbar(image, ax=ax)
        ax.set(title=term.title, xlabel=term.names[0], ylabel=term.names[1])
        for axis, starts in zip((ax.xaxis, ax.yaxis), term.starts, strict=True):
            axis.set_ticks(np.arange(len(starts)) + 0.5, starts, fontsize="x-small")
        ax.tick_params(axis="x", rotation=90)
        # The density of the rows beyond the edges of the map, one bin high.
        wide, tall = (term.share.sum(axis=1 - k) for k in (0, 1))
        places = [np.arange(share.size) for share in (wide, tall)]
        style: dict[str, Any] = {"align": "edge", "color": "grey"}
        ax.bar(places[0], wide / (wide.max() or 1.0), 1.0, bottom=tall.size, **style)
        ax.barh(places[1], tall / (tall.max() or 1.0), 1.0, left=wide.size, **style)
        return
    if term.labels is not None:
        errors = None if term.band is None else np.abs(term.band - term.level)
        ax.barh(term.labels, term.level, xerr=errors)
        ax.invert_yaxis()
        ax.set(title=term.title, xlabel="Added to the score")
        return
    if term.band is not None:
        low, high = term.band
        ax.stairs(high, term.edges, baseline=low, fill=True, alpha=0.25)
    ax.stairs(term.level, term.edges, baseline=None)
    if term.of_dates:
        ax.xaxis_date()  # days since 1970, as matplotlib counts them
    ax.set(title=term.title, xlabel=term.axis, ylabel="Added to the score")


@speaks_as("curve_pictures")
def curve_pictures(
    model: Any, X: Any = None, rows: Sequence[int] = (), names: Sequence[str] | None = None
) -> CurvePictures:
    """Figures of the curves, pairs and explained rows of a fitted additive model.

    Curves have bands if the model has several members.

    Parameters
    ----------
    model : AdditiveClassifier of two classes, AdditiveRegressor, or additive TableClassifier
    X : table, optional
    rows : sequence of int
        Numbers of rows of X to explain.
    names : sequence of str, optional
        Names of the columns; by default those of `fit`.
    """
    scores = model_of(model).coef.shape[0]
    if scores > 1:
        raise DataError(
            f"a model of one score; got {scores}, one per class. Draw column_curves(model, "
            "score=k) for class number k."
        )
    schema = getattr(model, "schema_", None)
    if schema is not None:  # of a table, whose rows and names are encoded
        names = names or schema.feature_names
        X = None if X is None else model.encode(X)
    wanted = {f"Row {row}": int(row) for row in rows}
    return CurvePictures(curves_info(model, names, X, wanted, schema))
