"""The theses' acceptance checks that need real data or minutes, and where every check is proven."""
