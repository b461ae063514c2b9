"""Exact inference: plans, engines, and what they are asked."""
