"""`OnDevice`: a matrix in the memory of a GPU as data for every loss and solver."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse

from auctor.core.errors import DataError, ParameterError, speaks
from auctor.core.types import FloatArray, Target
from auctor.data.binned import BinnedMatrix
from auctor.data.coerce import LARGEST, as_matrix
from auctor.data.sharded import Sharded
from auctor.data.shards import compact
from auctor.gpu.stores import BinnedStore, CsrStore, DenseStore, Store, Tensor
from auctor.gpu.workers import DeviceWorkers

#: Bytes that a fit takes beyond the data, per row: scores, slopes, their sorted copies.
BYTES_PER_ROW = 100


class OnDevice(Sharded):
    """Rows in the memory of a device, with their products, sums of second order and losses.

    Scores and slopes stay on the device through a fit: the loss, the line search and the
    certificate are computed there, in float64 whatever the entries are stored as, so that the gap
    is that of the stored matrix up to rounding errors of 1e-12 of the sums. On a GPU with CuPy the
    products are kernels that are compiled on first use.

    Parameters
    ----------
    X : tensor, array, CSR matrix or BinnedMatrix
        Tensors of PyTorch, arrays of NumPy, and all with ``__dlpack__``, such as those of CuPy; a
        sparse matrix of SciPy or a sparse CSR tensor.
    target : Target
    device : str or torch.device, optional
        By default that of a tensor X, else "cuda".
    dtype : torch.dtype, optional
        Storage of dense entries: float32, float64 or bfloat16. By default that of X.
    transpose : bool
        Whether a sparse matrix is stored twice, by rows and by columns. Without it gradients take
        about twice as long, and their last digits change from run to run.
    single : bool
        Whether products of a `BinnedMatrix` are in float32, with a relative error of a few 1e-7.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.core.types import Target
    >>> data = OnDevice(np.eye(2), Target(np.array([1.0, -1.0])), device="cpu")
    >>> data.gradient(np.array([3.0, 4.0]))
    array([3., 4.])
    """

    @speaks
    def __init__(
        self,
        X: Any,
        target: Target,
        *,
        device: Any = None,
        dtype: Any = None,
        transpose: bool = True,
        single: bool = False,
    ) -> None:
        where = found_device(X, device)
        try:
            store = stored_on(X, where, dtype=dtype, transpose=transpose, single=single)
        except torch.cuda.OutOfMemoryError as error:
            raise _too_large(X, where) from error
        if store.n_rows != target.n_rows:
            raise DataError(
                "as many targets as rows",
                got=f"{target.n_rows} and {store.n_rows}",
                todo="Pass X and y of equal length.",
            )
        checksum = zlib.crc32(_sums(store).tobytes())
        workers = DeviceWorkers(store, target.compacted(), checksum)
        super().__init__(workers, target=target)

    @property
    def device(self) -> Any:
        """Where the rows are."""
        workers: Any = self.workers
        return workers.store.device

    @classmethod
    def examples(cls, X: FloatArray, target: Target, n_threads: int | None) -> dict[str, Sharded]:
        """Instances the conformance kit tests: the twins on the processor of every storage."""
        return {
            "dense": cls(X, target, device="cpu"),
            "csr": cls(sparse.csr_array(X), target, device="cpu"),
            "csr-rows-only": cls(sparse.csr_array(X), target, device="cpu", transpose=False),
        }


def found_device(X: Any, device: Any) -> Any:
    """The device to use; refuses one that is not there."""
    if device is None:
        device = X.device if isinstance(X, torch.Tensor) else "cuda"
    try:
        where = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ParameterError(
            "{option} to be a name such as 'cuda', 'cuda:1' or 'cpu'",
            got=repr(device),
            todo="Pass one of these.",
            option="device",
        ) from error
    if where.type == "mps":
        raise DataError(
            "a device with float64", got="mps", todo="Train on 'cpu' or on a GPU with CUDA."
        )
    if where.type == "cuda" and not torch.cuda.is_available():
        raise DataError(
            "a GPU that PyTorch can use",
            got="none" if torch.version.cuda else "a PyTorch for processors only",
            todo="Drop {option}, or install PyTorch for CUDA.",
            option="device",
        )
    return where


def stored_on(X: Any, device: Any, *, dtype: Any, transpose: bool, single: bool) -> Store:
    """A matrix in the storage of its kind on a device, checked for entries that are not finite."""
    if isinstance(X, BinnedMatrix):
        if X.uncoded is not None:
            raise DataError(
                "codes alone on a device",
                got=f"{X.uncoded.shape[1]} columns of numbers",
                todo="Drop {option}.",
                option="device",
            )
        return BinnedStore(X, device, single=single)
    if sparse.issparse(X):
        X = as_matrix(X).tocsr()
        indptr, indices, values = (
            torch.from_numpy(one).to(device) for one in (X.indptr, X.indices, X.data)
        )
        return CsrStore(indptr, indices, values, X.shape[1], transpose)
    tensor = _as_tensor(X).to(device)
    if tensor.layout == torch.sparse_csr:
        _check_entries(tensor.values())
        indptr, indices = tensor.crow_indices(), tensor.col_indices()
        return CsrStore(indptr, indices, tensor.values(), int(tensor.shape[1]), transpose)
    dense = tensor.to(_storage(tensor, dtype))
    _check_entries(dense)
    return DenseStore(dense)


def _as_tensor(X: Any) -> Tensor:
    """A tensor of two dimensions, without a copy where that is possible."""
    if not isinstance(X, torch.Tensor):
        on_device = hasattr(X, "__dlpack__") and not isinstance(X, np.ndarray)
        X = torch.from_dlpack(X) if on_device else torch.from_numpy(_writeable(as_matrix(X)))
    if X.ndim != 2 or not min(X.shape):
        raise DataError("rows and columns", got=tuple(X.shape), todo="Pass a table of numbers.")
    return X


def _writeable(X: Any) -> Any:
    return X if X.flags.writeable else X.copy()


def _storage(X: Tensor, dtype: Any) -> Any:
    kinds = (torch.float32, torch.float64, torch.bfloat16)
    if dtype is None:
        return X.dtype if X.dtype in kinds else torch.float64
    if dtype not in kinds:
        raise ParameterError(
            "{option} to be float32, float64 or bfloat16 of torch",
            got=dtype,
            todo="Pass one of these.",
            option="dtype",
        )
    return dtype


def _check_entries(values: Tensor) -> None:
    if not values.numel():
        return
    low, high = (float(bound) for bound in torch.aminmax(values))
    if not -LARGEST < low <= high < LARGEST:  # both are NaN where an entry is
        raise DataError(
            f"finite entries below {LARGEST:g}",
            got="NaN, infinity or a larger one",
            todo="Drop or correct those rows.",
        )


def _sums(store: Store) -> FloatArray:
    ones = torch.ones(store.n_rows, dtype=torch.float64, device=store.device)
    sums: FloatArray = store.gradient(ones).cpu().numpy()
    return sums


def _too_large(X: Any, device: Any) -> DataError:
    """The error of a device that is full: how many rows would fit."""
    n, d = X.shape
    size = getattr(getattr(X, "dtype", None), "itemsize", 8)
    stored = getattr(X, "nnz", n * d) / max(1, n)
    free = torch.cuda.mem_get_info(device)[0]
    fits = int(free / (stored * size + BYTES_PER_ROW))
    return DataError(
        f"room for {n:,} rows on {device}",
        got=f"room for about {fits:,}",
        todo="Pass fewer rows, or store them as float32 or bfloat16.",
    )


def with_labels(X: Any, y: Any, device: Any) -> tuple[Any, Any]:
    """Rows for an estimator as data on a device, and their labels in this process."""
    labels = y.detach().cpu().numpy() if isinstance(y, torch.Tensor) else y
    if isinstance(X, Sharded):
        return X, labels
    n = len(X) if isinstance(X, Sequence) else int(X.shape[0])
    return OnDevice(X, Target(compact(np.ones(n))), device=device), labels
