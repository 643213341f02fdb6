import io
import math
import sys
import threading

import numpy as np
import pytest
from numba import njit

from auctor import MetricClassifier, MetricClassifierCV
from auctor.core.result import Step
from auctor.evaluate.progress import COMPILING, MEASURE, Progress, duration, remaining
from auctor.fit import Watcher, watch
from auctor.kernels.runtime.compiled import report_compilation
from auctor.reports.terminal import (
    LASTING,
    LastingLines,
    PhaseLines,
    PlainLine,
    RichLine,
    make_line,
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Kept:
    """A line that keeps everything."""

    pause = 1.0

    def __init__(self):
        self.texts, self.notes, self.closed = [], [], False

    def note(self, text):
        self.notes.append(text)

    def show(self, text):
        self.texts.append(text)

    def close(self):
        self.closed = True


def step(iteration, gap, *, seconds=None, certified=True):
    seconds = float(iteration) if seconds is None else seconds
    return Step(iteration, 0.5, gap, certified, seconds, 2.0 * iteration, iteration, np.ones(3))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def line():
    return Kept()


def test_a_step_in_a_line(line, clock):
    progress = Progress(line, measure=lambda w, k: float(w.sum() + k), name="auc", clock=clock)
    progress.on_fit(1e-4)
    for k, gap in enumerate((1.0, 0.1, 0.01)):
        clock.now = float(k)
        progress.on_step(step(k, gap))
    assert line.texts[0] == "iteration 0  objective 0.5  gap 1.00e+00  ETA ?"
    assert line.texts[-1].endswith("gap 1.00e-02  held-out auc 3.0000  ETA 2 s")


def test_lines_come_no_more_often_than_they_should(line, clock):
    progress = Progress(line, clock=clock)
    for k in range(100):
        clock.now = 0.1 * k
        progress.on_step(step(k, 1.0, certified=False))
    assert len(line.texts) == 10
    assert "violation 1.00e+00" in line.texts[0]


def test_the_metric_is_computed_every_half_second_of_a_long_fit(line, clock):
    calls = []
    progress = Progress(line, measure=lambda w, k: calls.append(clock.now) or 0.5, clock=clock)
    for k in range(100):
        clock.now = 0.05 * k
        progress.on_step(step(k, 1.0, seconds=100.0 + clock.now))
    assert (np.diff(calls) >= MEASURE - 1e-9).all()
    assert len(calls) == 10
    assert [s.value for s in progress.steps] == [0.5] * 10
    assert progress.steps[1].passes == 2.0 * 11


def test_a_short_fit_is_measured_along_its_way(line, clock):
    progress = Progress(line, measure=lambda w, k: clock.now, clock=clock)
    for k in range(20):
        clock.now = 1e-3 * k
        progress.on_step(step(k, 1.0, seconds=clock.now))
    assert len(progress.steps) == 19
    assert progress.steps[-1].value == clock.now


def test_a_slow_metric_is_computed_less_often(line, clock):
    calls = []

    def slow(w, k):
        calls.append(clock.now)
        clock.now += 2.0
        return 0.5

    progress = Progress(line, measure=slow, clock=clock)
    for k in range(40):
        progress.on_step(step(k, 1.0))
        clock.now += 1.0
    assert calls == [1.0, 21.0, 41.0]


def test_stages_come_first(line, clock):
    progress = Progress(line, measure=lambda w, k: float(k), name="auc", clock=clock)
    progress.on_stage("fit", 1, 1)
    progress.on_stage("class", 2, 3)
    progress.on_step(step(1, 1.0))
    assert line.texts[-1].startswith("class 2/3  iteration 1")
    assert "auc 1.0000" in line.texts[-1]  # of the second class
    assert progress.steps == []
    progress.on_stage("calibration fold", 1, 5)
    clock.now = 5.0
    progress.on_step(step(2, 1.0))
    assert line.texts[-1].startswith("calibration fold 1/5  iteration 2")
    assert "held-out" not in line.texts[-1]


def test_points_of_a_path(line, clock):
    solution = MetricClassifier("log_loss").fit([[0.0], [1.0], [2.0]], [0, 1, 1]).solution_
    progress = Progress(line, measure=lambda w, k: float(w.size), name="auc", clock=clock)
    progress.on_stage("fold", 1, 2)
    clock.now = 1.0
    progress.on_point(0.5, solution, 1, 5)
    assert line.texts[0].startswith("fold 1/2  strength 1/5 (0.5)  columns 1  objective ")
    assert line.texts[0].endswith("  held-out auc 2.0000  ETA ?")  # one point says little
    progress.on_stage("fold", 2, 2)
    clock.now = 9.0
    progress.on_point(0.5, solution, 4, 5)
    assert progress.nonzeros == {0.5: [1, 1]}
    assert progress.steps == []  # of the final fit only


def test_the_time_to_go_is_of_points_alone(line, clock):
    """The compiler takes 12 s and the first point 1 s; the 45 that are left take 0.1 s each."""
    solution = MetricClassifier("log_loss").fit([[0.0], [1.0], [2.0]], [0, 1, 1]).solution_
    line.pause = 0.0
    progress = Progress(line, clock=clock)
    progress.on_stage("fold", 1, 16)
    progress.on_plan(40)
    progress.on_compile(True)
    clock.now = 12.0
    progress.on_compile(False)
    clock.now = 13.0
    for number in range(1, 4):
        progress.on_point(0.5, solution, number, 8)
        clock.now += 0.1
    assert [text.rpartition("ETA ")[2] for text in line.texts] == ["?", "?", "4 s"]
    progress.on_stage("fold", 2, 16)
    progress.on_stage("class", 1, 3)
    progress.on_plan(4)
    clock.now += 0.1
    progress.on_point(0.5, solution, 1, 2)  # one more here, two classes of two, three of four
    assert line.texts[-1].endswith("ETA 2 s")
    assert line.notes == [COMPILING]


def test_stages_of_curves_say_how_long_it_takes_at_most(line, clock):
    line.pause = 0.0
    progress = Progress(line, clock=clock)
    for number in range(1, 4):
        progress.on_stage("strength", number, 15)
        clock.now += 2.0
    assert line.texts == [
        "strength 2/15  at most 28 s for all",
        "strength 3/15  at most 26 s for all",
    ]


def test_the_time_to_go_of_a_fit_leaves_out_the_compiler(line, clock):
    line.pause = 0.0
    progress = Progress(line, clock=clock)
    progress.on_fit(1e-6)
    progress.on_step(step(0, 1.0))
    progress.on_compile(True)
    clock.now = 60.0
    progress.on_compile(False)
    for k in (1, 2, 3):
        clock.now += 1.0
        progress.on_step(step(k, 10.0**-k, seconds=clock.now))
    assert line.texts[-1].endswith("ETA 3 s")


def test_the_compiler_is_said_once(line, clock):
    @njit  # not kept on disk, so that every run of the test compiles
    def one(x):
        return x + 1.0

    @njit
    def two(x):
        return x + 2.0

    progress = Progress(line, clock=clock)
    with report_compilation(progress.on_compile):
        assert one(1.0) + two(1.0) == 5.0
    assert line.notes == [COMPILING]
    with report_compilation(Progress(line, clock=clock).on_compile):
        assert one(2.0) == 3.0
    assert line.notes == [COMPILING]  # there was nothing left to compile


@pytest.mark.parametrize("metric", ["log_loss", "auc", "f1"])
def test_a_search_knows_about_how_much_there_is_to_do(metric):
    class Plan(Watcher):
        planned, done = 0, 0

        def on_plan(self, points):
            self.planned = self.planned or points

        def on_point(self, strength, solution, number, total):
            self.done += 1

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.normal(size=200) > 1.0
    plan = Plan()
    with watch(plan):
        MetricClassifierCV(metric).fit(X, y)
    assert plan.done / 1.5 < plan.planned < 1.5 * plan.done


def test_a_whole_search(line):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    line.pause = 0.0
    progress = Progress(line, measure=lambda w, k: 0.75, name="auc")
    with watch(progress):
        model = MetricClassifierCV("auc", penalty="l1", n_strengths=4, cv=2).fit(X, y)
    assert any(text.startswith("fold 2/2  strength 4/4") for text in line.texts)
    assert any(text.startswith("iteration 0") for text in line.texts)
    assert set(progress.nonzeros) == set(model.strengths_.tolist())
    assert all(len(counts) == 2 for counts in progress.nonzeros.values())


def test_without_a_line_nothing_is_written_but_the_metric_is_kept(clock):
    progress = Progress(None, measure=lambda w, k: 0.5, clock=clock)
    progress.on_step(step(1, 1.0))
    progress.stage("measuring")
    progress.close()
    assert len(progress.steps) == 1


def test_what_else_is_done(line, clock):
    progress = Progress(line, clock=clock)
    progress.stage("reading a.csv")
    progress.close()
    assert line.texts == ["reading a.csv"]
    assert line.closed


# --- lines ----------------------------------------------------------------------------------------


def test_no_terminal_is_a_log():
    assert isinstance(make_line(stream=io.StringIO()), PhaseLines)
    out = io.StringIO()
    line = make_line(stream=out, verbose=True)
    assert isinstance(line, LastingLines)
    assert line.pause == LASTING
    line.show("one")
    line.show("two")
    line.close()
    assert out.getvalue() == "one\ntwo\n"


def test_a_terminal_without_rich(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    out = Terminal()
    line = make_line(stream=out)
    assert isinstance(line, PlainLine)
    line.show("one")
    line.show("two")
    line.note("that")
    line.close()
    assert out.getvalue() == "\r\x1b[Kone\r\x1b[Ktwo\r\x1b[Kthat\n\r\x1b[K"


def test_a_terminal_with_rich(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    out = Terminal()
    line = make_line(stream=out)
    assert isinstance(line, RichLine)
    line.close()  # nothing was shown
    assert out.getvalue() == ""
    line.show("strength 1/3 [a]")
    line.note("that")
    line.close()
    line.show("again")
    line.close()
    text = out.getvalue()
    assert "strength 1/3 [a]" in text
    assert "again" in text
    assert "that\n" in text.replace("\r", "")  # stays
    assert "\x1b[3" not in text  # no colours


# --- time left ------------------------------------------------------------------------------------


def test_remaining():
    falling = [(0.0, 1.0), (1.0, 0.1), (2.0, 0.01)]
    assert remaining(falling, 1e-4) == pytest.approx(2.0)
    assert remaining(falling, 0.05) == 0.0
    assert math.isnan(remaining(falling[:2], 1e-4))
    assert math.isnan(remaining([(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)], 1e-4))
    assert math.isnan(remaining(falling, 0.0))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (59.4, "59 s"), (60.0, "1 min 0 s"), (3600.0, "1 h 0 min"), (math.inf, "?")],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_a_log_names_only_the_phases_that_take_long():
    out = io.StringIO()
    line = PhaseLines(out, patience=60.0)
    progress = Progress(line)
    progress.stage("reading rows.csv")
    progress.stage("measuring")
    progress.close()
    assert out.getvalue() == ""
    written = threading.Event()
    out.flush = written.set
    progress = Progress(PhaseLines(out, patience=0.0))
    progress.stage("fitting 1,000,000 rows")
    assert written.wait(60.0)
    progress.close()
    assert out.getvalue() == "fitting 1,000,000 rows\n"
