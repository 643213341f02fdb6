"""Text with 100,000 columns.

Documents as counts of words: 20,000 rows, 100,000 columns, a few dozen entries per row. Sparse
matrices need no conversion. An l1 penalty selects the words; the gap proves that the selection is
nearly optimal for the objective.
"""

import numpy as np
from scipy import sparse

from auctor import MetricClassifier, metrics

# %%
# ## Documents
#
# Words follow Zipf's law. One document in twenty is about our topic: it draws one word in ten
# from 200 words of the topic, which other documents use too, but less often.

N_DOCUMENTS, N_WORDS, LENGTH, TOPIC_WORDS = 20_000, 100_000, 60, 200
rng = np.random.default_rng(0)
common = 1.0 / np.arange(10, N_WORDS + 10)
common /= common.sum()
topic_words = rng.choice(np.arange(200, 20_000), size=TOPIC_WORDS, replace=False)

on_topic = rng.random(N_DOCUMENTS) < 0.05
words = rng.choice(N_WORDS, size=(N_DOCUMENTS, LENGTH), p=common)
from_topic = (rng.random(words.shape) < 0.1) & on_topic[:, None]
words[from_topic] = rng.choice(topic_words, size=from_topic.sum())
rows = np.repeat(np.arange(N_DOCUMENTS), LENGTH)
counts = sparse.csr_array(
    (np.ones(words.size), (rows, words.ravel())), shape=(N_DOCUMENTS, N_WORDS)
)
counts.sum_duplicates()

# %%
# Counts are damped and every document is scaled to length one, as is usual for text.

X = counts.copy()
X.data = np.log1p(X.data)
X = sparse.csr_array(X.multiply(1.0 / np.sqrt(X.multiply(X).sum(axis=1))[:, None]))
train, test = slice(0, 14_000), slice(14_000, None)
print(f"{X.shape[0]:,} x {X.shape[1]:,}, {X.nnz:,} entries, {on_topic[train].sum()} on topic")

# %%
# ## Dense and sparse models
#
# `gap` is a proven bound: no linear model has an objective that is lower by more. The strengths
# of the two l1 penalties leave about as many words as the topic has.

models = {
    "AUC, l2": MetricClassifier("auc", strength=1e-4),
    "AUC squared hinge, l1": MetricClassifier(
        "auc", surrogate="squared_hinge", penalty="l1", strength=7e-4
    ),
    "log-loss, l2": MetricClassifier("log_loss", strength=1e-5),
    "log-loss, l1": MetricClassifier("log_loss", penalty="l1", strength=3e-5),
}
for name, model in models.items():
    model.fit(X[train], on_topic[train])
    auc = metrics.auc_interval(on_topic[test], model.decision_function(X[test]))
    used = np.flatnonzero(model.coef_)
    print(
        f"{name:22} test AUC {auc.auc:.3f} [{auc.low:.3f}, {auc.high:.3f}]  words {used.size:6,} "
        f"of which of the topic {np.isin(used, topic_words).sum():3}  gap {model.gap_:.0e} "
        f"({model.solution_.solver})"
    )

# %%
# A few hundred words rank about as well as 80,000: the intervals overlap. Here log-loss and AUC are
# equally good.
#
# ## What the sparse model says
#
# The words with the largest weights, and whether they are of the topic.

weights = models["AUC squared hinge, l1"].coef_[0]
for word in np.argsort(-weights)[:8]:
    kind = "topic" if word in topic_words else "other"
    print(f"word {word:6d}  weight {weights[word]:6.2f}  {kind}")
