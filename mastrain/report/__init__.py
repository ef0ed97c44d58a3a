"""Why did it not learn? A run folder as one page: `write_report(folder, "report.html")`. It needs no network."""

from mastrain.report.write import write_report

__all__ = ["write_report"]
