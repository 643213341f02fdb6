"""The modules of PyTorch, against the compiled losses; on the CPU, whose path is that of a GPU."""

import subprocess
import sys

import numpy as np
import pytest

from auctor import losses
from auctor.core.errors import DataError, DataTypeError, DataWarning, ParameterError
from auctor.core.types import Target

torch = pytest.importorskip("torch", reason="the extra gpu (PyTorch) is not installed")

import auctor.torch as at  # noqa: E402

MODULES = [
    (lambda **o: at.AUCLoss(**o), losses.PairwiseSquaredHinge()),
    (lambda **o: at.AUCLoss("hinge", **o), losses.PairwiseHinge()),
    (lambda **o: at.AUCLoss("hinge", width=0.5, **o), losses.PairwiseHinge(0.5)),
    (lambda **o: at.AUCLoss("logistic", **o), losses.PairwiseLogistic()),
    (lambda **o: at.GaussianAUCLoss(**o), losses.GaussianAuc()),
    (lambda **o: at.PartialAUCLoss(0.3, **o), losses.PartialPairwiseHinge(0.3)),
    (lambda **o: at.PartialAUCLoss(0.3, width=0.5, **o), losses.PartialPairwiseHinge(0.3, 0.5)),
    (lambda **o: at.PrecisionAtKLoss(0.2, **o), losses.PrecisionAtK(0.2)),
    (lambda **o: at.PrecisionAtKLoss(3, width=0.5, **o), losses.PrecisionAtK(3, 0.5)),
    (lambda **o: at.FBetaLoss(**o), losses.FBeta()),
    (lambda **o: at.FBetaLoss(2.0, width=0.5, **o), losses.FBeta(2.0, 0.5)),
    (lambda **o: at.Wrapped(losses.PairwiseLogistic(), **o), losses.PairwiseLogistic()),
]
NAMES = [repr(loss) + str(k) for k, (_, loss) in enumerate(MODULES)]
every = pytest.mark.parametrize(("make", "loss"), MODULES, ids=NAMES)


def batch(n=40, dtype=torch.float64, seed=0):
    some = torch.Generator().manual_seed(seed)
    y = (torch.rand(n, generator=some) < 0.4).long()
    scores = torch.randn(n, dtype=torch.float64, generator=some) + 0.5 * y
    weight = torch.rand(n, dtype=torch.float64, generator=some)
    return scores.to(dtype).requires_grad_(), y, weight.to(dtype)


def numba(loss, scores, y, weight):
    target = Target(np.where(y.numpy() > 0, 1.0, -1.0), weight.double().numpy())
    return loss.value_grad(scores.detach().double().numpy(), target)


@every
def test_value_and_gradient_equal_the_compiled_loss(make, loss):
    for dtype, rtol in ((torch.float64, 1e-12), (torch.float32, 2e-6), (torch.bfloat16, 2e-2)):
        scores, y, weight = batch(dtype=dtype)
        value, slopes = numba(loss, scores, y, weight)
        found = make()(scores, y, weight)
        found.backward()
        assert found.item() == pytest.approx(value, rel=rtol)
        error = np.abs(scores.grad.double().numpy() - slopes).max()
        assert error <= rtol * np.abs(slopes).max()
        assert scores.grad.dtype == dtype


@every
def test_first_and_second_derivatives(make, loss):
    scores, y, weight = batch(16)
    module = make()
    assert torch.autograd.gradcheck(lambda s: module(s, y, weight), (scores,))
    assert torch.autograd.gradgradcheck(lambda s: module(s, y, weight), (scores,))


def test_second_derivative_of_many_rows_is_the_curvature():
    scores, y, _ = batch(5000)
    (slopes,) = torch.autograd.grad(at.AUCLoss("logistic")(scores, y), scores, create_graph=True)
    change = torch.randn(5000, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    (found,) = torch.autograd.grad(slopes @ change, scores)
    target = Target(np.where(y.numpy() > 0, 1.0, -1.0))
    curvature = losses.PairwiseLogistic().curvature(scores.detach().numpy(), target)
    wanted = curvature.matvec(change.numpy())
    assert np.abs(found.numpy() - wanted).max() <= 1e-9 * np.abs(wanted).max()


def test_a_loss_without_curvature_is_not_differentiated_twice():
    scores, y, _ = batch()
    module = at.Wrapped(losses.AveragePrecision())
    (slopes,) = torch.autograd.grad(module(scores, y), scores, create_graph=True)
    with pytest.raises(ValueError, match="curvature"):
        torch.autograd.grad(slopes.sum(), scores)


def test_groups_compare_rows_of_the_same_group():
    scores, y, weight = batch()
    group = torch.arange(40) % 5
    found = at.AUCLoss()(scores, y, weight, group)
    target = Target(np.where(y.numpy() > 0, 1.0, -1.0), weight.numpy(), group.numpy())
    wanted = losses.PairwiseSquaredHinge().value(scores.detach().numpy(), target)
    assert found.item() == pytest.approx(wanted, rel=1e-12)


def test_columns_are_labels_with_missing_ones_left_out():
    scores, _, weight = batch(60)
    table = scores.detach().reshape(20, 3).requires_grad_()
    y = (torch.rand(20, 3, generator=torch.Generator().manual_seed(4)) < 0.5).double()
    y[2:5, 1] = float("nan")
    y[:, 2] = 1.0  # one class: left out of the mean
    module = at.AUCLoss("hinge", width=0.5)
    with pytest.warns(DataWarning, match="without rows of both classes"):
        found = module(table, y, weight[:20])
    seen = ~torch.isnan(y[:, 1])
    by_hand = [
        module(table[:, 0], y[:, 0], weight[:20]),
        module(table[seen, 1], y[seen, 1], weight[:20][seen]),
    ]
    assert found.item() == pytest.approx(sum(v.item() for v in by_hand) / 2.0, rel=1e-12)
    found.backward()
    assert (table.grad[2:5, 1] == 0).all()
    assert (table.grad[:, 2] == 0).all()


# --- the queue ----------------------------------------------------------------------------------


def test_queue_adds_the_latest_scores_of_each_class():
    module, plain = at.AUCLoss(queue=6), at.AUCLoss()
    seen = {1: [], 0: []}
    for seed in range(5):
        scores, y, _ = batch(8, torch.float32, seed)
        found = module(scores, y)
        old = [(s, label) for label in (1, 0) for s in seen[label][-6:]]
        both = torch.cat([scores, torch.tensor([s for s, _ in old])])
        labels = torch.cat([y, torch.tensor([k for _, k in old], dtype=torch.int64)])
        assert found.item() == pytest.approx(plain(both, labels).item(), rel=1e-6)
        for s, label in zip(scores.tolist(), y.tolist(), strict=True):
            seen[label].append(s)


def test_queue_is_in_the_state_and_of_one_size():
    module, other = at.AUCLoss(queue=4), at.AUCLoss(queue=4)
    scores, y, _ = batch(8, torch.float32)
    module(scores, y)
    other.load_state_dict(module.state_dict())
    assert other(scores, y).item() == module(scores, y).item()
    with pytest.raises(DataError, match="a stored queue of 5 scores; got 4"):
        at.AUCLoss(queue=5).load_state_dict(module.state_dict())
    module.eval()
    before = module(scores, y).item()
    assert module(scores, y).item() == before  # validation batches are not stored


# --- bad input ----------------------------------------------------------------------------------


@every
def test_scores_that_are_not_finite_give_nan(make, loss):
    for bad in (float("nan"), float("inf"), -float("inf")):
        scores, y, weight = batch()
        scores.data[3] = bad
        found = make()(scores, y, weight)
        found.backward()
        assert torch.isnan(found)
        assert torch.isnan(scores.grad).any()  # GradScaler sees it, and skips the step


@every
def test_one_class_empty_batches_and_zero_weights_give_zero(make, loss):
    scores, y, weight = batch()
    for s, labels, w in (
        (scores, torch.ones_like(y), weight),
        (scores, torch.zeros_like(y), None),
        (scores, y, torch.zeros_like(weight)),
    ):
        module = make()
        with pytest.warns(DataWarning, match="both classes"):
            found = module(s, labels, w)
        scores.grad = None
        found.backward()
        assert found.item() == 0.0
        assert not scores.grad.any()
        assert module.without_pairs.item() == 1
    empty = torch.zeros(0, requires_grad=True)
    assert make()(empty, torch.zeros(0)).item() == 0.0


@every
def test_all_tied_scores(make, loss):
    _, y, weight = batch()
    scores = torch.full((40,), 0.5, dtype=torch.float64, requires_grad=True)
    value, slopes = numba(loss, scores, y, weight)
    found = make()(scores, y, weight)
    found.backward()
    assert found.item() == pytest.approx(value, rel=1e-12)
    assert np.abs(scores.grad.numpy() - slopes).max() <= 1e-9


def test_labels_and_weights_of_other_values_are_refused():
    scores, y, weight = batch()
    module = at.AUCLoss()
    signed = 2 * y - 1
    for labels in (signed, y.bool(), y.float(), y.to(torch.int8)):
        assert module(scores, labels, weight).item() == module(scores, y, weight).item()
    mixed = y.clone()
    mixed[0] = -1  # 0 and -1 in one batch: one of them probably means something else
    for labels in (y + 1, 0.5 * y.double(), mixed):
        with pytest.raises(DataError, match="labels 0 and 1, or -1 and \\+1"):
            module(scores, labels, weight)
    for weights in (-weight, weight * float("nan")):
        with pytest.raises(DataError, match="weights that are not negative"):
            module(scores, y, weights)


def test_shapes_kinds_and_devices_are_refused():
    scores, y, weight = batch()
    module = at.AUCLoss()
    with pytest.raises(DataError, match="\\(rows, 1\\) against \\(rows,\\) would be"):
        module(scores[:, None], y)
    with pytest.raises(DataError, match=r"shape \(rows,\) or \(rows, labels\)"):
        module(scores.reshape(2, 4, 5), y)
    with pytest.raises(DataTypeError, match="scores of floating point"):
        module(y, y)
    with pytest.raises(DataTypeError, match="one integer per row as group"):
        module(scores, y, weight, weight)
    with pytest.raises(DataError, match="y where the scores are"):
        module(scores, y.to("meta"))
    with pytest.raises(DataError, match="rows without groups"):
        at.FBetaLoss()(scores, y, weight, y)
    with pytest.raises(DataError, match="at most the rows of a batch, 40"):
        at.PrecisionAtKLoss(50)(scores, y)
    with pytest.raises(ValueError, match="one column of scores without groups"):
        at.AUCLoss(queue=3)(scores, y, weight, y)
    with pytest.raises(RuntimeError):
        torch.func.vmap(module)(scores.reshape(5, 8), y.reshape(5, 8))


@pytest.mark.parametrize(
    "make",
    [
        lambda: at.AUCLoss("cubic"),
        lambda: at.AUCLoss(width=0.5),
        lambda: at.AUCLoss("hinge", width=-1.0),
        lambda: at.AUCLoss(margin=0.0),
        lambda: at.AUCLoss(queue=-1),
        lambda: at.AUCLoss(gather="horovod"),
        lambda: at.PartialAUCLoss(0.0),
        lambda: at.PrecisionAtKLoss(1.5),
        lambda: at.FBetaLoss(0.0),
        lambda: at.Wrapped("auc"),
    ],
)
def test_parameters_out_of_range_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_values_without_a_gradient():
    scores, y, _ = batch()
    assert not at.AUCLoss()(scores.detach(), y).requires_grad


def test_autocast_computes_in_float32():
    scores, y, _ = batch(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert at.AUCLoss("logistic")(scores, y) == at.AUCLoss("logistic")(scores, y)
        assert at.AUCLoss()(scores.bfloat16(), y).dtype == torch.float32


def test_a_gradient_scaler_skips_a_step_with_infinite_scores():
    net = torch.nn.Linear(3, 1)
    before, scaler = net.weight.detach().clone(), torch.amp.GradScaler("cpu")
    optimiser = torch.optim.SGD(net.parameters(), 0.1)
    for factor, moves in ((float("inf"), False), (1.0, True)):
        optimiser.zero_grad()
        scores = net(factor * torch.eye(3).repeat(4, 1)).squeeze(-1)
        scaler.scale(at.AUCLoss()(scores, torch.arange(12) % 2)).backward()
        scaler.step(optimiser)
        scaler.update()
        assert bool((net.weight != before).any()) == moves


# --- several processes --------------------------------------------------------------------------

PROCESS = """
import sys, torch, torch.distributed as dist
import auctor.torch as at
rank, file = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
torch.manual_seed(0)
X, y = torch.randn(50, 4), (torch.rand(50) < 0.4).long()
net = torch.nn.Linear(4, 1)
part = slice(0, 18) if rank == 0 else slice(18, 50)  # uneven batches
both = torch.nn.parallel.DistributedDataParallel(net)
for make in (lambda **o: at.AUCLoss("logistic", **o), lambda **o: at.FBetaLoss(width=0.5, **o)):
    net.zero_grad()
    value = make(gather="ddp")(both(X[part]).squeeze(-1), y[part])
    value.backward()
    mine = net.weight.grad.clone()
    net.zero_grad()
    wanted = make()(net(X).squeeze(-1), y)
    wanted.backward()
    assert abs(value.item() - wanted.item()) < 1e-6
    assert (mine - net.weight.grad).abs().max() < 1e-6, (mine, net.weight.grad)
dist.destroy_process_group()
"""


def test_a_value_that_overflows_has_no_gradient_and_leaves_the_queue_alone():
    scores, y, _ = batch()
    wide = scores.detach().double().clone()
    wide[0] = 1e300
    loss = at.AUCLoss(queue=20)
    wide.requires_grad_(True)
    value = loss(wide, y)
    value.backward()
    assert torch.isnan(value)
    assert torch.isnan(wide.grad).all()
    assert torch.isfinite(loss(scores.float(), y))
    assert loss(scores[:0], y[:0]) > 0.0  # the rows of the queue


def test_lists_are_refused():
    scores, y, _ = batch()
    with pytest.raises(DataTypeError, match="y as a tensor; got list"):
        at.AUCLoss()(scores, y.tolist())


@pytest.mark.slow  # two processes; in `make test` a single process takes the path without them
def test_two_processes_have_the_gradient_of_one(tmp_path):
    code = [sys.executable, "-W", "ignore", "-c", PROCESS]
    runs = [subprocess.Popen([*code, str(k), str(tmp_path / "meet")]) for k in (0, 1)]
    assert [run.wait(timeout=120) for run in runs] == [0, 0]


def test_one_process_gathers_nothing():
    scores, y, _ = batch()
    assert at.AUCLoss(gather="ddp")(scores, y).item() == at.AUCLoss()(scores, y).item()
