"""News with a taxonomy of topics.

Stories have sets of topics, and topics have parents: a story on bonds is one on markets too. The
words below are random, but distributed as in a newswire: some belong to one topic, many to none.
The page goes from label sets to a drawn taxonomy with precision, recall and F1 of every topic.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from auctor.hierarchy import HierarchicalMultiLabel, Taxonomy, TopDownClassifier
from auctor.reports import render_taxonomy

# %%
# ## Topics and stories
#
# A taxonomy comes from paths, from a parent for every label, from edges or from a file.

topics = Taxonomy.from_paths(
    [
        "markets/bonds",
        "markets/shares",
        "markets/commodities/metals",
        "markets/commodities/energy",
        "companies/results",
        "companies/mergers",
        "government/elections",
        "government/defence",
    ]
)
print(topics)

rng = np.random.default_rng(0)
WORDS = 2000
# Sixty words for every topic, which no other topic shares.
own = [rng.choice(WORDS, size=60, replace=False) for _ in topics.names]


def stories(n):
    leaves = np.flatnonzero(topics.leaves)
    counts, labels = np.zeros((n, WORDS)), []
    for row in counts:
        chosen = rng.choice(leaves, size=1 + (rng.random() < 0.3), replace=False)
        names = [topics.names[t] for t in chosen]
        labels.append(names)
        on = np.flatnonzero(topics.close([names])[0])
        for t in on:
            np.add.at(row, rng.choice(own[t], size=5), 1.0)
        np.add.at(row, rng.integers(WORDS, size=40), 1.0)
    return counts, labels


counts, labels = stories(1500)
counts_new, labels_new = stories(1000)
tfidf = TfidfTransformer(sublinear_tf=True).fit(counts)
X, X_new = (csr_array(tfidf.transform(one)) for one in (counts, counts_new))
print(labels[:3])

# %%
# ## Sets that obey the taxonomy
#
# One model for every topic, calibrated on held-out folds, then the set with the highest expected F.

model = HierarchicalMultiLabel(topics, random_state=0).fit(X, labels)
print(model.predict(X_new)[:3])
print(f"F1 by story {model.score(X_new, labels_new):.3f}, with {model.decoder_}")

# %%
# ## Comparison of decoders
#
# All decoders get the same probabilities; each is tuned on training rows.

found = {}
for decoder in ("flat", "leaf_reduce", "root_map", "hierarchical", "expected_f"):
    other = HierarchicalMultiLabel(topics, decoder=decoder, random_state=0).fit(X, labels)
    found[decoder] = other.score(X_new, labels_new)
    print(f"{decoder:12} {found[decoder]:.4f}")

# %%
# ## The worst topics
#
# The report has the measures of every topic, worst first; `render_taxonomy` makes a page of it.

report = model.node_report(X_new, labels_new, title="Topics of the news")
for node in report.worst()[:5]:
    print(f"{node.name:28} F1 {node.f1:.3f} of {node.rows} stories")
page = render_taxonomy(report)

worst = report.worst()[::-1]
figure, axis = plt.subplots()
axis.barh([node.name for node in worst], [node.f1 for node in worst])
axis.set(xlabel="F1 on new stories", xlim=(0, 1))

# %%
# ## One topic a story
#
# If every row has one path, a classifier descends from the top.

single = np.array([names[0] for names in labels])
single_new = np.array([names[0] for names in labels_new])
for strategy in ("node", "parent"):
    one = TopDownClassifier(topics, strategy=strategy, random_state=0).fit(X, single)
    print(f"a model per {strategy}: {one.score(X_new, single_new):.3f} of the paths are right")
