"""Rare fraud: five payments in a thousand.

Card payments, about 0.5 % of them fraud of three different kinds, with some wrong labels: the data
of `auctor.testing.payments`. Three losses are tuned in the same way and compared on held-out
rows with a paired test; then a threshold is chosen for a given cost.
"""

import matplotlib.pyplot as plt

from auctor import MetricClassifier, MetricClassifierCV, metrics
from auctor.testing.payments import card_payments, split_half

columns, fraud = card_payments(60_000, seed=0)
data = split_half(columns, fraud)
print(f"{data.train_y.size:,} training rows, {data.train_y.sum()} frauds, {len(columns)} columns")

# %%
# ## Three ways to train
#
# Log-loss, log-loss with balanced class weights, and the hinge on pairs of a fraud and an honest
# payment, which is a surrogate of AUC. A strength does not mean the same for different losses, so
# each model chooses one of the same eight strengths by the AUC of held-out rows.

tuning = {"n_strengths": 8, "ratio": 1e-5, "cv": 3}
models = {
    "log-loss": MetricClassifierCV("log_loss", scoring="roc_auc", **tuning),
    "log-loss, balanced": MetricClassifierCV(
        "log_loss", class_weight="balanced", scoring="roc_auc", **tuning
    ),
    "AUC": MetricClassifierCV("auc", **tuning),
}
scores, intervals = {}, {}
for name, model in models.items():
    model.fit(data.train_X, data.train_y)
    scores[name] = model.decision_function(data.test_X)
    intervals[name] = auc = metrics.auc_interval(data.test_y, scores[name])
    precision = metrics.average_precision(data.test_y, scores[name])
    print(
        f"{name:20} strength {model.strength_:.0e}  AUC {auc.auc:.3f} [{auc.low:.3f}, "
        f"{auc.high:.3f}]  average precision {precision:.3f}  gap {model.gap_:.0e}"
    )

# %%
# With 150 frauds the intervals are wide and overlap. But all models scored the same payments, so a
# paired test is more sensitive: it shows how large the difference is and whether it may be chance.

paired = {
    name: metrics.compare_auc(data.test_y, scores[name], scores["log-loss"])
    for name in list(models)[1:]
}
for name, test in paired.items():
    print(
        f"{name:20} minus log-loss: {test.difference:+.4f} "
        f"(standard error {test.standard_error:.4f}, p = {test.p_value:.3f})"
    )

# %%
# On these payments plain log-loss ranks best. That is worth knowing before anything is deployed,
# and it is why `auctor compare` exists; [AUC or log-loss](auc_or_log_loss.md) has data where it is
# the other way round. The curves show where the models differ.

figure, (left, right) = plt.subplots(1, 2)
for name in models:
    roc = metrics.roc_curve(data.test_y, scores[name])
    left.plot(roc.fpr, roc.tpr, label=name)
    curve = metrics.precision_recall_curve(data.test_y, scores[name])
    right.plot(curve.recall, curve.precision, label=name)
left.set(xlabel="false positive rate", ylabel="true positive rate", title="ROC")
right.set(xlabel="recall", ylabel="precision", title="Precision and recall")
right.legend()

# %%
# ## The threshold
#
# Say a missed fraud costs as much as 50 needless calls to customers. `threshold="cost(50)"` keeps
# the ranking of any metric and chooses the threshold for that cost; `metric="cost(50)"`
# trains for it as well. `threshold_cv` chooses the threshold on held-out rows. A probability of one
# half, the default threshold of log-loss, would be the wrong one.

contenders = {
    "log-loss, cut at one half": MetricClassifier("log_loss", strength=1e-3),
    "log-loss, cut for the cost": MetricClassifier(
        "log_loss", strength=1e-3, threshold="cost(50)", threshold_cv=5
    ),
    "trained for the cost": MetricClassifier(
        "cost(50)", surrogate="logistic", strength=1e-3, threshold_cv=5
    ),
}
costs = {"call nobody": 50.0 * data.test_y.sum()}
for name, model in contenders.items():
    model.fit(data.train_X, data.train_y)
    table = metrics.confusion(data.test_y, model.predict(data.test_X))
    costs[name] = table.fp + 50.0 * table.fn
    print(
        f"{name:27} calls {table.tp + table.fp:5.0f}, frauds found {table.tp:3.0f} of "
        f"{table.tp + table.fn:.0f}, cost {costs[name]:.0f}"
    )
print(f"{'call nobody':27} cost {costs['call nobody']:.0f}")
