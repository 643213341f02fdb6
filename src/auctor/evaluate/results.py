"""The results of a training run: metrics, notes for the model file, the numbers of a report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from auctor import metrics
from auctor.core.errors import DataWarning, speaks
from auctor.core.types import Array
from auctor.data.coerce import in_shards
from auctor.data.preparation import Scaling
from auctor.evaluate.describe import ReportContext, TrainRows, describe, path_info, reported_metric
from auctor.evaluate.info import DataInfo, PathInfo, ReportInfo
from auctor.evaluate.intervals import Estimate, over_folds
from auctor.evaluate.progress import Progress
from auctor.evaluate.scores import ScoredRows, evaluation, score_rows
from auctor.evaluate.trained_metric import Baseline, Rival, TrainedMetric, trained_metric
from auctor.fit.metric import falling_base, resolve_metric
from auctor.fit.model import LinearModel
from auctor.fit.prepare import Parts
from auctor.fit.result import ClassifierResult
from auctor.fit.surrogate import default_surrogate
from auctor.fit.targets import Rows
from auctor.fit.train_model import kind_for
from auctor.metrics.costs import Savings


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
    split : str, optional
        How the test rows were chosen, where that is not by `parts`.
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
    split: str | None = None

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
                    does="measures on the training rows: no rows were held out. Set `share` above "
                    "0."
                )
            )
        scored = self.scored
        if scored is None:
            scored = score_rows(self.model, parts.test, parts.test_codes, seed=self.seed)
        facts, hits = parts.test_facts, parts.test_codes == parts.positive
        per = facts.groups if resolve_metric(self.model.metric, "auto").per is not None else None
        self.scored = replace(scored, weight=facts.weight, cost=facts.costs(hits), groups=per)
        numbers = evaluation(self.model, self.scored)
        if (saved := self.savings) is not None:
            numbers["savings"] = saved._asdict()
        return numbers

    @property
    def savings(self) -> Savings | None:
        """What the predictions save on the test rows, if these have costs; after `measure`."""
        facts, scored = self.parts.test_facts, self.scored
        if scored is None or scored.cost is None:
            return None
        return metrics.savings(
            scored.hit, scored.scores > 0.0, weight=facts.weight,
            cost_fp=1.0 if facts.cost_fp is None else facts.cost_fp,
            cost_fn=1.0 if facts.cost_fn is None else facts.cost_fn,
        )  # fmt: skip

    @speaks
    def notes(self, measured: dict[str, Any] | None) -> dict[str, Any]:
        """Facts about the training, saved with the model; ``measured`` is from `measure`."""
        return {
            "command": self.command,
            "metric": str(self.model.metric),
            "classes": self.parts.classes.tolist(),
            "positive": self.parts.pos_label,
            "data": self.parts.counts(),
            "chosen": self.chosen,
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
        return path_info(search, self.model, [float(np.mean(count)) for count in counts])

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
        compared = parts.held_out and not in_shards(self.rows.matrix)
        told = ReportContext(
            seconds=self.seconds,
            train_auc=self.train_auc,
            train_score=self.train_score,
            metric_steps=self.progress.steps,
            path=self.path(),
            chosen=self.chosen,
            split=self.split_text,
            savings="" if self.savings is None else savings_text(self.savings),
            # The report has its own sentence on a solution that stopped early.
            warnings=[self.word(one) for one in self.warned if str(one) != solution.advice()],
            command=self.command,
            rivals=rivals,
            solution=solution,
            numbers=None if parts.test_rows is None else (parts.test_rows + 1).tolist(),
            slices=slices,
            train=TrainRows(self.rows.matrix, self.scaling) if compared else None,
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

    @property
    def split_text(self) -> str:
        """How the test rows were chosen, and why the scores of random ones flatter."""
        return split_text(self.parts) if self.split is None else self.split

    @property
    def cross_validated(self) -> Estimate | None:
        """The metric on the held-out rows of the folds of the training rows, if there were folds.

        Costs, errors and losses have their own sign, of which less is better.
        """
        scores = self.fitted.fold_scores
        if scores is None or np.isnan(scores).all():
            return None
        base = falling_base(str(self.model.metric))
        if base is None:
            return over_folds(scores)
        return over_folds(base - scores, base or math.inf)  # costs and log-loss have no bound

    @property
    def candidates(self) -> dict[str, float]:
        """Mean over the folds of the metric of each kind of model that competed."""
        choice = self.fitted.choice
        base = falling_base(str(self.model.metric))
        means = {} if choice is None else choice.means
        return means if base is None else {name: base - mean for name, mean in means.items()}

    @property
    def chosen(self) -> str:
        """The kind of model with the scores of those that competed, and the cross-validation."""
        kinds = ", ".join(f"{name} {mean:.4f}" for name, mean in self.candidates.items())
        scores = self.cross_validated
        words = []
        if scores is not None:
            assert self.fitted.fold_scores is not None
            where = f"{self.fitted.fold_scores.size} folds of the training rows"
            words.append(f"{self.model.metric} by {where}: {scores.value:.4f}")
            if math.isfinite(scores.low):
                words[-1] += f", 95 % interval {scores.low:.4f} to {scores.high:.4f}"
        words.append(f"Kind of model: {self.model.kind}")
        if kinds:
            words[-1] += f", the simplest whose lag may be chance ({kinds})"
        return ". ".join(words) + "."

    def against(self, rivals: Sequence[Rival]) -> tuple[TrainedMetric, tuple[Baseline, ...]]:
        """The metric of this and of other models on the test rows, after `measure`."""
        assert self.scored is not None
        return trained_metric(
            reported_metric(self.model, self.scored.judged, self.scored.groups),
            self.scored.hit,
            self.scored.scores,
            rivals,
            seed=self.seed,
        )

    def described(self) -> str:
        """Strength, if it was searched, and the largest gap, as a short text."""
        strength = self.fitted.strength
        where = "" if strength is None else f"strength {strength:.3g}, "
        return f"{where}gap {self.fitted.gap:.3g}"

    @speaks
    def summary(self, measured: dict[str, Any]) -> dict[str, Any]:
        """The results of the run as plain values for JSON; ``measured`` is from `measure`."""
        parts, result = self.parts, self.fitted
        worst = max(result.solutions, key=lambda solution: solution.gap)
        surrogate = result.search.surrogate if result.search is not None else None
        return {
            "command": self.command,
            "metric": str(self.model.metric),
            "chosen": self.chosen,
            "kind": self.model.kind,
            "candidates": self.candidates,
            "cross_validated": self.cross_validated,
            "folds": 0 if result.fold_scores is None else result.fold_scores.size,
            "strength": result.params.strength if result.strength is None else result.strength,
            "surrogate": surrogate or default_surrogate(self.model.metric, self.model.surrogate),
            "classes": parts.classes.tolist(),
            "positive": parts.pos_label,
            "data": parts.counts(),
            "held_out": parts.held_out,
            "split": self.split_text,
            "savings": "" if self.savings is None else savings_text(self.savings),
            "test": measured,
            "train_auc": self.train_auc,
            "gap": worst.gap,
            "certified": worst.certified,
            "status": worst.status.name.lower(),
            "solver": worst.solver,
            "n_iter": result.n_iter,
            "n_nonzero": self.model.n_used,
            "standardised": self.scaling is not None,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "warnings": self.warnings,
        }


def split_text(parts: Parts) -> str:
    """How the test rows were chosen, and why the scores of random ones flatter."""
    by, test = parts.facts.by, parts.test_facts.by
    if not parts.held_out:
        return ""
    if parts.test_rows is None:
        return "Test rows: those of another file."
    flatters = "scores of random test rows are too good wherever these are alike."
    if by is not None and by.times is not None and test is not None and test.times is not None:
        gap = f", after a gap of {by.gap:g}" if by.gap else ""
        return (
            f"Test rows: later ones. Training rows have times up to {by.shown(by.times.max())}, "
            f"test rows from {by.shown(test.times.min())} on{gap}. A random split has neighbours "
            f"in time on both sides, and {flatters}"
        )
    if by is not None and by.apart is not None and not by.copies:
        return (
            "Test rows: those of random groups, whose rows are all on one side. A random split has "
            f"rows of one group on both sides, and {flatters}"
        )
    return (
        "Test rows: random ones of each class. If the model is for later rows or other customers, "
        "such scores are too good: name a column of times or of customers."
    )


def savings_text(savings: Savings) -> str:
    """What predictions save, as a sentence."""
    return (
        f"The predictions save {savings.share:.1%} on the test rows: their mistakes cost "
        f"{savings.cost:,.6g}, those of flagging nothing {savings.flag_none:,.6g}, of flagging "
        f"everything {savings.flag_all:,.6g}."
    )
