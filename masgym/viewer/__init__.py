"""A run as one HTML page: `write_page(folder, "run.html")`. It needs no network and opens from disk."""

from masgym.viewer.write import write_page

__all__ = ["write_page"]
