"""Archives: strict reading of what anyone may have written."""

import hashlib
import io
import json
import os
import struct
import zipfile

import numpy as np
import pytest

from auctor.core.archive import FOLDERS, parse_json, read_archive, write_archive, write_members
from auctor.core.errors import DataError

ARRAYS = {
    "a": np.arange(6.0).reshape(2, 3),
    "f": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "empty": np.zeros((0, 4)),
    "scalar": np.array(2.5),
    "text": np.array(["a", "ü"]),
    "bytes": np.array([b"x", b"yz"]),
    "truth": np.array([True, False]),
}


def write(path, meta=None, arrays=None):
    write_archive(path, {"format": 1, **(meta or {})}, ARRAYS if arrays is None else arrays)


def read(path):
    return read_archive(path, format=1)


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    del members["checksum"]
    return members


def rewrite(path, members):
    with open(path, "wb") as file:
        write_members(file, members)


def test_what_is_read_is_what_was_written(tmp_path):
    write(tmp_path / "x", {"say": ["ü", 1, None]})
    meta, arrays = read(tmp_path / "x")
    assert meta["say"] == ["ü", 1, None]
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].tolist() == array.tolist()
        assert arrays[name].flags.f_contiguous == array.flags.f_contiguous
        assert arrays[name].flags.writeable


def test_equal_content_makes_equal_files(tmp_path):
    for name in "xy":
        write(tmp_path / name)
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


def test_the_documented_checksum(tmp_path):
    write(tmp_path / "x")
    with zipfile.ZipFile(tmp_path / "x") as archive:
        stated = archive.read("checksum").decode()
    digest = hashlib.sha256()
    for name, content in sorted(members_of(tmp_path / "x").items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    assert stated == digest.hexdigest()


def test_newer_formats_name_both_versions(tmp_path):
    write(tmp_path / "x")
    members = members_of(tmp_path / "x")
    meta = json.loads(members["meta.json"]) | {"format": 2, "version": "9.9"}
    rewrite(tmp_path / "x", {"meta.json": json.dumps(meta).encode(), "new": b"1"})
    with pytest.raises(DataError, match=r"format 1; got 2 .* auctor 9\.9, .* 0\.1\.0"):
        read(tmp_path / "x")


@pytest.mark.parametrize("made", ["missing", "folder", "empty", "text", "pipe"])
def test_what_is_no_archive(made, tmp_path):
    path = tmp_path / "x"
    if made == "folder":
        path.mkdir()
    elif made == "pipe":
        os.mkfifo(path)
    elif made != "missing":
        path.write_bytes(b"" if made == "empty" else b"PK but no archive")
    with pytest.raises(DataError):
        read(path)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b'{"format": NaN}',
        b'{"format": 1, "version": "1", "kind": "model", "arrays": {}, "x": Infinity}',
        b'{"format": 1, "version": "1", "kind": "model", "arrays": {}, "x": 1e999}',
        b'{"format": 1, "version": "1", "kind": "model", "arrays": {}, "x": 1, "x": 2}',
        b'{"format": 1, "version": "1", "kind": "model", "arrays": {}, "x": "\\ud800"}',
        b'{"format": 1, "version": "1", "kind": "model", "arrays": {}, "x": ' + b"9" * 5000 + b"}",
        b'{"format": true, "version": "1", "kind": "model", "arrays": {}}',
        b'{"format": 0, "version": "1", "kind": "model", "arrays": {}}',
        b'{"format": 1, "kind": "model", "arrays": {}}',
        b'{"format": 1, "version": "1", "kind": "model"}',
        b'{"format": 1, "version": "1", "kind": "model", "arrays": [1]}',
        b'{"format": 1, "version": "1", "kind": ["model"], "arrays": {}}',
        b'{"format": 1, "version": "1", "kind": "checkpoint", "arrays": {}}',
        b'{"format": 1, "version": "1", "kind": "model", "arrays": {"a": ["<f8", [1]]}}',
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
)
def test_descriptions_that_are_refused(text, tmp_path):
    rewrite(tmp_path / "x", {"meta.json": text})
    with pytest.raises(DataError):
        read(tmp_path / "x")


def test_strict_json():
    assert parse_json(b'{"a": [1, 2.5, "\\u00fc", null, true]}') == {"a": [1, 2.5, "ü", None, True]}


def npy(header, data=b""):
    header = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


HEADER = "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x02\x00" + npy(HEADER.format("<f8", "(1,)"), b"12345678")[8:],
        npy(HEADER.format("|O", "(1,)"), b"12345678"),
        npy(HEADER.format("<f8", "(2,)"), b"12345678"),
        npy(HEADER.format("<f8", "(1,)"), b"12345678x"),
        npy(HEADER.format("<f8", "(1125899906842624,)"), b"12345678"),
        npy(HEADER.format("<f8", "(99999999999999999999999999,)"), b"12345678"),
        npy(HEADER.format("<f8", "(-1,)"), b"12345678"),
        npy(HEADER.format("<f8", "(-1, -1)"), b"12345678"),
        npy(HEADER.format("<f7", "(1,)"), b"1234567"),
        npy(HEADER.format("<U0", "(5,)")),
        npy(HEADER.format("<U999999999", "(0,)")),
        npy(HEADER.format("<f8", "(" + "1, " * 70 + "1)"), b"12345678"),
        npy(HEADER.format("|b1", "(1,)"), b"\x02"),
        npy(HEADER.format("<U1", "(1,)"), b"\xff\xff\xff\x7f"),
        npy(HEADER.format(">U1", "(1,)"), b"\0\0\xd8\0"),
        npy(HEADER.format("<M8", "(1,)"), b"12345678"),
        npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", b"12345678"),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os').abort(),), }"),
        npy("(" * 9000),
    ],
)
def test_arrays_that_are_refused(content, tmp_path):
    meta = {"format": 1, "version": "1", "kind": "model", "arrays": {"a": ["<f8", [1]]}}
    rewrite(tmp_path / "x", {"meta.json": json.dumps(meta).encode(), "arrays/a.npy": content})
    with pytest.raises(DataError, match="incomplete"):
        read(tmp_path / "x")


def test_an_array_of_another_shape_than_described(tmp_path):
    write(tmp_path / "x", arrays={"a": np.zeros(3)})
    members = members_of(tmp_path / "x")
    meta = json.loads(members["meta.json"])
    meta["arrays"]["a"] = ["<f8", [1, 3]]
    rewrite(tmp_path / "x", members | {"meta.json": json.dumps(meta).encode()})
    with pytest.raises(DataError, match="shape"):
        read(tmp_path / "x")


@pytest.mark.parametrize("name", ["arrays/b.npy", "../evil", "/etc/evil", "arrays/", "Meta.json"])
def test_members_that_belong_to_nothing(name, tmp_path):
    write(tmp_path / "x")
    rewrite(tmp_path / "x", members_of(tmp_path / "x") | {name: b"1"})
    with pytest.raises(DataError, match="other arrays"):
        read(tmp_path / "x")
    assert os.listdir(tmp_path) == ["x"]


def raw(path, entries, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content, compression)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(tmp_path):
    write(tmp_path / "x")
    with zipfile.ZipFile(tmp_path / "x") as archive:
        entries = [(name, archive.read(name)) for name in archive.namelist()]
    raw(tmp_path / "x", [*entries, entries[0]])
    with pytest.raises(DataError, match="one name"):
        read(tmp_path / "x")


def test_a_bomb_is_refused_by_its_looks(tmp_path):
    raw(tmp_path / "x", [("meta.json", b"0" * 50_000_000)], zipfile.ZIP_DEFLATED)
    assert (tmp_path / "x").stat().st_size < 100_000
    with pytest.raises(DataError, match="compressed"):
        read(tmp_path / "x")


def test_members_that_overlap(tmp_path):
    """Many entries of the directory that point at the same bytes."""
    raw(tmp_path / "x", [("a" * 9, b"0" * 100_000)])
    whole = (tmp_path / "x").read_bytes()
    start = whole.rindex(b"PK\x01\x02")
    end = whole.rindex(b"PK\x05\x06")
    entry, tail = whole[start:end], bytearray(whole[end:])
    many = b"".join(entry.replace(b"a" * 9, b"%09d" % k) for k in range(50))
    tail[8:12] = struct.pack("<HH", 50, 50)
    tail[12:16] = struct.pack("<I", len(many))
    (tmp_path / "x").write_bytes(whole[:start] + many + bytes(tail))
    with pytest.raises(DataError, match="overlap"):
        read(tmp_path / "x")


def test_every_truncation_is_refused(tmp_path):
    write(tmp_path / "x")
    whole = (tmp_path / "x").read_bytes()
    for size in range(0, len(whole), 7):
        (tmp_path / "x").write_bytes(whole[:size])
        with pytest.raises(DataError):
            read(tmp_path / "x")


def test_every_changed_byte_is_refused_or_harmless(tmp_path):
    write(tmp_path / "x")
    whole = (tmp_path / "x").read_bytes()
    before, arrays = read(tmp_path / "x")
    for where in range(0, len(whole), 11):
        changed = bytearray(whole)
        changed[where] ^= 1 << (where % 8)
        (tmp_path / "x").write_bytes(changed)
        try:
            meta, found = read(tmp_path / "x")
        except DataError:
            continue
        assert meta == before
        assert {k: v.tolist() for k, v in found.items()} == {
            k: v.tolist() for k, v in arrays.items()
        }


def test_kinds_are_kept_apart(tmp_path):
    assert set(FOLDERS) == {"model", "checkpoint", "fit checkpoint"}
    write_archive(tmp_path / "x", {"format": 1}, {}, kind="checkpoint")
    with pytest.raises(DataError, match="needs a model; got a checkpoint"):
        read(tmp_path / "x")


def test_names_with_a_null_byte(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("meta.json#x", b"{}")
    (tmp_path / "x").write_bytes(file.getvalue().replace(b"meta.json#x", b"meta.json\0x"))
    with pytest.raises(DataError):
        read(tmp_path / "x")
