"""Reports: one page of HTML about a learned model, which needs no network to be read."""

from pgmpy_latent.report.page import write_report

__all__ = ["write_report"]
