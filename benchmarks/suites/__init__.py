"""A suite is a title and a tuple of section modules; one results file each."""
