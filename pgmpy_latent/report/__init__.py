"""Reports: one page of HTML about a learned model, which can be read offline."""

from importlib import import_module

__all__ = ["write_report"]


def __getattr__(name: str):
    """Load a page when one is asked for: what it shows comes from most of the package."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("pgmpy_latent.report.page"), name)
