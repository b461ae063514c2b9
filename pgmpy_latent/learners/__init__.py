"""Learners: one algorithm per file, search policy only."""
