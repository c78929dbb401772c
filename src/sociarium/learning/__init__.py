"""Make players better: algorithms, preferences, runs."""
