"""A training run: fit a model, measure it on held-out rows, collect the numbers of a report."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from auctor import metrics
from auctor.core.errors import AuctorError, DataWarning, Option, ParameterError
from auctor.core.result import Solution, Status
from auctor.core.types import Array, FloatArray, Target
from auctor.core.watching import watch
from auctor.data import as_matrix, stored
from auctor.data.preparation import Scaling, writeable
from auctor.reports.info import DataInfo, PathInfo, ReportInfo
from auctor.reports.judged import Rival
from auctor.reports.progress import Measure, Progress
from auctor.training.additive import CurveParameters
from auctor.training.bins import Bins, read_values
from auctor.training.describe import ReportContext, describe, path_info
from auctor.training.evaluate import Scored, evaluation, has_probabilities, own_score
from auctor.training.metric import resolve_metric
from auctor.training.prepare import Parts, check_finite
from auctor.training.scale import scaling_for, to_data_units
from auctor.training.surrogate import default_surrogate


def train(
    model: Any,
    parts: Parts,
    *,
    scale: bool | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    command: str = "",
    word: Callable[[Warning], str] = str,
    warned: Sequence[Warning] = (),
    who: str = "train",
) -> Run:
    r"""Fit a model to the training rows; Ctrl-C keeps the best model so far, or raises.

    Parameters
    ----------
    model : MetricClassifier or MetricClassifierCV
        Fitted in place. Its coefficients are for the original columns, scaled or not.
    parts : Parts
        From `auctor.training.prepare.prepare`.
    scale : bool, optional
        Whether to standardise the columns, in place; by default ``standardise`` of the model.
    progress : Progress, optional
        Shows the progress of the fit.
    seed : int
        Seed of the bootstrap of `Run.measure`.
    command : str
        Command line that reproduces the run, for the model file and the report.
    word : callable
        Turns a warning into text.
    warned : sequence of Warning
        Earlier warnings, such as those of reading the rows.
    who : str
        Name used in error messages.

    Examples
    --------
    >>> import tempfile
    >>> from auctor import MetricClassifier
    >>> from auctor.tables import read_table
    >>> from auctor.training.prepare import prepare
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.csv")
    ...     rows = [f"{k % 10},{int(k % 10 > 5)}" for k in range(60)]
    ...     _ = path.write_text("\n".join(["a,label", *rows]))
    ...     parts = prepare(read_table(path))
    >>> run = train(MetricClassifier("auc", strength=0.1), parts)
    >>> run.measure()["score"], run.train_auc
    (1.0, 1.0)
    """
    run = Run(model, parts, command, seed, progress or Progress(None), word, list(warned), who)
    run.fit(scale)
    return run


@dataclass
class Run:
    """A model with its training and test rows; `train` makes one.

    Parameters
    ----------
    model : MetricClassifier or MetricClassifierCV
    parts : Parts
    command : str
        Command line that reproduces the run.
    seed : int
    progress : Progress
    word : callable
        Turns a warning into text.
    warned : list of Warning
        The warnings so far.
    who : str
        Name used in error messages.
    """

    model: Any
    parts: Parts
    command: str
    seed: int
    progress: Progress
    word: Callable[[Warning], str] = str
    warned: list[Warning] = field(default_factory=list)
    who: str = "train"
    interrupted: bool = False
    seconds: float = float("nan")
    train_auc: float = float("nan")
    train_score: float = float("nan")
    scaling: Scaling | None = None
    trained_on: Any = None
    rows: Scored | None = None

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return bool(self.model.classes_.size == 2)

    @property
    def warnings(self) -> list[str]:
        """The texts of the warnings, without repetitions."""
        return list(dict.fromkeys(map(self.word, self.warned)))

    @property
    def solutions(self) -> list[Solution]:
        """The solutions: one for two classes, else one per class."""
        found = self.model.solution_
        return found if isinstance(found, list) else [found]

    # --- training -----------------------------------------------------------------------------

    def fit(self, scale: bool | None) -> None:
        """Train; Ctrl-C keeps the best model so far, or raises if there is none."""
        parts = self.parts
        if self.curved and scale:
            raise ParameterError(
                self.who,
                needs="columns that are not standardised for an additive model, whose bins do not "
                "depend on the scale",
                got="standardise",
                todo="Drop {option}.",
                option=Option("standardise", bare=True),
            )
        standardise = self.model.standardise if scale is None else scale
        self._set_standardise(standardise)
        matrix = self._scaled()
        self._weigh(parts.classes)
        self.model.set_params(pos_label=parts.pos_label)
        self.progress.watch_rows(*self._measure())
        start = time.perf_counter()
        try:
            with watch(self.progress), gathered(self.warned):
                # The columns are scaled by now; the model's parameter is restored below.
                self._set_standardise(False)
                self.model.fit(matrix, parts.train_labels)
        except KeyboardInterrupt:
            if not hasattr(self.model, "coef_"):
                raise
            self.interrupted = True
        finally:
            self._set_standardise(standardise)
        self.seconds = time.perf_counter() - start
        self.interrupted |= any(s.status is Status.INTERRUPTED for s in self.solutions)
        if self.model.calibrate is not None and not has_probabilities(self.model):
            self.model.set_params(calibrate=None)  # interrupted before the calibration
            self.interrupted = True
        if self.interrupted:
            # The user knows of the interrupt; the warning of the solver would only repeat it.
            reason = Status.INTERRUPTED.value
            self.warned = [one for one in self.warned if reason not in str(one)]
        # Scores of the training rows, for comparison with those of the test rows.
        if self.binary:
            decision = self.model.decision_function(matrix)
            codes = np.searchsorted(self.model.classes_, parts.train_labels)
            self.train_auc = metrics.auc(codes == 1, decision)
            seen = Scored(codes, decision, None, self.seed, parts.positive)
            self.train_score = own_score(self.model, seen)
        self.trained_on = matrix
        if self.scaling is not None:
            unscale(self.model, self.scaling)

    @property
    def curved(self) -> bool:
        """Whether the model is additive: unscaled columns, missing values allowed."""
        return isinstance(self.model, CurveParameters)

    def _set_standardise(self, value: bool | str) -> None:
        if not self.curved:
            self.model.set_params(standardise=value)

    def _scaled(self) -> Any:
        """The training rows, scaled if the model standardises; in place where that is safe."""
        matrix = self.parts.train
        if self.curved:
            return matrix
        check_finite(matrix, self.parts.schema.feature_names, who=self.who)
        matrix = as_matrix(matrix, who=self.who)
        self.scaling = scaling_for(self.model, matrix)
        if self.scaling is None:
            return matrix
        # A copy where the rows are also the test rows, or belong to someone else.
        if matrix is self.parts.test or not writeable(matrix):
            return self.scaling.apply(matrix)
        self.scaling.apply_in_place(matrix)
        return matrix

    def _weigh(self, classes: Array) -> None:
        """Replace text keys of ``class_weight``, from the command line, by the labels."""
        given = self.model.class_weight
        if not isinstance(given, dict):
            return
        by_text = {str(label): label for label in classes.tolist()}
        unknown = [name for name in given if name not in by_text]
        if unknown:
            raise ParameterError(
                self.who,
                needs=f"class weights of the labels {', '.join(by_text)}",
                got=f"{unknown[0]}",
                todo="Correct {option}.",
                option=Option("class_weight", bare=True),
            )
        self.model.set_params(class_weight={by_text[name]: w for name, w in given.items()})

    def _columns_of_fit(self, rows: Any) -> Any:
        """The matrix that the solver sees: an additive model is linear in its binned columns."""
        if not self.curved:
            return as_matrix(rows, who=self.who)
        train = read_values(self.parts.train, self.who)
        return Bins.of(train, None, self.model.n_bins).encoded(read_values(rows, self.who))

    def _measure(self) -> tuple[Measure, str]:
        """A function from solver parameters to the metric on test rows, and the metric's name.

        AUC replaces metrics of predicted labels, for which the threshold is not known yet.
        """
        parts = self.parts
        chosen = resolve_metric(self.who, self.model.metric, self.model.surrogate)
        matrix = self._columns_of_fit(parts.test)
        data = stored(matrix, Target(np.empty(0)), n_threads=self.model.n_threads)
        d, scaling = data.n_columns, self.scaling

        def measure(w: FloatArray, position: int) -> float:
            # Joint problems of all classes and curves of pairs have more parameters: no value.
            if w.size > d + 1:
                return float("nan")
            coef, offset = w[:d], float(w[d]) if w.size > d else 0.0
            if scaling is not None:
                coef, offset = scaling.undo(coef, offset)
            scores = data.scores(np.ascontiguousarray(coef), offset)
            hit = parts.test_codes == (parts.positive if parts.classes.size == 2 else position)
            try:
                if chosen.by_label:
                    return metrics.auc(hit, scores)
                return float(chosen.measure(hit, scores, None))
            except AuctorError:
                return float("nan")

        return measure, "auc" if chosen.by_label else str(self.model.metric)

    # --- results ------------------------------------------------------------------------------

    def measure(self) -> dict[str, Any]:
        """All metrics on the test rows."""
        parts = self.parts
        if not parts.held_out:
            self.warned.append(
                DataWarning(
                    self.who,
                    does="measures on the training rows: no rows were held out",
                    todo="Set {option} above 0.",
                    option=Option("share", bare=True),
                )
            )
        likely = has_probabilities(self.model)
        self.rows = Scored(
            parts.test_codes,
            self.model.decision_function(parts.test),
            self.model.predict_proba(parts.test) if likely else None,
            self.seed,
            parts.positive,
        )
        return evaluation(self.model, self.rows, who=self.who)

    def notes(self, found: dict[str, Any] | None) -> dict[str, Any]:
        """Facts about the training, saved with the model; ``found`` is from `measure`."""
        return {
            "command": self.command,
            "metric": str(self.model.metric),
            "classes": self.parts.classes.tolist(),
            "positive": self.parts.pos_label,
            "data": self.parts.counts(),
            "test": found,
            "train_auc": self.train_auc,
            "train_score": self.train_score,
            "seconds": self.seconds,
            "seed": self.seed,
            "standardised": self.scaling is not None,
            "interrupted": self.interrupted,
            "warnings": self.warnings,
            "path": self.path(),
            "metric_steps": self.progress.steps,
        }

    def path(self) -> PathInfo | None:
        """Scores of the cross-validation that picked the strength, if there was one."""
        strengths = getattr(self.model, "strengths_", np.empty(0))
        counts = [self.progress.nonzeros.get(s, [np.nan]) for s in strengths.tolist()]
        return path_info(self.model, [float(np.mean(count)) for count in counts])

    def halves(self) -> tuple[Any, Array, Any]:
        """Training rows as the solver saw them, which are positive, and test rows scaled alike."""
        test = as_matrix(self.parts.test, who=self.who, finite=not self.curved)
        hit = self.parts.train_labels == self.parts.pos_label
        return self.trained_on, hit, test if self.scaling is None else self.scaling.apply(test)

    def report(
        self,
        source: str,
        rivals: Sequence[Rival] = (),
        slices: Mapping[str, Sequence[str]] | None = None,
    ) -> ReportInfo:
        """The numbers of a report on the test rows; `measure` must have been called.

        Parameters
        ----------
        source : str
            File name of the data.
        rivals : sequence of Rival
            Other models, measured on the same rows.
        slices : mapping, optional
            Columns to break metrics down by: name -> value in every test row, as text.
        """
        parts, rows = self.parts, self.rows
        assert rows is not None
        names = [str(label) for label in parts.classes.tolist()]
        told = ReportContext(
            seconds=self.seconds,
            train_auc=self.train_auc,
            train_score=self.train_score,
            metric_steps=self.progress.steps,
            path=self.path(),
            # The report has its own sentence on a solution that stopped early.
            warnings=[
                self.word(one) for one in self.warned if str(one) != self.solutions[0].advice()
            ],
            command=self.command,
            rivals=rivals,
            numbers=None if parts.test_rows is None else (parts.test_rows + 1).tolist(),
            slices=slices,
        )
        if self.curved:
            self.progress.stage("drawing samples for the bands of the curves")
            self.model.curve_bands(parts.train, parts.train_labels)
        return describe(
            f"{self.model.metric} on {Path(source).name}",
            self.model,
            rows,
            parts.test,
            parts.schema,
            told,
            data=DataInfo(
                **parts.counts(),
                source=source,
                positive=names[rows.positive],
                negative=names[1 - rows.positive],
            ),
            columns=parts.columns,
            who=self.who,
        )

    def _used(self) -> int:
        """Number of columns with a non-zero weight."""
        if self.curved:
            return int(np.count_nonzero(self.model.importances_[: self.parts.train.shape[1]]))
        return int(np.count_nonzero(np.abs(self.model.coef_).max(axis=0)))

    def described(self) -> str:
        """Strength, if it was searched, and the largest gap, as a short text."""
        gap = max(solution.gap for solution in self.solutions)
        strength = getattr(self.model, "strength_", None)
        where = "" if strength is None else f"strength {strength:.3g}, "
        return f"{where}gap {gap:.3g}"

    def summary(self, found: dict[str, Any]) -> dict[str, Any]:
        """The results of the run as plain values for JSON; ``found`` is from `measure`."""
        parts = self.parts
        worst = max(self.solutions, key=lambda solution: solution.gap)
        strength = getattr(self.model, "strength_", getattr(self.model, "strength", None))
        return {
            "command": self.command,
            "metric": str(self.model.metric),
            "strength": strength,
            "surrogate": getattr(self.model, "surrogate_", None)
            or default_surrogate(self.model.metric, self.model.surrogate),
            "classes": parts.classes.tolist(),
            "positive": parts.pos_label,
            "data": parts.counts(),
            "held_out": parts.held_out,
            "test": found,
            "train_auc": self.train_auc,
            "gap": worst.gap,
            "certified": worst.certified,
            "status": worst.status.name.lower(),
            "solver": worst.solver,
            "n_iter": int(self.model.n_iter_),
            "n_nonzero": self._used(),
            "standardised": self.scaling is not None,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "warnings": self.warnings,
        }


@contextmanager
def gathered(warned: list[Warning]) -> Iterator[None]:
    """Append the warnings of a block to a list instead of showing them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            warned += [
                one.message if isinstance(one.message, Warning) else UserWarning(one.message)
                for one in caught
            ]


def unscale(model: Any, scaling: Scaling) -> None:
    """Convert, in place, a model of scaled columns to the original columns."""
    model.coef_, model.intercept_ = scaling.undo(model.coef_, model.intercept_)
    several = isinstance(model.solution_, list)
    back = to_data_units(scaling, model.solution_ if several else [model.solution_])
    model.solution_ = back if several else back[0]
