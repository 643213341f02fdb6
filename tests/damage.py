"""Damage to archives: bytes that change by chance, and files that somebody made."""

import io
import json
import zipfile

import numpy as np

from auctor.core.archive import write_members

#: Values that a file may have in place of any other.
HOSTILE = (
    None,
    True,
    -1,
    0,
    10**12,
    1e308,
    -0.5,
    "",
    "nan",
    "ü\x1b[2J",
    [],
    {},
    [[]],
    {"float": "nan"},
    {"float": "-inf"},
    {"tuple": []},
    {"dict": []},
    {"array": "coef"},
    {"objects": [1, "a"]},
    {"part": "penalties.L1", "arguments": {}},
    {"sparse": "coef", "shape": [1, 10**9]},
)


def damaged(content, rng):
    """A file with one thing wrong: in its bytes, its description or one of its arrays."""
    return (_bytes, _described, _described, _array, _array)[int(rng.integers(5))](content, rng)


def _bytes(content, rng):
    """Some bytes changed, cut out, repeated or cut off."""
    where, much = int(rng.integers(len(content))), int(rng.integers(1, 64))
    part = content[where : where + much]
    noise = rng.integers(0, 256, size=len(part), dtype=np.uint8).tobytes()
    middle = (noise, b"", part + part, None)[int(rng.integers(4))]
    if middle is None:
        return content[:where]
    return content[:where] + middle + content[where + much :]


def _described(content, rng):
    """A value of the description replaced, removed or copied from elsewhere."""
    members = members_of(content)
    meta = json.loads(members["meta.json"])
    places = list(_places(meta))
    holder, key = places[int(rng.integers(len(places)))]
    other, name = places[int(rng.integers(len(places)))]
    action = int(rng.integers(4))
    if action == 0:
        del holder[key]
    elif action == 1:
        holder[key] = json.loads(json.dumps(other[name]))
    else:
        holder[key] = HOSTILE[int(rng.integers(len(HOSTILE)))]
    members["meta.json"] = json.dumps(meta).encode()
    return packed(members)


def _places(value):
    """Every place in a JSON value, as (list or dict, key)."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in list(entries):
        yield value, key
        if isinstance(entry, dict | list):
            yield from _places(entry)


def _array(content, rng):
    """An array with other values, another dtype, another shape, or the values of another array."""
    members = members_of(content)
    meta = json.loads(members["meta.json"])
    if not meta["arrays"]:
        return content[:-1]
    names = sorted(meta["arrays"])
    name = names[int(rng.integers(len(names)))]
    folder = next(member for member in members if member.endswith(".npy")).split("/")[0]
    array = np.load(io.BytesIO(members[f"{folder}/{name}.npy"]))
    kind = "biufc"
    changes = [
        lambda a: a[..., :-1] if a.ndim else a[None],
        lambda a: np.concatenate([a, a]) if a.ndim else a[None],
        lambda a: a.reshape(-1),
        lambda a: a[None],
        lambda a: a[::-1] if a.ndim else a,
        lambda a: a.astype(str),
        lambda a: a.astype(np.float32) if a.dtype.kind in kind else a[:0],
        lambda a: a.astype(np.complex128) if a.dtype.kind in kind else a[:0],
        lambda a: np.zeros_like(a),
        lambda a: np.full_like(a, -1 if a.dtype.kind in "if" else 1),
        lambda a: _one(a, rng, np.nan),
        lambda a: _one(a, rng, np.inf),
        lambda a: _one(a, rng, 1e300),
        lambda a: _one(a, rng, -3.0),
        lambda a: a * 1e9 if a.dtype.kind == "f" else a,
        lambda a: a * 1e-9 if a.dtype.kind == "f" else a,
    ]
    with np.errstate(all="ignore"):
        array = np.ascontiguousarray(changes[int(rng.integers(len(changes)))](array))
    file = io.BytesIO()
    np.save(file, array)
    members[f"{folder}/{name}.npy"] = file.getvalue()
    meta["arrays"][name] = [array.dtype.str, list(array.shape)]
    members["meta.json"] = json.dumps(meta).encode()
    return packed(members)


def _one(array, rng, value):
    """The array with another value in one place."""
    changed = array.copy()
    if array.size and array.dtype.kind == "f":
        changed.flat[int(rng.integers(array.size))] = value
    elif array.size and array.dtype.kind in "iu" and np.isfinite(value):
        changed.flat[int(rng.integers(array.size))] = 3 if value < 0 else np.iinfo(array.dtype).max
    return changed


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    del members["checksum"]
    return members


def packed(members):
    """A file of these members, with a right checksum."""
    file = io.BytesIO()
    write_members(file, members)
    return file.getvalue()
