"""StreamingAUC and its parts."""
