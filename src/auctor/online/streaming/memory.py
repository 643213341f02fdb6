"""A bounded memory of rows: all of them while they fit, a fair sample of each class afterwards.

Rows stand in their order, one after the other. A row stays if a number drawn for it, a hash of its
place in the stream, is below the share of its class; when there is no room left, the share of the
class that takes more room shrinks by a quarter. Shares need no correction, as pairs of rows are
weighted within each class. With forgetting the oldest quarter of that class goes instead.

What is kept depends on the rows alone, not on the chunks they came in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor.core.types import Array, Columns, FloatArray, IntArray
from auctor.kernels.linalg.compact import move_rows
from auctor.online.base import State

#: What is left of a class when room is made.
SHRINK = 0.75
#: Bytes of an entry.
VALUE = 8
#: Bytes of the number of its column.
COLUMN = 4
#: Bytes of a row besides: where it ends, weight times label, place in the stream.
ROW = 24
#: Rows that take more of the room are left out.
LARGEST = 0.25
#: Room for this many entries and rows at first; doubled when there is no more.
FIRST_ROOM = 64
#: Arrays of the state whose length depends on the rows.
GROWING = ("kept_values", "kept_columns", "kept_ends", "kept_signed", "kept_place")
#: Draws are below this.
DRAWS = 1 << 53


class Kept(NamedTuple):
    """Remembered rows: compressed lines, weight times label, and place in the stream from 1.

    Lines of equal length that begin with column 0 and have no gaps go without columns.
    """

    lines: Columns
    signed: FloatArray
    place: IntArray


def fresh_memory(rng: np.random.Generator) -> State:
    """A memory of no rows."""
    return {
        "kept_values": np.zeros(FIRST_ROOM),
        "kept_columns": np.zeros(0, dtype=np.uint32),
        "kept_ends": np.zeros(FIRST_ROOM + 1, dtype=np.int64),
        "kept_signed": np.zeros(FIRST_ROOM),
        "kept_place": np.zeros(FIRST_ROOM, dtype=np.int64),
        "kept_rows": np.zeros(1, dtype=np.int64),
        "kept_share": np.ones(2),
        "kept_seed": np.array([rng.integers(DRAWS)]),
        "counted": np.zeros(1, dtype=np.int64),
        "thinned": np.zeros(1, dtype=np.int64),
    }


class _Batch(NamedTuple):
    """Rows to remember: where they are, and what decides about them."""

    where: IntArray
    place: IntArray
    side: IntArray
    draw: FloatArray
    length: IntArray
    gaps: Array


def add_rows(
    state: State,
    rows: Columns,
    y: FloatArray,
    weight: FloatArray,
    low: int,
    high: int,
    *,
    room: float,
    latest: bool,
) -> None:
    """Take rows low..high into a memory of ``room`` bytes; with ``latest`` old rows make way."""
    batch = _batch(state, rows, y, weight, low, high, latest)
    big = ROW + (VALUE + COLUMN) * batch.length > LARGEST * room
    if big.any():
        batch.draw[big] = 1.0
        state["thinned"][0] = batch.place[big][-1]
    done = 0
    while done < batch.where.size:
        wanted = _wanted(state, batch, done)
        sizes = np.cumsum(_bytes(state, batch.length[wanted]))
        fit = int(np.searchsorted(sizes, room - used(state), side="right"))
        taken = wanted[:fit]
        index = batch.where[taken]
        _append(state, rows, index, batch.place[taken], y[index] * weight[index])
        if fit < wanted.size:
            done = int(wanted[fit])
            state["counted"][0] = batch.place[done] - 1
            _make_room(state, latest)
        else:
            done = int(wanted[-1]) + 1 if wanted.size else batch.where.size
    if batch.place.size:
        state["counted"][0] = batch.place[-1]


def _batch(
    state: State,
    rows: Columns,
    y: FloatArray,
    weight: FloatArray,
    low: int,
    high: int,
    latest: bool,
) -> _Batch:
    """Rows low..high that have weight."""
    index = low + np.flatnonzero(weight[low:high] > 0.0)
    place = state["counted"][0] + 1 + np.arange(index.size)
    draw = np.zeros(index.size) if latest else _draws(place, int(state["kept_seed"][0]))
    ends = rows.indptr[index + 1].astype(np.int64)
    length = ends - rows.indptr[index].astype(np.int64)
    gaps, some = np.zeros(index.size, dtype=bool), length > 0
    gaps[some] = rows.indices[ends[some] - 1] != length[some] - 1
    return _Batch(index, place, (y[index] < 0.0).astype(np.int64), draw, length, gaps)


def _wanted(state: State, batch: _Batch, done: int) -> IntArray:
    """Rows from done on that the draws let in, up to where columns need names for the first time.

    Rows without gaps, which have the first columns and no others, go without names until then.
    """
    share = state["kept_share"][batch.side[done:]]
    wanted = done + np.flatnonzero(batch.draw[done:] < share)
    if state["kept_columns"].size or not batch.gaps[wanted].any():
        return wanted
    first = int(np.argmax(batch.gaps[wanted]))
    if first:
        return wanted[:first]
    _name_columns(state)
    return wanted


def remembered(state: State, first: int, last: int) -> Kept:
    """Rows whose place in the stream is from first to last."""
    n = int(state["kept_rows"][0])
    start, stop = np.searchsorted(state["kept_place"][:n], [first, last + 1])
    ends = state["kept_ends"][start : stop + 1]
    part = slice(int(ends[0]), int(ends[-1]))
    columns, lengths = state["kept_columns"][part], np.diff(ends)
    if lengths.size and lengths.min() < lengths.max() and not state["kept_columns"].size:
        columns = prefixes(lengths)
    lines = Columns(ends - ends[0], columns, state["kept_values"][part])
    return Kept(lines, state["kept_signed"][start:stop], state["kept_place"][start:stop])


def used(state: State) -> int:
    """Bytes that the rows take."""
    n = int(state["kept_rows"][0])
    entry = VALUE + COLUMN * (state["kept_columns"].size > 0)
    return ROW * n + entry * int(state["kept_ends"][n])


def complete(state: State) -> bool:
    """Whether no row has been left out."""
    return not state["thinned"][0]


def _bytes(state: State, length: IntArray) -> IntArray:
    sizes: IntArray = ROW + (VALUE + COLUMN * (state["kept_columns"].size > 0)) * length
    return sizes


def _draws(place: IntArray, seed: int) -> FloatArray:
    """A number in [0, 1) for each place: the splitmix64 hash."""
    z = (place.astype(np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return (z ^ (z >> np.uint64(31))).astype(np.float64) * 2.0**-64


def prefixes(length: IntArray) -> Array:
    """Columns 0, 1, ... of each row."""
    starts = np.repeat(np.cumsum(length) - length, length)
    return (np.arange(starts.size) - starts).astype(np.uint32)


def _name_columns(state: State) -> None:
    """From now on rows have gaps: write down the columns of all."""
    n = int(state["kept_rows"][0])
    columns = np.zeros(state["kept_values"].size, dtype=np.uint32)
    names = prefixes(np.diff(state["kept_ends"][: n + 1]))
    columns[: names.size] = names
    state["kept_columns"] = columns


def _append(
    state: State, rows: Columns, index: IntArray, place: IntArray, signed: FloatArray
) -> None:
    n = int(state["kept_rows"][0])
    start = int(state["kept_ends"][n])
    entries, ends = _entries(rows.indptr, index)
    _widen(state, n + index.size, start + int(ends[-1]))
    state["kept_values"][start : start + ends[-1]] = rows.values[entries]
    if state["kept_columns"].size:
        state["kept_columns"][start : start + ends[-1]] = rows.indices[entries]
    state["kept_ends"][n : n + index.size + 1] = start + ends
    state["kept_signed"][n : n + index.size] = signed
    state["kept_place"][n : n + index.size] = place
    state["kept_rows"][0] = n + index.size


def _entries(ends: Array, index: IntArray) -> tuple[Array | slice, IntArray]:
    """Where the entries of some rows are, and where their lines end."""
    starts = ends[index].astype(np.int64)
    length = ends[index + 1].astype(np.int64) - starts
    new = np.concatenate([[0], np.cumsum(length)])
    if index.size and index[-1] - index[0] + 1 == index.size:
        return slice(int(starts[0]), int(starts[0] + new[-1])), new
    return np.arange(new[-1]) + np.repeat(starts - new[:-1], length), new


def _widen(state: State, rows: int, entries: int) -> None:
    """Numbers of rows and of entries to allocate, rounded up to powers of two."""
    needs = {"kept_values": entries, "kept_signed": rows, "kept_place": rows, "kept_ends": rows}
    if state["kept_columns"].size:
        needs["kept_columns"] = entries
    for name, need in needs.items():
        extra = name == "kept_ends"
        size = state[name].size - extra
        if need > size:
            new = np.zeros((1 << (need - 1).bit_length()) + extra, dtype=state[name].dtype)
            new[: state[name].size] = state[name]
            state[name] = new


def _make_room(state: State, latest: bool) -> None:
    """Leave out rows of the class that takes more room, by their draws or by their age."""
    n = int(state["kept_rows"][0])
    ends, signed, place = (state[f"kept_{name}"] for name in ("ends", "signed", "place"))
    length = np.diff(ends[: n + 1])
    negative = signed[:n] < 0.0
    size = _bytes(state, length)
    side = int(size[negative].sum() >= size[~negative].sum())
    own = negative if side else ~negative
    stay = ~own
    if latest:
        (rows,) = np.nonzero(own)
        stay[rows[rows.size - int(SHRINK * rows.size) :]] = True
    else:
        state["kept_share"][side] *= SHRINK
        stay |= _draws(place[:n], int(state["kept_seed"][0])) < state["kept_share"][side]
    (index,) = np.nonzero(stay)
    new = np.concatenate([[0], np.cumsum(length[index])])
    for name in ("kept_values", "kept_columns"):
        if state[name].size:
            move_rows(ends, index, state[name])
            state[name][new[-1] : ends[n]] = 0
    for name, values in (("ends", new), ("signed", signed[index]), ("place", place[index])):
        array = state[f"kept_{name}"]
        array[: values.size] = values
        array[values.size : n + 1] = 0
    state["kept_rows"][0] = index.size
    state["thinned"][0] = max(1, state["counted"][0], state["thinned"][0])
