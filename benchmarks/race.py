"""Seconds to relative suboptimality, every competitor in its worker, with a cap on each.

A lane is one competitor with one mode, layout and number of threads. It looks for the loosest
tolerance of a half-decade ladder at which every point is within ``eps`` of the least objective
known (starting where it ended on the last cell); then the fast lanes are timed in interleaved
repeats.
A lane that exceeds ``FACTOR`` times the best time so far is recorded as over the cap.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.lanes import Lane, Memory, Rung, Task
from benchmarks.run import Clock
from benchmarks.workers import OverCap, Refused

LADDER = [10.0 ** (-k / 2) for k in range(-2, 33)]
#: Cap on the seconds of a lane, in units of the best time to the same accuracy.
FACTOR = 5.0
#: Smallest cap, in seconds.
MIN_CAP = 0.5
#: Largest cap, in seconds; it also holds while nobody reached the accuracy.
MAX_CAP = 8.0
#: Seconds of climbing after which a cell takes no further lanes but ours.
CELL_SECONDS = 40.0
#: Caps that all solves of a climb together may take before it is over.
PATIENCE = 2.0
#: Lanes within this factor of the best competitor are timed again; the others keep one time.
CLOSE = 1.6
#: Seconds below which a lane is timed again although it is not close.
CHEAP = 0.005
#: Lanes beyond this factor keep the tolerance that worked on the last cell if it works again.
HOPELESS = 3.0
#: Who makes the reference, and at which tolerance, until the bound is good enough. Where the least
#: objective is far below that of the null model, whose share a tolerance is, ours must be tighter.
REFERENCES = (
    ("auctor", 1e-8), ("auctor", 1e-11), ("auctor", 1e-14), ("sklearn_liblinear", 1e-7),
    ("skglm", 1e-9), ("sklearn_cd", 1e-11), ("celer", 1e-10),
)  # fmt: skip
PAUSE = 0.02
TOO_SLOW = "over the cap"


def accuracy_name(eps: float) -> str:
    """1e-4 and the like."""
    return f"{eps:.0e}".replace("e-0", "e-")


def reference(task: Task, lanes: list[Lane], eps: float) -> tuple[np.ndarray, float]:
    """Least objectives of very tight runs, and a bound on their relative error."""
    best = np.full(len(task.strengths or [0]), np.inf)
    bound = math.inf
    for stem, tol in REFERENCES:
        lane = next((x for x in lanes if x.worker.stem == stem and x.threads == 1), None)
        if lane is None or bound <= 0.1 * eps:
            continue
        try:
            answer = lane.run(task, tol * (100.0 if task.strengths else 1.0), MAX_CAP)
        except (OverCap, Refused):
            continue
        values = task.values(answer["coefs"])
        if np.isfinite(values).all():
            found = task.bound(answer["coefs"], values)
            if answer["work"].get("certified") and not task.strengths:
                found = min(found, answer["work"]["gap"] / values[0])
            bound = min(bound, found) if np.isfinite(found) else bound
        best = np.minimum(best, values)
    return best, bound


def race(
    task: Task, lanes: list[Lane], accuracies: list[float], best: np.ndarray, *, memory: Memory,
    repeats: int, refine: bool = True,
) -> np.ndarray:  # fmt: skip
    """Fill the lanes for every accuracy; returns the least objectives seen."""
    for eps in accuracies:
        for lane in _in_order(lanes):
            late = sum(x.spent for x in lanes) > CELL_SECONDS
            if late and not lane.ours and not lane.rungs and not lane.failure:
                lane.failure = f"the cell took over {CELL_SECONDS:g} s before its turn"
            climb(task, lane, lanes, eps, best, memory, refine)
    seen = [r.values for lane in lanes for r in lane.rungs.values()]
    best = np.minimum.reduce([best, *seen])
    for eps in accuracies:
        for lane in lanes:
            good = [t for t, r in lane.rungs.items() if _within(r.values, best, eps)]
            lane.reached.pop(eps, None)
            if good:
                lane.reached[eps] = max(good)
        _repeat(task, lanes, eps, best, repeats)
    return best


def _in_order(lanes: list[Lane]) -> list[Lane]:
    """Single-threaded first, so that the others start from the tolerance found."""
    return sorted(lanes, key=lambda lane: lane.threads)


def _within(values: np.ndarray, best: np.ndarray, eps: float) -> bool:
    return bool((values <= best * (1.0 + eps)).all())


def cap_of(lanes: list[Lane], eps: float) -> float:
    """The cap from the best time so far."""
    known = min((lane.seconds(eps) for lane in lanes), default=math.inf)
    return min(MAX_CAP, max(MIN_CAP, FACTOR * known))


def climb(
    task: Task,
    lane: Lane,
    lanes: list[Lane],
    eps: float,
    best: np.ndarray,
    memory: Memory,
    refine: bool,
) -> None:
    """Find the loosest tolerance that reaches ``eps``."""
    key = (lane.worker.stem, lane.mode, task.form.kind, bool(task.strengths), eps)
    slow = (*key, lane.threads, lane.layout, task.data.name)
    elder = _elder(lane, lanes)
    if lane.failure or lane.over:
        return
    if task.form.strength <= memory.slow.get(slow, 0.0) and not lane.ours:
        lane.failure = f"{TOO_SLOW} at an easier strength of the same set"
        return
    if elder is not None and eps not in elder.reached:
        lane.failure = f"{TOO_SLOW} with {elder.threads} thread on {elder.layout}"
        return
    start = memory.tolerance.get((*key, task.data.name), memory.tolerance.get(key))
    if elder is not None:
        start = elder.reached.get(eps, start)
    cap = min(MAX_CAP, cap_of(lanes, eps) * (2.0 if lane.ours else 1.0))
    clock = time.perf_counter()
    good = partial(_good, task, lane, eps, best, cap, [])
    try:
        _search(
            good,
            _first(good, lane, _index(start or lane.package.START)),
            refine,
            lambda: elder is None and (start is None or lane.ours or _hopeful(lane, lanes, eps)),
        )
    except IndexError:
        pass  # the ladder ended
    except OverCap:
        if eps not in lane.reached:
            lane.over[eps] = cap
            memory.slow[slow] = max(task.form.strength, memory.slow.get(slow, 0.0))
    except Refused as error:
        if eps not in lane.reached:
            lane.failure = str(error)
    lane.spent += time.perf_counter() - clock
    if eps in lane.reached:
        memory.tolerance[key] = memory.tolerance[(*key, task.data.name)] = lane.reached[eps]


#: Tolerances above this are tried whatever the others brought.
STUCK_FROM = 1e-11


def _stuck(lane: Lane, best: np.ndarray, tol: float) -> bool:
    """Whether the last three tighter tolerances brought nothing (an iteration limit inside).

    Loose ones say nothing: a first step may meet several of them.
    """
    if tol > STUCK_FROM:
        return False
    looser = sorted((t for t in lane.rungs if t > tol), reverse=True)[-4:]
    excess = [float((lane.rungs[t].values / best - 1.0).max()) for t in looser]
    return len(excess) == 4 and min(excess[1:]) > 0.7 * excess[0]


def _elder(lane: Lane, lanes: list[Lane]) -> Lane | None:
    """The same competitor and mode with fewer threads or its first layout: its tolerance holds."""
    same = [x for x in lanes if x.worker.stem == lane.worker.stem and x.mode == lane.mode]
    return None if same[0] is lane else same[0]


def _first(good: Callable[[int], bool], lane: Lane, index: int) -> int:
    """Where to start: two decades looser if the remembered tolerance is too much for this cell."""
    try:
        good(index)
    except OverCap:
        if lane.rungs:
            raise
        index = max(0, index - 4)
        good(index)
    return index


def _good(
    task: Task, lane: Lane, eps: float, best: np.ndarray, cap: float, spent: list[float], at: int
) -> bool:
    """Whether the rung ``at`` reaches ``eps``, solving if that is not known.

    ``spent`` collects the seconds of the solves (not of imports and compilation).
    """
    if not 0 <= at < len(LADDER):
        raise IndexError
    tol = LADDER[at]
    if tol not in lane.rungs:
        if _stuck(lane, best, tol):
            raise IndexError
        if sum(spent) > PATIENCE * cap and eps not in lane.reached:
            raise OverCap
        answer = lane.run(task, tol, cap)
        spent.append(answer["wall"])
        values = task.values(answer["coefs"])
        lane.rungs[tol] = Rung(values, answer["wall"], answer["cpu"], answer["work"])
    if not _within(lane.rungs[tol].values, best, eps):
        return False
    lane.reached[eps] = max(tol, lane.reached.get(eps, 0.0))
    return True


def _index(tol: float) -> int:
    return min(range(len(LADDER)), key=lambda k: abs(math.log(LADDER[k] / tol)))


def _hopeful(lane: Lane, lanes: list[Lane], eps: float) -> bool:
    """Whether a better tolerance could bring a lane near the best."""
    return lane.seconds(eps) <= HOPELESS * min(x.seconds(eps) for x in lanes)


def _search(
    good: Callable[[int], bool], index: int, refine: bool, loosen: Callable[[], bool]
) -> None:
    """By decades from ``index`` to the border between good and bad, then the half decade there."""
    if good(index):
        if not loosen():
            return
        while index >= 2 and good(index - 2):
            index -= 2
        if refine and index >= 1:
            good(index - 1)
        return
    while not good(index + 2):
        index += 2
    if refine and loosen():
        good(index + 1)


def _repeat(task: Task, lanes: list[Lane], eps: float, best: np.ndarray, repeats: int) -> None:
    """Time the lanes that may matter, in rotating order."""
    reached = [lane for lane in lanes if eps in lane.reached]
    rival = min((x.seconds(eps) for x in reached if not x.ours), default=math.inf)
    picked = [lane for lane in reached if _matters(lane, reached, eps, rival)]
    for lane in picked:
        lane.clocks[eps] = Clock()
    for turn in range(repeats):
        shift = turn % max(1, len(picked))
        for lane in picked[shift:] + picked[:shift]:
            tol = lane.reached[eps]
            if lane.seconds(eps) > 1.5:
                continue  # the one time from the climb will do
            time.sleep(PAUSE)
            try:
                answer = lane.run(
                    task, tol, 4 * lane.seconds(eps) + 1.0, short=lane.seconds(eps) < 0.03
                )
            except (OverCap, Refused):
                continue
            missed = not _within(task.values(answer["coefs"]), best, eps)
            lane.missed[eps] = lane.missed.get(eps, 0) + missed
            lane.clocks[eps].wall.append(answer["wall"])
            lane.clocks[eps].cpu.append(answer["cpu"])


def _matters(lane: Lane, reached: list[Lane], eps: float, rival: float) -> bool:
    own = min(x.seconds(eps) for x in reached if x.group == lane.group)
    close = lane.seconds(eps) <= 1.6 * own + 0.002
    return close and (lane.ours or own <= max(CLOSE * rival, CHEAP))


def summary(lanes: list[Lane], eps: float) -> dict[str, dict[str, object]]:
    """Per competitor and threads: its best lane, or why there is no time."""
    out: dict[str, dict[str, object]] = {}
    for group in dict.fromkeys(lane.group for lane in lanes):
        members = [lane for lane in lanes if lane.group == group]
        done = [(_times(x, eps), x) for x in members if eps in x.reached]
        if done:
            times, lane = min(done, key=lambda pair: pair[0]["wall"])
            tol = lane.reached[eps]
            out[group] = {
                **times, "mode": lane.mode, "layout": lane.layout, "tol": tol,
                "work": lane.rungs[tol].work,
            }  # fmt: skip
        else:
            out[group] = _no_time(members, eps)
    return out


def _times(lane: Lane, eps: float) -> dict[str, object]:
    clock, rung = lane.clocks.get(eps), lane.rungs[lane.reached[eps]]
    if clock is None or not clock.wall:
        return {"wall": rung.wall, "cpu": rung.cpu, "repeats": 1}
    median = clock.summary()
    times = {"wall_all": median["wall_all"], "repeats": len(clock.wall)}
    if lane.missed.get(eps):
        times["repeats_that_missed"] = lane.missed[eps]  # not the same result every time
    return {"wall": median["wall"], "cpu": median["cpu"], **times}


def _no_time(members: list[Lane], eps: float) -> dict[str, object]:
    caps = [cap for x in members for e, cap in x.over.items() if e >= eps]
    if caps:
        return {"over": min(caps)}
    failures = [x.failure for x in members if x.failure]
    if failures:
        return {"failure": failures[0]}
    tried = [r.wall for x in members for r in x.rungs.values()]
    return {"not_reached": max(tried, default=0.0)}


def ladder_record(lane: Lane, best: np.ndarray) -> dict[str, object]:
    """Every solve of a lane, for the results file."""
    rungs = [
        {"tol": t, "worst": float((r.values / best - 1.0).max()), "wall": r.wall}
        for t, r in sorted(lane.rungs.items(), reverse=True)
    ]
    return {
        "lane": f"{lane.group} {lane.mode} {lane.layout}",
        "rungs": rungs,
        "why": lane.failure,
        "spent": round(lane.spent, 2),
    }
