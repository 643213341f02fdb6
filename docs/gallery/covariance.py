"""Gene networks: which genes depend on each other, given all others.

Correlations mix direct and indirect effects: two genes with the same regulator are correlated. The
zeros of the inverse covariance are the pairs that are independent given all other genes, and a
penalty finds them even with fewer samples than genes. Every solution has a certified gap.
"""

import matplotlib.pyplot as plt
import numpy as np

from auctor.covariance import (
    SparseInverseCovariance,
    SparseInverseCovarianceCV,
    covariance_path,
    strength_of_empty_graph,
)
from auctor.reports.graph import layout

# %%
# ## Data
#
# Data that resemble gene expression, generated because real data may not be distributed: twelve
# regulators with nine target genes each, and a few links between regulators. There are 100 samples
# of 120 genes, so the empirical covariance is singular. Genes are measured in different units.

rng = np.random.default_rng(0)
n_genes, n_samples, module = 120, 100, 10
edges = np.zeros((n_genes, n_genes))
for regulator in range(0, n_genes, module):
    edges[regulator, regulator + 1 : regulator + module] = rng.choice([-1.0, 1.0], module - 1)
    if regulator:
        edges[regulator - module, regulator] = 1.0
true_graph = (edges + edges.T) != 0.0
precision = edges + edges.T
precision += np.eye(n_genes) * (0.5 - np.linalg.eigvalsh(precision)[0])
noise = rng.normal(size=(n_genes, n_samples))
X = np.linalg.solve(np.linalg.cholesky(precision).T, noise).T
X *= rng.uniform(0.2, 5.0, n_genes)

# %%
# ## One strength
#
# With `standardise=True` the correlations are fitted, so that the strength means the same for every
# gene: a fitted correlation is at most that far from the observed one, and pairs whose links can be
# explained within that distance get no edge.

model = SparseInverseCovariance(strength=0.3, standardise=True).fit(X)
print(f"edges {model.graph_.nnz // 2}, gap {model.gap_:.1e}, steps {model.n_iter_}")
print("sizes of the connected components:", model.solution_.component_sizes[:8])

# %%
# ## Which strength
#
# Held-out likelihood predicts well and keeps many weak edges; the extended BIC and stability
# (StARS) look for the graph itself. F1 compares the edges with the true ones.


def f1(found):
    both = np.sum(found & true_graph)
    return 2.0 * both / (found.sum() + true_graph.sum())


models, scores = {}, {}
for criterion in ("likelihood", "ebic", "stability"):
    chosen = SparseInverseCovarianceCV(
        criterion=criterion, standardise=True, ebic_gamma=0.0, random_state=0
    ).fit(X)
    models[criterion] = chosen
    found = chosen.graph_.toarray() != 0.0
    scores[criterion] = f1(found)
    print(
        f"{criterion:10} strength {chosen.strength_:.2f}  edges {found.sum() // 2:4}  "
        f"F1 {scores[criterion]:.2f}  gap {chosen.gap_:.0e}"
    )

# %%
# ## The graph
#
# A force-directed layout places connected genes near each other; the width of an edge is its
# partial correlation. `auctor.reports.draw_graph(model.graph_, names)` gives the same figure as an
# SVG for a web page, without matplotlib.

graph = models["stability"].graph_.tocoo()
at = layout(graph.row, graph.col, n_genes)
figure, (left, right) = plt.subplots(1, 2)
for i, j, value in zip(graph.row, graph.col, graph.data, strict=True):
    if i < j:
        left.plot(*at[[i, j]].T, color="C0" if value > 0 else "C1", linewidth=6.0 * abs(value))
left.scatter(*at.T, s=8, color="0.3", zorder=2)
left.set(title="Chosen by stability", xticks=[], yticks=[])

# %%
# ## The path
#
# From the strength of the empty graph downwards. Small strengths are slow for two reasons: more
# entries of the matrix move, and the covariance of few samples is nearly singular, which the
# penalty then no longer repairs.

correlation = np.corrcoef(X, rowvar=False)
strengths = strength_of_empty_graph(correlation) * np.geomspace(1.0, 0.2, 15)
path = covariance_path(correlation, strengths)
right.plot(strengths, [f1((one.precision != 0.0) & ~np.eye(n_genes, dtype=bool)) for one in path])
right.set(xlabel="strength", ylabel="F1 of the edges", title="Along the path")
print("edges:", [one.n_edges for one in path])
print("steps:", [one.n_iter for one in path])
