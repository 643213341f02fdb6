"""Whether losses of metrics help boosted trees and small networks, and what they cost."""

from __future__ import annotations

from benchmarks.sections import loss_boosters, loss_costs, loss_networks

name = "metric_losses"
title = "Metric losses in boosted trees and networks: values on new rows, cost"
sections = (loss_costs, loss_networks, loss_boosters)
shares = {"loss_costs": 1.0, "loss_networks": 4.0, "loss_boosters": 8.0}
