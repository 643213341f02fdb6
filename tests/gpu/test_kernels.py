"""The CUDA kernels on the processor, thread by thread, by an emulation in C++."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra gpu (PyTorch) is not installed")

import auctor.gpu.kernels as kernels  # noqa: E402

pytestmark = [
    pytest.mark.slow,  # compiles C++; the twins in PyTorch run in `make test` where it is installed
    pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler"),
]

DENSE = ("float, 4", "float, 1", "double, 2", "double, 1", "bf16, 8", "bf16, 1")
LINES = ("float, int", "double, rows_t")
NAMES = [
    *(f"dense_{part}<{kind}>" for part in ("scores", "gradient") for kind in DENSE),
    *(f"csr_scores<{kind}, {lanes}>" for kind in LINES for lanes in (8, 32)),
    *(f"csr_scatter<{kind}>" for kind in LINES),
    *(f"{part}<{kind}>" for part in ("look_up", "histograms") for kind in ("float", "double")),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    here, source = Path(__file__).parent, Path(kernels.__file__).parent
    folder = tmp_path_factory.mktemp("emulated")
    lines = ['#include "emulator.cpp"\n#define ARGS unsigned x, unsigned y, unsigned t, void** a\n']
    lines += [
        f'extern "C" void run_{k}(ARGS) {{ launch(&{name}, x, y, t, a); }}\n'
        for k, name in enumerate(NAMES)
    ]
    (folder / "all.cpp").write_text("".join(lines))
    command = ["g++", "-std=c++20", "-O1", "-w", "-shared", "-fPIC", "-pthread"]
    command += [f"-I{here}", f"-I{source}", str(folder / "all.cpp"), "-o", str(folder / "all.so")]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / "all.so"))


@pytest.fixture(autouse=True)
def emulated(library, monkeypatch):
    def run(name, grid, threads, shared, *args):
        assert shared <= 1 << 17
        assert threads <= 1024
        values = [np.uint64(x.data_ptr()) if isinstance(x, torch.Tensor) else x for x in args]
        cells = [np.array([value]) for value in values]
        given = (ctypes.c_void_p * len(cells))(*(cell.ctypes.data for cell in cells))
        columns, lines = (*grid, 1)[:2]
        getattr(library, f"run_{NAMES.index(name)}")(columns, lines, threads, given)

    monkeypatch.setattr(kernels, "_run", run)
    monkeypatch.setattr(kernels, "_blocks", lambda device, most, per=1: max(1, min(most, 3)))


def close(found, wanted, rtol=1e-13):
    wanted = torch.as_tensor(wanted)
    assert found.dtype == torch.float64
    assert (found - wanted).abs().max() <= rtol * wanted.abs().max()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape", [(1, 1), (301, 7), (130, 24), (70, 400)])
def test_dense(dtype, shape):
    some = torch.Generator().manual_seed(0)
    X = torch.randn(shape, generator=some, dtype=torch.float64).to(dtype)
    w, u = (torch.randn(k, generator=some, dtype=torch.float64) for k in reversed(shape))
    assert kernels.dense_fits(X)
    close(kernels.dense_scores(X, w, 0.5), X.double() @ w + 0.5)
    close(kernels.dense_gradient(X, u, False), u @ X.double())
    close(kernels.dense_gradient(X, u, True), u @ X.double() ** 2)


@pytest.mark.parametrize(
    ("value", "index"), [(torch.float32, torch.int32), (torch.float64, torch.int64)]
)
@pytest.mark.parametrize("most", [9, 200])
def test_compressed_rows(value, index, most):
    rng = np.random.default_rng(1)
    n, d = 90, 300
    lengths = rng.integers(0 if most < 50 else 60, most, n)
    lengths[4] = 0
    dense = np.zeros((n, d))
    columns = [np.sort(rng.choice(d, size, replace=False)) for size in lengths]
    for row, some in zip(dense, columns, strict=True):
        row[some] = rng.normal(size=some.size).astype(np.float32)
    indptr = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
    indices = torch.from_numpy(np.concatenate(columns)).to(index)
    values = torch.from_numpy(np.concatenate([r[c] for r, c in zip(dense, columns, strict=True)]))
    lines = (indptr, indices, values.to(value))
    w, u = torch.from_numpy(rng.normal(size=d)), torch.from_numpy(rng.normal(size=n))
    for squared in (False, True):
        matrix = dense**2 if squared else dense
        close(kernels.csr_scores(*lines, w, 0.5, squared), matrix @ w.numpy() + 0.5)
        close(kernels.csr_scatter(*lines, u, d, squared), matrix.T @ u.numpy())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("n", "p", "bins"), [(1, 1, 1), (5003, 3, 32), (2050, 70, 256)])
def test_bytes_of_codes(dtype, n, p, bins):
    rng = np.random.default_rng(2)
    codes = torch.zeros((p, -(-n // 4) * 4), dtype=torch.uint8)
    codes[:, :n] = torch.from_numpy(rng.integers(0, bins, (p, n)).astype(np.uint8))
    tables = torch.from_numpy(rng.normal(size=(p, bins))).to(dtype)
    u = torch.zeros(codes.shape[1], dtype=dtype)
    u[:n] = torch.from_numpy(rng.normal(size=n)).to(dtype)
    rtol = 1e-13 if dtype == torch.float64 else 1e-5
    used = codes[:, :n].long()
    wanted = tables.double().gather(1, used).sum(0) + 0.25
    close(kernels.look_up(codes, n, tables, 0.25), wanted, rtol)
    sums = torch.stack([torch.bincount(line, u[:n].double(), bins) for line in used])
    close(kernels.histograms(codes, n, bins, u), sums, rtol)
