"""Reports: one page of HTML about a learned model, which can be read offline."""

from pgmpy_latent.report.page import write_report

__all__ = ["write_report"]
