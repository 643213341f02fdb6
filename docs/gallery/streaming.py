"""A stream that changes.

Rows are read once, and what makes a row positive changes half-way. `StreamingAUC` has nothing to
tune; `forget` sets how many recent rows count. It scores each row before it learns from it, so its
running AUC is that of new rows.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from auctor import StreamingAUC
from auctor.streaming import learn

# %%
# ## The stream
#
# 20 columns, one row in twenty positive. From row 60,000 on other columns matter.

N_ROWS, CHANGE, CHUNK = 120_000, 60_000, 1_000
before, after = np.zeros(20), np.zeros(20)
before[:5], after[3:8] = 1.0, 1.0


def chunks(seed=0):
    """Rows and labels, a thousand at a time."""
    rng = np.random.default_rng(seed)
    for start in range(0, N_ROWS, CHUNK):
        X = rng.normal(size=(CHUNK, 20))
        scores = X @ (before if start < CHANGE else after) + rng.normal(scale=1.5, size=CHUNK)
        yield X, (scores > 4.4).astype(int)


# %%
# ## Learning in one pass
#
# `learn` takes files, standard input or anything that yields rows with labels.

learners = {
    "forgets nothing": StreamingAUC(window=5_000),
    "last 10,000 rows count": StreamingAUC(forget=10_000, window=5_000),
    "last 1,000 rows count": StreamingAUC(forget=1_000, window=5_000),
}
for name, learner in learners.items():
    progress = learn(learner, chunks())
    rows, auc = learner.trace_.T
    settled = auc[(rows > 30_000) & (rows <= CHANGE)].mean()
    print(
        f"{name:23} AUC before the change {settled:.3f}, lowest after it "
        f"{auc[rows > CHANGE].min():.3f}, at the end {learner.auc_:.3f}"
    )

# %%
# Forgetting costs a little while nothing changes and pays when something does. The shorter the
# memory, the sooner the model has adapted, and the lower its AUC afterwards.

figure, axis = plt.subplots()
for name, learner in learners.items():
    axis.plot(*learner.trace_[2:].T, label=name)
axis.axvline(CHANGE, color="0.5", linestyle=":")
axis.set(xlabel="rows seen", ylabel="AUC of the last 5,000 rows, scored before learned")
axis.legend()

# %%
# ## Stopping and resuming
#
# With a checkpoint a stopped run resumes, and ends with exactly the same weights as a run without a
# stop.

with tempfile.TemporaryDirectory() as folder:
    checkpoint = Path(folder) / "state.npz"
    learn(StreamingAUC(forget=10_000), chunks(), checkpoint=checkpoint, limit=50_000)
    resumed = StreamingAUC(forget=10_000)
    learn(resumed, chunks(), checkpoint=checkpoint, resume=True)
whole = StreamingAUC(forget=10_000)
learn(whole, chunks())
print("same weights:", np.array_equal(resumed.coef_, whole.coef_))
