"""Published methods kept as baselines; none of them is chosen by default."""
