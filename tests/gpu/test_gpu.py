"""Data on a device, by the twins on the processor; the kernels of CUDA run where there is a GPU."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from auctor import MetricClassifier, MetricClassifierCV, losses
from auctor.core.errors import AuctorError, DataError, ParameterError, UnknownParameterError
from auctor.core.types import Target
from auctor.data import Binned, as_data
from auctor.data.binned import BinnedMatrix, pack
from auctor.data.codebook import Codebook, MapBook
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import resolve
from auctor.testing.data import DataSuite

torch = pytest.importorskip("torch", reason="the extra gpu (PyTorch) is not installed")

from auctor.gpu import OnDevice  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.mark.parametrize("storage", ["dense", "csr", "csr-rows-only"])
def test_kit(storage):
    class Suite(DataSuite):
        def check_training(self):
            """Every loss with every penalty takes minutes; a few are trained below."""

    Suite(lambda X, target, k: OnDevice.examples(X, target, k)[storage]).run()


def rows(n=400, d=6):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 1.0, 1.0, -1.0)
    return X, y


LOSSES = [
    losses.PairwiseSquaredHinge(),
    losses.PairwiseHinge(),
    losses.PairwiseLogistic(),
    losses.PairwiseSquare(),
    losses.GaussianAuc(),
    losses.Logistic(),
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.PartialPairwiseHinge(0.2),
    losses.PrecisionAtK(0.2),
    losses.RecallAtK(0.2),  # has no form on a device: its scores come to this process
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_fits_are_those_of_data_in_memory(loss, device):
    X, y = rows()
    weight = np.random.default_rng(1).random(y.size)
    if loss.weights == "class":
        weight = None
    target = Target(y, weight)
    for penalty in (L2(1e-2), L1(1e-2)):
        values = []
        for data in (OnDevice(X, target, device=device), as_data(X, y, weight=weight)):
            problem = Problem(loss, penalty, data)
            solution = minimise(problem, resolve("auto", problem), tol=1e-4, max_seconds=20)
            assert solution.converged
            assert solution.certified
            here = Problem(loss, penalty, as_data(X, y, weight=weight))
            w = here.join(solution.coef, solution.intercept)
            values.append(here.evaluate(w).value)
        assert abs(values[0] - values[1]) <= 2e-4 * max(1.0, values[1])


@pytest.mark.parametrize("loss", [losses.PairwiseSquaredHinge(), losses.Logistic()], ids=repr)
@pytest.mark.parametrize("penalty", [L2(1e-2), L1(1e-2)], ids=repr)
def test_no_vector_of_scores_leaves_the_device(loss, penalty):
    X, y = rows(3000)
    data = OnDevice(X, Target(y), device="cpu")
    problem = Problem(loss, penalty, data)
    solution = minimise(problem, resolve("auto", problem), tol=1e-4)
    assert solution.certified
    # The labels, once, the shares of the rows, once, and a few numbers for every product.
    assert data.holder.traffic.floats < 2 * y.size + 60 * solution.n_iter + 500


@pytest.mark.parametrize("device", DEVICES)
def test_dense_storages_have_float64_sums(device):
    X, y = rows(1000, 16)
    rng = np.random.default_rng(2)
    w, u = rng.normal(size=16), rng.normal(size=1000)
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        stored = torch.from_numpy(X).to(dtype)
        wide = stored.double().numpy()
        data = OnDevice(X, Target(y), device=device, dtype=dtype)
        assert np.allclose(data.scores(w, 0.5), wide @ w + 0.5, rtol=1e-12, atol=1e-12)
        assert np.allclose(data.gradient(u), wide.T @ u, rtol=1e-12, atol=1e-12)
    given = OnDevice(torch.from_numpy(X).to(device), Target(y))
    assert given.device.type == device


def binned(n=500):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 12, (3, n)).astype(np.uint8)
    codes[1] = rng.integers(0, 200, n)
    line = np.linspace(-1.0, 1.0, 12)
    middle = np.full(3, 0.5)
    books = [
        Codebook(12, line, steps=(2, 5, 9), own=(4,)),
        Codebook(200, steps=tuple(range(1, 200, 7))),
        MapBook((3, 4), (middle[:2], middle)),
    ]
    return BinnedMatrix(pack(codes), books)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("single", [False, True])
def test_bytes_of_codes(device, single):
    matrix = binned()
    y = np.where(np.arange(500) % 3 == 0, 1.0, -1.0)
    rng = np.random.default_rng(4)
    d = matrix.shape[1]
    w, u, h = rng.normal(size=d), rng.normal(size=500), rng.random(500)
    there = OnDevice(matrix, Target(y), device=device, single=single)
    here = Binned(matrix, Target(y))
    rtol = 1e-5 if single else 1e-12
    for found, wanted in (
        (there.scores(w, 0.3), here.scores(w, 0.3)),
        (there.gradient(u), here.gradient(u)),
        (there.square_gradient(h), here.square_gradient(h)),
        (there.gram(h), matrix.to_dense().T @ (h[:, None] * matrix.to_dense())),
        (there.sandwich(h, w, 0.2)[0], here.sandwich(h, w, 0.2)[0]),
    ):
        assert np.abs(found - wanted).max() <= rtol * np.abs(wanted).max()


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_groups_weights_and_sparse_tensors():
    X, y = rows()
    groups = np.arange(y.size) % 7
    target = Target(y, np.random.default_rng(5).random(y.size), groups)
    matrix = sparse.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    parts = [torch.from_numpy(one) for one in (matrix.indptr, matrix.indices, matrix.data)]
    tensor = torch.sparse_csr_tensor(*parts, size=matrix.shape, check_invariants=True)
    values = []
    for data in (OnDevice(tensor, target), as_data(matrix, y).with_target(target)):
        problem = Problem(losses.PairwiseHinge(0.5), L2(1e-2), data)
        values.append(minimise(problem, resolve("auto", problem), tol=1e-6).coef)
    assert np.allclose(values[0], values[1], atol=1e-2)


def test_what_cannot_be_used_is_refused():
    X, y = rows(50)
    target = Target(y)
    if not torch.cuda.is_available():
        with pytest.raises(DataError, match="a GPU that PyTorch can use"):
            OnDevice(X, target)
    with pytest.raises(ParameterError, match="a name such as 'cuda'"):
        OnDevice(X, target, device="quantum")
    with pytest.raises(DataError, match="a device with float64"):
        OnDevice(X, target, device="mps")
    with pytest.raises(ParameterError, match="float32, float64 or bfloat16"):
        OnDevice(X, target, device="cpu", dtype=torch.float16)
    with pytest.raises(DataError, match="as many targets as rows"):
        OnDevice(X[:-1], target, device="cpu")
    for bad in (np.nan, np.inf, 1e200):
        broken = torch.from_numpy(X.copy())
        broken[3, 2] = bad
        with pytest.raises(DataError, match="finite entries"):
            OnDevice(broken, target)
    with pytest.raises(DataError, match="rows and columns"):
        OnDevice(torch.zeros(5), target)


def test_a_full_device_says_how_many_rows_fit(monkeypatch):
    X, y = rows(1000, 10)

    def full(*_):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("auctor.gpu.data.DenseStore", full)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (90_000, 10**6))
    # 80 bytes of entries and 100 of scores a row.
    with pytest.raises(DataError, match="room for 1,000 rows on cpu; got room for about 500"):
        OnDevice(X, Target(y), device="cpu")


# --- the estimator ------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("metric", ["auc", "prbep", "log_loss"])
def test_estimator_on_a_device_is_that_in_memory(metric, device):
    X, y = rows()
    host = MetricClassifier(metric, tol=1e-6).fit(X, y)
    kinds = (X, X.tolist(), sparse.csr_array(X), torch.from_numpy(X).to(device))
    for given in kinds:
        labels = torch.from_numpy(y) if isinstance(given, torch.Tensor) else y
        there = MetricClassifier(metric, device=device, tol=1e-6).fit(given, labels)
        assert there.solution_.certified
        assert np.allclose(there.decision_function(X), host.decision_function(X), atol=1e-2)
        assert (there.predict(X) == host.predict(X)).mean() > 0.99
    assert np.array_equal(there.decision_function(kinds[-1].cpu()), there.decision_function(X))
    assert clone(there).device == device


def test_estimator_refuses_devices_that_are_not_there():
    X, y = rows(50)
    if not torch.cuda.is_available():
        with pytest.raises(DataError, match=r"a GPU that PyTorch can use; got .*Drop device"):
            MetricClassifier("auc", device="cuda").fit(X, y)
    with pytest.raises(ParameterError, match="a name such as 'cuda'"):
        MetricClassifier("auc", device="quantum").fit(X, y)
    with pytest.raises(DataError, match="a device with float64"):
        MetricClassifier("auc", device="mps").fit(X, y)
    with pytest.raises(AuctorError, match="rows in memory for calibrate"):
        MetricClassifier("auc", device="cpu", threshold_cv=3).fit(X, y)
    with pytest.raises(UnknownParameterError, match="device"):
        MetricClassifierCV("auc", device="cpu")
