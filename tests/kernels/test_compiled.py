"""Kernels come from the disk; one that is not there is compiled."""

import os
import subprocess
import sys
import threading

import pytest
from numba.core import event

from auctor.kernels.runtime import one_writer
from auctor.kernels.runtime.compiled import kernel, report_compilation
from auctor.kernels.runtime.one_writer import locked

#: Twice a number, and how often its machine code came from the disk.
CODE = """
from auctor.kernels.runtime.compiled import kernel

@kernel
def twice(x):
    return 2.0 * x

assert twice(21.0) == 42.0
print(sum(twice.stats.cache_hits.values()))
"""


@pytest.fixture
def run(tmp_path):
    module = tmp_path / "kernels_of_a_test.py"
    module.write_text(CODE)

    def run():
        environment = dict(os.environ, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
        done = subprocess.run(
            [sys.executable, str(module)],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return int(done.stdout)

    return run


def test_the_second_process_loads_what_the_first_compiled(run):
    assert run() == 0
    assert run() == 1


@pytest.mark.slow  # two processes
def test_code_of_an_older_source_is_not_kept_as_that_of_a_newer_one(tmp_path):
    module = tmp_path / "changing.py"
    text = (
        "from auctor.kernels.runtime.compiled import kernel\n\n\n"
        "@kernel\ndef f(x):\n    return 2.0 * x\n"
    )
    module.write_text(text)
    change = (
        f"import pathlib; pathlib.Path({str(module)!r}).write_text({text.replace('2.0', '3.0')!r})"
    )
    environment = dict(os.environ, NUMBA_CACHE_DIR=str(tmp_path / "c"), PYTHONPATH=os.pathsep.join(
        [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    ))  # fmt: skip
    # Python's own compiled files go by whole seconds and the length of the source.
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    said = [
        subprocess.run(
            [sys.executable, "-c", f"import changing; {between}; print(changing.f(1.0))"],
            env=environment, capture_output=True, text=True, check=True,
        ).stdout
        for between in (change, "pass")
    ]  # fmt: skip
    assert said == ["2.0\n", "3.0\n"]


def test_where_nothing_can_be_written_it_is_compiled():
    names = {}
    exec(compile("def twice(x):\n    return 2.0 * x", "<typed in>", "exec"), names)
    assert kernel(names["twice"])(21.0) == 42.0


def two_kernels(folder):
    """A kernel that calls another one, both as if of this package, in a module of a folder."""
    module = folder / "doubled.py"
    module.write_text("def outer(x):\n    return inner(x) + x\n\ndef inner(x):\n    return 2 * x\n")
    names = {"__name__": "auctor.doubled", "__file__": str(module)}
    exec(compile(module.read_text(), str(module), "exec"), names)
    names["inner"] = kernel(names["inner"])
    return kernel(names["outer"])


class Recorder(event.Listener):
    """Ends of Numba's events: which kernel, depth of the compiler lock, files written by then."""

    def __init__(self, folder):
        self.folder, self.depth, self.ends = folder, 0, []

    def on_start(self, event):
        self.depth += event.kind == "numba:compiler_lock"

    def on_end(self, event):
        written = len(list(self.folder.glob("*.nbc")))
        if event.kind == "numba:compile":
            name = event.data["dispatcher"].py_func.__name__
            self.ends.append((name, self.depth, written))
        else:
            self.depth -= 1
            self.ends.append(("unlocked", self.depth, written))


def test_numba_writes_a_kernel_between_the_events_that_the_lock_relies_on(tmp_path, monkeypatch):
    """After the end of ``compile``, before the compiler lock of that kernel is released.

    The order of these events is not documented: this test says which versions of Numba have it.
    """
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    outer = two_kernels(tmp_path)
    seen = Recorder(type(tmp_path)(outer.stats.cache_path))
    with (
        event.install_listener("numba:compile", seen),
        event.install_listener("numba:compiler_lock", seen),
    ):
        assert outer(7) == 21
    compiled = [place for place, end in enumerate(seen.ends) if end[0] != "unlocked"]
    assert [seen.ends[place][0] for place in compiled] == ["inner", "outer"]
    for before, place in enumerate(compiled):
        _, depth, written = seen.ends[place]
        assert depth >= 1
        assert written == before  # not written yet, but the kernel that it calls is
        released = next(
            (now, files)
            for kind, now, files in seen.ends[place + 1 :]
            if kind == "unlocked" and now < depth
        )
        assert released == (depth - 1, before + 1)


def test_a_kernel_is_written_only_by_the_one_who_holds_the_lock(tmp_path, monkeypatch):
    """Two processes that write at a time give one number to machine code for different types."""
    pytest.importorskip("fcntl")
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    outer = two_kernels(tmp_path)
    folder = type(tmp_path)(outer.stats.cache_path)

    other = locked(folder)  # as another process would hold it
    compiled, calls = threading.Event(), []
    with report_compilation(lambda begins: begins or compiled.set()):
        thread = threading.Thread(target=lambda: calls.append(outer(7)))
        thread.start()
        # The inner kernel is compiled first, and waits before it writes.
        thread.join(timeout=1.0)
        assert thread.is_alive()
        assert not list(folder.glob("*.nbc"))
        os.close(other)
        thread.join(timeout=60.0)
    assert calls == [21]
    assert compiled.is_set()
    assert len(list(folder.glob("*.nbc"))) == 2
    os.close(locked(folder))  # released: this would wait for ever


def test_a_newer_numba_does_without_the_lock(monkeypatch):
    registered = []
    monkeypatch.setattr(event, "register", lambda kind, listener: registered.append(kind))
    monkeypatch.setattr("numba.__version__", f"0.{one_writer.TESTED[1] + 1}.0rc1")
    one_writer.install()
    assert registered == []
    monkeypatch.setattr("numba.__version__", "0.60.0")
    one_writer.install()
    assert registered == ["numba:compile", "numba:compiler_lock"]


def test_no_threads_for_numba_are_refused_by_the_name_of_the_variable():
    done = subprocess.run(
        [sys.executable, "-c", "from auctor import MetricClassifier"],
        env=os.environ | {"NUMBA_NUM_THREADS": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith(
        "ParameterError: auctor needs a positive number in the environment variable "
        "NUMBA_NUM_THREADS; got 0. "
        "Unset it: kernels use the threads of n_threads=."
    )
