"""LibAUC's pairwise loss on a linear model, in an environment of its own because of PyTorch.

``AUCTOR_LIBAUC_PYTHON`` names its interpreter; ``.venv-libauc/bin/python`` by default. Run
as ``python benchmarks/competitors/ranking/libauc_linear.py IN.npz OUT.npz`` it does the whole
protocol there: per outer fold, tune the weight decay on inner folds by AUC, fit, score the test
rows.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

name = "libauc"
#: Full-batch steps of Adam with a cosine schedule; not tuned per set.
STEPS = 300
RATE = 0.05


def python() -> str:
    """The interpreter that has LibAUC."""
    default = Path(__file__).resolve().parents[3] / ".venv-libauc" / "bin" / "python"
    return os.environ.get("AUCTOR_LIBAUC_PYTHON", str(default))


def available() -> str | None:
    """A reason why it cannot be used."""
    if Path(python()).exists():
        return None
    return (
        "LibAUC needs PyTorch: python -m venv .venv-libauc && .venv-libauc/bin/pip install libauc, "
        "or set AUCTOR_LIBAUC_PYTHON"
    )


def protocol(
    X: np.ndarray, y: np.ndarray, folds: list, strengths: np.ndarray, inner: int, limit: float
) -> tuple[np.ndarray, np.ndarray]:
    """Test AUC and CPU seconds of every fold; NaN for those not reached in ``limit`` seconds."""
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder, "in.npz"), Path(folder, "out.npz")
        tests = np.full(len(y), -1)
        for k, (_, test) in enumerate(folds):
            tests[test] = k
        np.savez(source, X=X, y=y, fold=tests, strengths=strengths, inner=inner, limit=limit)
        env = dict(os.environ, OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="")
        try:
            subprocess.run(
                [python(), __file__, str(source), str(answer)],
                check=True, env=env, timeout=limit + 120.0, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return np.full(len(folds), np.nan), np.full(len(folds), np.nan)
        with np.load(answer) as found:
            return found["auc"], found["seconds"]


def _main(source: str, answer: str) -> None:
    import torch
    from libauc.losses import PairwiseAUCLoss
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold
    from sklearn.preprocessing import StandardScaler

    torch.set_num_threads(1)

    def fit(X: np.ndarray, y: np.ndarray, decay: float) -> np.ndarray:
        torch.manual_seed(0)
        rows, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(y > 0).float()[:, None]
        model = torch.nn.Linear(X.shape[1], 1)
        loss = PairwiseAUCLoss("squared_hinge")
        optimiser = torch.optim.Adam(model.parameters(), lr=RATE, weight_decay=decay)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
        for _ in range(STEPS):
            optimiser.zero_grad()
            loss(model(rows), labels).backward()
            optimiser.step()
            schedule.step()
        return model.weight.detach().numpy().ravel()

    with np.load(source) as given:
        X, y, fold, strengths = (given[k] for k in ("X", "y", "fold", "strengths"))
        inner, limit = int(given["inner"]), float(given["limit"])
    count = int(fold.max()) + 1
    auc, seconds, start = np.full(count, np.nan), np.full(count, np.nan), time.perf_counter()
    for k in range(count):
        if time.perf_counter() - start > limit:
            break
        began = time.process_time()
        train, test = fold != k, fold == k
        scaler = StandardScaler().fit(X[train])
        A, b = scaler.transform(X[train]), y[train]
        values = np.zeros(len(strengths))
        for fit_rows, judge_rows in StratifiedKFold(inner, shuffle=True, random_state=k).split(
            A, b
        ):
            for j, strength in enumerate(strengths):
                w = fit(A[fit_rows], b[fit_rows], strength)
                values[j] += roc_auc_score(b[judge_rows], A[judge_rows] @ w)
        w = fit(A, b, strengths[int(np.argmax(values))])
        auc[k] = roc_auc_score(y[test], scaler.transform(X[test]) @ w)
        seconds[k] = time.process_time() - began
    np.savez(answer, auc=auc, seconds=seconds)


if __name__ == "__main__":
    _main(*sys.argv[1:])
