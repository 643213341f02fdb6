"""Losses of the metrics as objectives of LightGBM and XGBoost, and the metrics to stop by.

Start with the library's own log-loss, which ranked as well or better on most tables of the page
"Do metric losses help my model?". What costs nothing is to stop by the metric that you report:

    import auctor.boost as ab
    lgb.train({"objective": "binary", "metric": "none"}, rows, feval=ab.metric("precision@100"))

A loss of the metric is an objective:

    lgb.train({"objective": ab.lightgbm("auc", y=y)}, rows)
    xgb.train({}, rows, obj=ab.xgboost("auc", y=y))
"""

from auctor.boost.evaluation import metric
from auctor.boost.objective import catboost, lightgbm, xgboost

__all__ = ["catboost", "lightgbm", "metric", "xgboost"]
