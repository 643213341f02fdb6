"""A training run: rows are read and split, a model is fitted, measured, saved and reported."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import auctor
from auctor import metrics
from auctor.cli.common import Reading, jsonable, read
from auctor.cli.main import as_options
from auctor.cli.prepare import (
    Scaling,
    check_finite,
    check_whole,
    check_width,
    codes_of,
    hold_out,
    split,
    standardise,
    tidy_labels,
    unscale,
)
from auctor.cli.report import path_info
from auctor.cli.scoring import Scored, check_classes, evaluation, has_probabilities
from auctor.core.errors import AuctorError, ConvergenceWarning, DataError, ParameterError
from auctor.core.result import Solution, Status
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.data import as_matrix, wrap
from auctor.estimators import MetricClassifier, watch
from auctor.reports import Candidate, DataInfo, PathInfo, build_report, render
from auctor.reports.progress import Measure, Progress
from auctor.saved import save
from auctor.tables.schema import Schema
from auctor.training.metric import resolve_metric

WHO = "auctor train"


class Parts(NamedTuple):
    """What is trained on and what is measured on; the same rows if none are held out."""

    train: Any
    train_labels: Array
    test: Any
    test_codes: IntArray
    classes: Array
    schema: Schema
    columns: tuple[Any, ...]
    held_out: bool

    def counts(self) -> dict[str, int]:
        """Rows, positives (of the second class) and columns."""
        return {
            "train_rows": int(self.train_labels.size),
            "train_positives": int(np.count_nonzero(self.train_labels == self.classes[1])),
            "test_rows": int(self.test_codes.size),
            "test_positives": int(np.count_nonzero(self.test_codes == 1)),
            "n_columns": int(self.train.shape[1]),
        }


#: Shown what was read: the matrix, labels, summaries of the columns and the schema.
OnTable = Callable[[Any, Array, tuple[Any, ...], Schema], None]


def load(
    data: str,
    options: Reading,
    *,
    test: str | None,
    share: float,
    seed: int,
    progress: Progress,
    two: bool,
    on_table: OnTable,
) -> Parts:
    """Read the data and hold rows out; the whole table is let go of.

    ``two`` refuses more than two classes, which no report is about.
    """
    progress.stage(f"reading {data}")
    table = read(data, options, who=WHO)
    progress.close()
    matrix, schema, columns = table.matrix, table.schema, tuple(table.summary)
    labels = tidy_labels(np.asarray(table.labels), who=WHO)
    del table
    check_whole(labels, data, who=WHO)
    check_width(matrix.shape[1], schema.first_index, who=WHO)
    classes = np.unique(labels)
    if classes.size < 2:
        raise DataError(
            WHO,
            needs="at least two classes",
            got=f"only {classes.tolist()[0]!r} in {data}",
            todo="Check the label column.",
        )
    if two and classes.size > 2:
        raise DataError(
            WHO,
            needs="two classes to write a report",
            got=f"{classes.size} in {data}",
            todo="Drop --report.",
        )
    on_table(matrix, labels, columns, schema)
    if test is not None:
        progress.stage(f"reading {test}")
        other = read(test, options, who=WHO, schema=schema)
        progress.close()
        codes = codes_of(np.asarray(other.labels), classes, who=WHO)
        check_classes(codes, classes, who=WHO)
        return Parts(matrix, labels, other.matrix, codes, classes, schema, columns, True)
    codes = codes_of(labels, classes, who=WHO)
    if share == 0.0:
        return Parts(matrix, labels, matrix, codes, classes, schema, columns, False)
    rows, held = hold_out(labels, share, seed, who=WHO)
    matrix, rest = split(matrix, held)
    return Parts(matrix, labels[rows], rest, codes[held], classes, schema, columns, True)


@dataclass
class Run:
    """A model on its way from rows to files.

    Parameters
    ----------
    model : MetricClassifier or MetricClassifierCV
    command : str
        What reproduces it.
    seed : int
    progress : Progress
    """

    model: MetricClassifier
    command: str
    seed: int
    progress: Progress
    warnings: list[str] = field(default_factory=list)
    interrupted: bool = False
    saved: bool = False
    seconds: float = float("nan")
    train_auc: float = float("nan")
    scaling: Scaling | None = None
    rows: Scored | None = None

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return bool(self.model.classes_.size == 2)

    @property
    def solutions(self) -> list[Solution]:
        """One for two classes, else one per class."""
        found = self.model.solution_
        return found if isinstance(found, list) else [found]

    # --- training -----------------------------------------------------------------------------

    def fit(self, parts: Parts, scale: bool | None) -> None:
        """Train; Ctrl-C leaves the best model so far, or raises if there is none."""
        matrix = self._scaled(parts, scale)
        self._weigh(parts.classes)
        self.progress.watch_rows(*self._measure(parts))
        start = time.perf_counter()
        try:
            with watch(self.progress), self.gathered():
                self.model.fit(matrix, parts.train_labels)
        except KeyboardInterrupt:
            if not hasattr(self.model, "coef_"):
                raise
            self.interrupted = True
        self.seconds = time.perf_counter() - start
        self.interrupted |= any(s.status is Status.INTERRUPTED for s in self.solutions)
        if self.model.calibrate is not None and not has_probabilities(self.model):
            self.model.set_params(calibrate=None)  # there was no time for it
            self.interrupted = True
        if self.interrupted:
            said = Status.INTERRUPTED.value
            self.warnings = [text for text in self.warnings if said not in text]
        if self.binary:
            hit = parts.train_labels == self.model.classes_[1]
            self.train_auc = metrics.auc(hit, self.model.decision_function(matrix))
        if self.scaling is not None:
            unscale(self.model, self.scaling)

    def _scaled(self, parts: Parts, wanted: bool | None) -> Any:
        """The training rows, scaled where that is asked for; in place unless they are shared."""
        matrix = parts.train
        dense = isinstance(matrix, np.ndarray)
        if wanted is False or (wanted is None and not dense):
            return matrix
        if matrix is parts.test or not (matrix if dense else matrix.data).flags.writeable:
            matrix = matrix.copy()
        check_finite(matrix, parts.schema.feature_names, who=WHO)
        self.scaling = standardise(matrix, centre=self.model.fit_intercept)
        return matrix

    def _weigh(self, classes: Array) -> None:
        """Class weights by the labels themselves, not their text."""
        given = self.model.class_weight
        if not isinstance(given, dict):
            return
        by_text = {str(label): label for label in classes.tolist()}
        unknown = [name for name in given if name not in by_text]
        if unknown:
            raise ParameterError(
                WHO,
                needs=f"class weights of the labels {', '.join(by_text)}",
                got=f"{unknown[0]}",
                todo="Correct --class-weight.",
            )
        self.model.set_params(class_weight={by_text[name]: w for name, w in given.items()})

    def _measure(self, parts: Parts) -> tuple[Measure, str]:
        """The metric of some parameters on the held-out rows, and its name; AUC for labels."""
        chosen = resolve_metric(WHO, self.model.metric, self.model.surrogate)
        matrix = as_matrix(parts.test, who=WHO)
        data = wrap(matrix, Target(np.empty(0)), n_threads=self.model.n_threads)
        d, scaling = data.n_columns, self.scaling

        def measure(w: FloatArray, position: int) -> float:
            coef, offset = w[:d], float(w[d]) if w.size > d else 0.0
            if scaling is not None:
                coef = coef * scaling.factor
                offset -= float(coef @ scaling.mean)
            scores = data.scores(np.ascontiguousarray(coef), offset)
            hit = parts.test_codes == (1 if parts.classes.size == 2 else position)
            try:
                if chosen.by_label:
                    return metrics.auc(hit, scores)
                return float(chosen.measure(hit, scores, None))
            except AuctorError:
                return float("nan")

        return measure, "auc" if chosen.by_label else str(self.model.metric)

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep warnings for the end and for the report."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            finally:
                self.warnings += dict.fromkeys(map(_text, caught))

    # --- what comes out -----------------------------------------------------------------------

    def measure(self, parts: Parts) -> dict[str, Any]:
        """All metrics on the rows held out."""
        if not parts.held_out:
            self.warnings.append("No rows were held out: it is measured on the training rows.")
        likely = has_probabilities(self.model)
        self.rows = Scored(
            parts.test_codes,
            self.model.decision_function(parts.test),
            self.model.predict_proba(parts.test) if likely else None,
            self.seed,
        )
        return evaluation(self.model, self.rows, who=WHO)

    def save(self, path: Path, parts: Parts, found: dict[str, Any] | None) -> None:
        """Write the model with how it was made; ``found`` is what `measure` returned."""
        notes = {
            "command": self.command,
            "metric": str(self.model.metric),
            "classes": parts.classes.tolist(),
            "data": parts.counts(),
            "test": found,
            "train_auc": self.train_auc,
            "seconds": self.seconds,
            "seed": self.seed,
            "standardised": self.scaling is not None,
            "interrupted": self.interrupted,
            "warnings": self.warnings,
            "path": self.path(),
            "metric_steps": self.progress.steps,
        }
        save(self.model, path, schema=parts.schema.to_json(), notes=jsonable(notes))
        self.saved = True

    def path(self) -> PathInfo | None:
        """How the strength was found, where it was looked for."""
        strengths = getattr(self.model, "strengths_", np.empty(0))
        counts = [self.progress.nonzeros.get(s, [np.nan]) for s in strengths.tolist()]
        return path_info(self.model, [float(np.mean(count)) for count in counts])

    def render(self, parts: Parts, source: str) -> str:
        """The report as a page, of rows that were measured."""
        rows = self.rows
        assert rows is not None
        negative, positive = (str(label) for label in parts.classes.tolist())
        candidate = Candidate(
            str(self.model.metric),
            rows.decision,
            solution=self.solutions[0],
            seconds=self.seconds,
            train_auc=self.train_auc,
            coef=self.model.coef_[0],
            feature_names=parts.schema.feature_names,
            first_index=parts.schema.first_index,
            probabilities=None if rows.probabilities is None else rows.probabilities[:, 1],
            metric_steps=self.progress.steps,
            headline=rows.headline,
        )
        info = build_report(
            f"{self.model.metric} on {Path(source).name}",
            rows.codes,
            [candidate],
            data=DataInfo(**parts.counts(), source=source, positive=positive, negative=negative),
            path=self.path(),
            columns=parts.columns,
            warnings=self.warnings,
            command=self.command,
            seed=self.seed,
            version=auctor.__version__,
        )
        return render(info)

    def described(self) -> str:
        """How good the model is as the solution of its problem, in a few words."""
        gap = max(solution.gap for solution in self.solutions)
        strength = getattr(self.model, "strength_", None)
        where = "" if strength is None else f"strength {strength:.3g}, "
        return f"{where}gap {gap:.3g}"

    def summary(self, parts: Parts, found: dict[str, Any]) -> dict[str, Any]:
        """What is printed."""
        worst = max(self.solutions, key=lambda solution: solution.gap)
        strength = getattr(self.model, "strength_", getattr(self.model, "strength", None))
        return {
            "command": self.command,
            "metric": str(self.model.metric),
            "strength": strength,
            "classes": parts.classes.tolist(),
            "data": parts.counts(),
            "held_out": parts.held_out,
            "test": found,
            "train_auc": self.train_auc,
            "gap": worst.gap,
            "certified": worst.certified,
            "status": worst.status.name.lower(),
            "solver": worst.solver,
            "n_iter": int(self.model.n_iter_),
            "n_nonzero": int(np.count_nonzero(np.abs(self.model.coef_).max(axis=0))),
            "standardised": self.scaling is not None,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "warnings": self.warnings,
        }


def _text(warning: warnings.WarningMessage) -> str:
    """What a warning says, in words of the command line; the report has its own on convergence."""
    said = str(warning.message)
    return said if issubclass(warning.category, ConvergenceWarning) else as_options(said)
