"""A bounded memory of rows: all of them while they fit, then a uniform sample of each class.

Rows are stored in their order as compressed sparse rows. Each row has a pseudo-random number in
[0, 1), a hash of its position in the stream, and is kept while that is below the sampling share of
its class. When the memory is full, the share of the class that takes more bytes falls by a quarter.
Samples need no reweighting, because a pairwise loss averages within each class. With forgetting,
the oldest quarter of that class is dropped instead.

Which rows are kept does not depend on how the stream is split into chunks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor.core.types import Array, CompressedColumns, FloatArray, IntArray
from auctor.kernels.linalg.compact import move_rows
from auctor.streaming.estimators.online import State

#: Share of the rows of a class that is kept when the memory is full.
KEPT_SHARE = 0.75
#: Bytes of a stored value.
VALUE_BYTES = 8
#: Bytes of a column index.
COLUMN_BYTES = 4
#: Further bytes per row: end of its entries, weight times label, position in the stream.
ROW_BYTES = 24
#: Rows that need more than this share of the memory are left out.
LARGEST_ROW = 0.25
#: Entries and rows allocated at first; doubled whenever they do not suffice.
FIRST_ROOM = 64
#: Arrays of the state whose length grows with the rows.
GROWING = ("kept_values", "kept_columns", "kept_ends", "kept_signed", "kept_place")
#: Bytes of the unit in which the parameter ``memory`` is given.
MEGABYTE = 1_000_000
#: 2^64 divided by the golden ratio, the increment of splitmix64.
GOLDEN = 0x9E3779B97F4A7C15
#: Upper bound of the random seed: integers below it are exact in floats.
SEED_BOUND = 1 << 53


class KeptRows(NamedTuple):
    """Rows of the memory: compressed rows, weight times label, position in the stream from 1.

    Column indices are omitted while all rows are dense (columns 0, 1, ... without gaps).
    """

    lines: CompressedColumns
    signed: FloatArray
    place: IntArray


def fresh_memory(rng: np.random.Generator) -> State:
    """The state of an empty memory."""
    return {
        "kept_values": np.zeros(FIRST_ROOM),
        "kept_columns": np.zeros(0, dtype=np.uint32),
        "kept_ends": np.zeros(FIRST_ROOM + 1, dtype=np.int64),
        "kept_signed": np.zeros(FIRST_ROOM),
        "kept_place": np.zeros(FIRST_ROOM, dtype=np.int64),
        "kept_rows": np.zeros(1, dtype=np.int64),
        "kept_share": np.ones(2),
        "kept_seed": np.array([rng.integers(SEED_BOUND)]),
        "counted": np.zeros(1, dtype=np.int64),
        "thinned": np.zeros(1, dtype=np.int64),
    }


class _Batch(NamedTuple):
    """Candidate rows: index in the chunk, position in the stream, class (1 is negative).

    ``draw`` is the pseudo-random number that decides, ``length`` the number of entries, ``gaps``
    whether a row is sparse, so that its column indices must be stored.
    """

    where: IntArray
    place: IntArray
    side: IntArray
    draw: FloatArray
    length: IntArray
    gaps: Array


def add_rows(
    state: State,
    rows: CompressedColumns,
    y: FloatArray,
    weight: FloatArray,
    low: int,
    high: int,
    *,
    room: float,
    latest: bool,
) -> None:
    """Add rows low to high - 1 to a memory of ``room`` bytes.

    When it is full, rows are dropped at random, or with ``latest`` the oldest ones.
    """
    batch = _batch(state, rows, y, weight, low, high, latest)
    big = ROW_BYTES + (VALUE_BYTES + COLUMN_BYTES) * batch.length > LARGEST_ROW * room
    if big.any():
        batch.draw[big] = 1.0  # never below a share: the row is left out
        state["thinned"][0] = batch.place[big][-1]
    done = 0
    while done < batch.where.size:
        # Append as many of the sampled rows as fit; then drop rows and sample the rest again, with
        # the smaller share.
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
    rows: CompressedColumns,
    y: FloatArray,
    weight: FloatArray,
    low: int,
    high: int,
    latest: bool,
) -> _Batch:
    """The rows low to high - 1 that have weight."""
    index = low + np.flatnonzero(weight[low:high] > 0.0)
    place = state["counted"][0] + 1 + np.arange(index.size)
    draw = np.zeros(index.size) if latest else _draws(place, int(state["kept_seed"][0]))
    ends = rows.indptr[index + 1].astype(np.int64)
    length = ends - rows.indptr[index].astype(np.int64)
    gaps, some = np.zeros(index.size, dtype=bool), length > 0
    # A row without gaps has its last entry in column length - 1.
    gaps[some] = rows.indices[ends[some] - 1] != length[some] - 1
    return _Batch(index, place, (y[index] < 0.0).astype(np.int64), draw, length, gaps)


def _wanted(state: State, batch: _Batch, done: int) -> IntArray:
    """Rows from ``done`` on that are sampled, up to the first row that is sparse.

    Until then column indices are not stored. If the first sampled row is sparse, the indices of all
    stored rows are written first.
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


def remembered(state: State, first: int, last: int) -> KeptRows:
    """Kept rows whose position in the stream is from first to last."""
    n = int(state["kept_rows"][0])
    start, stop = np.searchsorted(state["kept_place"][:n], [first, last + 1])
    ends = state["kept_ends"][start : stop + 1]
    part = slice(int(ends[0]), int(ends[-1]))
    columns, lengths = state["kept_columns"][part], np.diff(ends)
    if lengths.size and lengths.min() < lengths.max() and not state["kept_columns"].size:
        columns = prefixes(lengths)
    lines = CompressedColumns(ends - ends[0], columns, state["kept_values"][part])
    return KeptRows(lines, state["kept_signed"][start:stop], state["kept_place"][start:stop])


def used(state: State) -> int:
    """Bytes of the kept rows."""
    n = int(state["kept_rows"][0])
    entry = VALUE_BYTES + COLUMN_BYTES * (state["kept_columns"].size > 0)
    return ROW_BYTES * n + entry * int(state["kept_ends"][n])


def complete(state: State) -> bool:
    """Whether no row has been left out."""
    return not state["thinned"][0]


def _bytes(state: State, length: IntArray) -> IntArray:
    """Bytes that rows with these numbers of entries take."""
    sizes: IntArray = (
        ROW_BYTES + (VALUE_BYTES + COLUMN_BYTES * (state["kept_columns"].size > 0)) * length
    )
    return sizes


def _draws(place: IntArray, seed: int) -> FloatArray:
    """Pseudo-random numbers in [0, 1): the splitmix64 hash of the positions."""
    # The multipliers and shifts of splitmix64.
    z = (place.astype(np.uint64) + np.uint64(seed)) * np.uint64(GOLDEN)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return (z ^ (z >> np.uint64(31))).astype(np.float64) * 2.0**-64  # splitmix64


def prefixes(length: IntArray) -> Array:
    """Column indices 0, 1, ..., length - 1 of each row, one row after the other."""
    starts = np.repeat(np.cumsum(length) - length, length)
    return (np.arange(starts.size) - starts).astype(np.uint32)


def _name_columns(state: State) -> None:
    """Store the column indices of all kept rows, which were implicit so far."""
    n = int(state["kept_rows"][0])
    columns = np.zeros(state["kept_values"].size, dtype=np.uint32)
    names = prefixes(np.diff(state["kept_ends"][: n + 1]))
    columns[: names.size] = names
    state["kept_columns"] = columns


def _append(
    state: State, rows: CompressedColumns, index: IntArray, place: IntArray, signed: FloatArray
) -> None:
    """Append the rows of an index to the memory."""
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
    """Positions of the entries of the rows of an index, and ends of these rows once copied."""
    starts = ends[index].astype(np.int64)
    length = ends[index + 1].astype(np.int64) - starts
    new = np.concatenate([[0], np.cumsum(length)])
    if index.size and index[-1] - index[0] + 1 == index.size:  # consecutive rows: no index array
        return slice(int(starts[0]), int(starts[0] + new[-1])), new
    return np.arange(new[-1]) + np.repeat(starts - new[:-1], length), new


def _widen(state: State, rows: int, entries: int) -> None:
    """Enlarge the arrays for this many rows and entries, rounded up to powers of two."""
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
    """Drop rows of the class that takes more bytes: a random quarter, or the oldest quarter."""
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
        stay[rows[rows.size - int(KEPT_SHARE * rows.size) :]] = True
    else:
        state["kept_share"][side] *= KEPT_SHARE
        stay |= _draws(place[:n], int(state["kept_seed"][0])) < state["kept_share"][side]
    # Move the remaining rows together, in place, and clear what is behind them.
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
