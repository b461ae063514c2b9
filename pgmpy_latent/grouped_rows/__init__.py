"""Rows that belong together: people over time, pupils in schools."""
