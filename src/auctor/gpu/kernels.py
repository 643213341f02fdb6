"""CUDA kernels, compiled on first use by CuPy; without CuPy or CUDA there are none.

`kernels.cu` has the code. Whoever calls a function here has an equivalent in plain PyTorch, which
is also what the processor runs.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

#: Names of the types in the code.
TYPES = {
    torch.float32: "float",
    torch.float64: "double",
    torch.bfloat16: "bf16",
    torch.int32: "int",
    torch.int64: "rows_t",
}
#: Shared memory of a block that every device has, without asking for more; bytes.
SHARED = 48 << 10
#: Shared memory of a block that recent devices give on request; bytes.
MOST_SHARED = 96 << 10
#: Threads of a block.
THREADS = 256
#: Blocks for each multiprocessor: enough to keep the memory busy.
BLOCKS = 8


def available(device: Any) -> bool:
    """Whether kernels can be compiled for a device."""
    return device.type == "cuda" and find_spec("cupy") is not None


@lru_cache(maxsize=1)
def _code() -> str:
    return (Path(__file__).parent / "kernels.cu").read_text(encoding="utf-8")


@lru_cache(maxsize=64)
def _kernel(name: str, shared: int) -> Any:
    """A kernel by its name with template arguments, such as ``look_up<float>``."""
    module = import_module("cupy").RawModule(
        code=_code(), options=("-std=c++17",), name_expressions=(name,)
    )
    kernel = module.get_function(name)
    if shared:
        kernel.max_dynamic_shared_size_bytes = shared
    return kernel


def _run(name: str, grid: tuple[int, ...], threads: int, shared: int, *args: Any) -> None:
    """Launch a kernel on the current stream; tensors are passed as pointers."""
    cupy = import_module("cupy")
    kernel = _kernel(name, shared if shared > SHARED else 0)
    given = tuple(np.uint64(x.data_ptr()) if isinstance(x, torch.Tensor) else x for x in args)
    stream = torch.cuda.current_stream()
    with cupy.cuda.Device(stream.device.index), cupy.cuda.ExternalStream(stream.cuda_stream):
        kernel(grid, (threads,), given, shared_mem=shared)


def _blocks(device: Any, most: int, per: int = BLOCKS) -> int:
    count = torch.cuda.get_device_properties(device).multi_processor_count
    return int(max(1, min(most, per * count)))


def _sizes(n: int, d: int) -> tuple[Any, Any]:
    return np.int64(n), np.int32(d)


def _pack(X: torch.Tensor) -> int:
    """Entries that are loaded at once: the most that divide a row, up to 16 bytes."""
    for size in (16, 8, 4):
        pack = size // X.element_size()
        if pack > 1 and X.shape[1] % pack == 0 and X.data_ptr() % size == 0:
            return int(pack)
    return 1


def dense_fits(X: torch.Tensor) -> bool:
    """Whether the kernels take a dense matrix: rows of at most 1,024 packs."""
    d = X.shape[1]
    return bool(X.is_contiguous()) and 8 * d <= SHARED and d // _pack(X) <= 1024


def dense_scores(X: torch.Tensor, w: torch.Tensor, offset: float) -> torch.Tensor:
    """``X @ w + offset`` with sums in float64."""
    n, d = X.shape
    out = torch.empty(n, dtype=torch.float64, device=X.device)
    grid = _blocks(X.device, -(-8 * n // THREADS))
    name = f"dense_scores<{TYPES[X.dtype]}, {_pack(X)}>"
    _run(name, (grid,), THREADS, 8 * d, X, *_sizes(n, d), w, np.float64(offset), out)
    return out


def dense_gradient(X: torch.Tensor, u: torch.Tensor, squared: bool) -> torch.Tensor:
    """``X.T @ u``, or that of the squared entries, with sums in float64."""
    (n, d), pack = X.shape, _pack(X)
    packs = d // pack
    side = max(1, THREADS // packs)
    grid = _blocks(X.device, -(-n // side))
    parts = torch.empty((grid, d), dtype=torch.float64, device=X.device)
    name = f"dense_gradient<{TYPES[X.dtype]}, {pack}>"
    threads = -(-side * packs // 32) * 32
    # Threads beyond the last whole row of packs are idle.
    shared = 8 * d * (threads // packs)
    _run(name, (grid,), threads, shared, X, *_sizes(n, d), u, np.int32(squared), parts)
    return parts.sum(0)


def csr_scores(
    indptr: torch.Tensor,
    indices: torch.Tensor,
    values: torch.Tensor,
    w: torch.Tensor,
    offset: float,
    squared: bool,
) -> torch.Tensor:
    """``A @ w + offset`` for compressed rows with sums in float64."""
    n = indptr.shape[0] - 1
    lanes = 32 if values.shape[0] > 64 * n else 8
    out = torch.empty(n, dtype=torch.float64, device=values.device)
    grid = _blocks(values.device, -(-lanes * n // THREADS), 16)
    name = f"csr_scores<{TYPES[values.dtype]}, {TYPES[indices.dtype]}, {lanes}>"
    given = (indptr, indices, values, np.int64(n), w, np.int32(squared), np.float64(offset), out)
    _run(name, (grid,), THREADS, 0, *given)
    return out


def csr_scatter(
    indptr: torch.Tensor,
    indices: torch.Tensor,
    values: torch.Tensor,
    u: torch.Tensor,
    d: int,
    squared: bool,
) -> torch.Tensor:
    """``A.T @ u`` for compressed rows, by atomic additions."""
    n = indptr.shape[0] - 1
    out = torch.zeros(d, dtype=torch.float64, device=values.device)
    grid = _blocks(values.device, -(-16 * n // THREADS), 16)
    name = f"csr_scatter<{TYPES[values.dtype]}, {TYPES[indices.dtype]}>"
    _run(name, (grid,), THREADS, 0, indptr, indices, values, np.int64(n), u, np.int32(squared), out)
    return out


def look_up(codes: torch.Tensor, n: int, tables: torch.Tensor, offset: float) -> torch.Tensor:
    """Sums over columns of table entries; codes (p, ld), tables (p, bins) in float32 or float64."""
    (p, ld), bins, size = codes.shape, tables.shape[1], tables.element_size()
    chunk = max(1, min(p, MOST_SHARED // (bins * size)))
    shared = chunk * bins * size
    out = torch.empty(n, dtype=torch.float64, device=codes.device)
    threads = 1024 if shared > SHARED // 2 else 512
    per = max(1, min(2048 // threads, 2 * MOST_SHARED // max(shared, 1)))
    grid = _blocks(codes.device, -(-n // (4 * threads)), per)
    sizes = (np.int64(ld), *_sizes(n, p), np.int32(bins))
    name = f"look_up<{TYPES[tables.dtype]}>"
    given = (codes, *sizes, tables, np.int32(chunk), np.float64(offset), out)
    _run(name, (grid,), threads, shared, *given)
    return out


def histograms(codes: torch.Tensor, n: int, bins: int, u: torch.Tensor) -> torch.Tensor:
    """Sums of u by column and code, (p, bins); u has as many entries as a line of the codes."""
    (p, ld), size = codes.shape, u.element_size()
    warps = 2 if 2 * bins * 32 * size <= 2 * MOST_SHARED else 1
    shared, threads = warps * bins * 32 * size, 32 * warps
    # Blocks that fit into the shared memory of all multiprocessors, twice.
    fits = max(1, min(24, 2 * MOST_SHARED // shared))
    splits = max(1, min(-(-n // (4 * threads)), -(-_blocks(codes.device, 1 << 30, 2 * fits) // p)))
    parts = torch.empty((splits, p, bins), dtype=torch.float64, device=codes.device)
    sizes = (np.int64(ld), *_sizes(n, p), np.int32(bins))
    _run(f"histograms<{TYPES[u.dtype]}>", (splits, p), threads, shared, codes, *sizes, u, parts)
    return parts.sum(0)
