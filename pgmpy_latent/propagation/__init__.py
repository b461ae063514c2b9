"""Compiled message passing: the one door to compiled code."""
