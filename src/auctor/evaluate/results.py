"""The results of a training run: metrics, notes for the model file, the numbers of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from auctor.core.errors import DataWarning, Option, speaks
from auctor.core.types import Array
from auctor.data.preparation import Scaling
from auctor.evaluate.describe import ReportContext, describe, path_info
from auctor.evaluate.info import DataInfo, PathInfo, ReportInfo
from auctor.evaluate.progress import Progress
from auctor.evaluate.scores import ScoredRows, evaluation, score_rows
from auctor.evaluate.trained_metric import Rival
from auctor.fit.model import LinearModel
from auctor.fit.prepare import Parts
from auctor.fit.result import ClassifierResult
from auctor.fit.surrogate import default_surrogate
from auctor.fit.targets import Rows
from auctor.fit.train_model import kind_for


@dataclass
class TrainingRun:
    """A fitted model with its training and test rows; `train` makes one.

    Parameters
    ----------
    fitted : FitResult
        The model, in the units of the data, and how it was found.
    parts : Parts
    rows : Rows
        The training rows as the solver saw them.
    command : str
        Command line that reproduces the run.
    seed : int
    progress : Progress
    word : callable
        Turns a warning into text.
    warned : list of Warning
        The warnings so far.
    seconds, train_auc, train_score : float
        Time of the fit; AUC and score on the training rows, NaN for several classes.
    scored : ScoredRows, optional
        The test rows with their scores, once `measure` was called.
    """

    fitted: ClassifierResult
    parts: Parts
    rows: Rows
    command: str
    seed: int
    progress: Progress
    word: Callable[[Warning], str]
    warned: list[Warning]
    seconds: float
    train_auc: float
    train_score: float
    scored: ScoredRows | None = None

    @property
    def model(self) -> LinearModel:
        """The fitted model."""
        return self.fitted.model

    @property
    def scaling(self) -> Scaling | None:
        """How the training rows were scaled, if they were."""
        return self.rows.scaling

    @property
    def interrupted(self) -> bool:
        """Whether the user interrupted the fit."""
        return self.fitted.interrupted

    @property
    def warnings(self) -> list[str]:
        """The texts of the warnings, without repetitions."""
        return list(dict.fromkeys(map(self.word, self.warned)))

    # --- results ------------------------------------------------------------------------------

    @speaks
    def measure(self) -> dict[str, Any]:
        """All metrics on the test rows."""
        parts = self.parts
        if not parts.held_out:
            self.warned.append(
                DataWarning(
                    does="measures on the training rows: no rows were held out",
                    todo="Set {option} above 0.",
                    option=Option("share", bare=True),
                )
            )
        self.scored = score_rows(self.model, parts.test, parts.test_codes, seed=self.seed)
        return evaluation(self.model, self.scored)

    @speaks
    def notes(self, measured: dict[str, Any] | None) -> dict[str, Any]:
        """Facts about the training, saved with the model; ``measured`` is from `measure`."""
        return {
            "command": self.command,
            "metric": str(self.model.metric),
            "classes": self.parts.classes.tolist(),
            "positive": self.parts.pos_label,
            "data": self.parts.counts(),
            "test": measured,
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

    @speaks
    def path(self) -> PathInfo | None:
        """Scores of the cross-validation that picked the strength, if there was one."""
        search = self.fitted.search
        if search is None:
            return None
        counts = [self.progress.nonzeros.get(s, [np.nan]) for s in search.strengths.tolist()]
        return path_info(search, self.model.metric, [float(np.mean(count)) for count in counts])

    @speaks
    def halves(self) -> tuple[Any, Array, Any]:
        """Training rows as the solver saw them, which are positive, and test rows scaled alike."""
        test = kind_for(self.fitted.params).read_rows(self.parts.test)
        hit = self.rows.codes == self.rows.positive
        return self.rows.matrix, hit, test if self.scaling is None else self.scaling.apply(test)

    @speaks
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
        parts, scored = self.parts, self.scored
        assert scored is not None
        solution = self.fitted.solutions[0]
        names = [str(label) for label in parts.classes.tolist()]
        told = ReportContext(
            seconds=self.seconds,
            train_auc=self.train_auc,
            train_score=self.train_score,
            metric_steps=self.progress.steps,
            path=self.path(),
            # The report has its own sentence on a solution that stopped early.
            warnings=[self.word(one) for one in self.warned if str(one) != solution.advice()],
            command=self.command,
            rivals=rivals,
            solution=solution,
            numbers=None if parts.test_rows is None else (parts.test_rows + 1).tolist(),
            slices=slices,
        )
        return describe(
            f"{self.model.metric} on {Path(source).name}",
            self.model,
            scored,
            parts.test,
            parts.schema,
            told,
            data=DataInfo(
                **parts.counts(),
                source=source,
                positive=names[scored.positive],
                negative=names[1 - scored.positive],
            ),
            columns=parts.columns,
        )

    def described(self) -> str:
        """Strength, if it was searched, and the largest gap, as a short text."""
        strength = self.fitted.strength
        where = "" if strength is None else f"strength {strength:.3g}, "
        return f"{where}gap {self.fitted.gap:.3g}"

    @speaks
    def summary(self, measured: dict[str, Any]) -> dict[str, Any]:
        """The results of the run as plain values for JSON; ``measured`` is from `measure`."""
        parts, fitted = self.parts, self.fitted
        worst = max(fitted.solutions, key=lambda solution: solution.gap)
        surrogate = fitted.search.surrogate if fitted.search is not None else None
        return {
            "command": self.command,
            "metric": str(self.model.metric),
            "strength": fitted.params.strength if fitted.strength is None else fitted.strength,
            "surrogate": surrogate or default_surrogate(self.model.metric, self.model.surrogate),
            "classes": parts.classes.tolist(),
            "positive": parts.pos_label,
            "data": parts.counts(),
            "held_out": parts.held_out,
            "test": measured,
            "train_auc": self.train_auc,
            "gap": worst.gap,
            "certified": worst.certified,
            "status": worst.status.name.lower(),
            "solver": worst.solver,
            "n_iter": fitted.n_iter,
            "n_nonzero": self.model.n_used,
            "standardised": self.scaling is not None,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "warnings": self.warnings,
        }
