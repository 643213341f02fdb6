"""Values, slopes and curvatures of losses."""
