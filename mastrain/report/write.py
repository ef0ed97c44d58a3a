"""A run folder -> the page, and the viewer's page that its groups link to."""

from pathlib import Path

from masgym.errors import BadFile
from masgym.files import write_whole
from masgym.viewer import write_page
from mastrain.report.page import page
from mastrain.report.reading import read_run


def write_report(run_folder: str | Path, out: str | Path) -> Path:
    """The page of a run, written whole to `out`; where the run kept rollouts, their trees go to a page beside it
    ("report-episodes.html"). Raises BadFile for a folder or a file that cannot be read, and where `out` cannot be
    written."""
    folder, path = Path(run_folder), Path(out)
    run = read_run(folder)
    if not path.parent.is_dir():
        raise BadFile(f"{path} cannot be written: {path.parent} is no folder; name another file.")
    viewer = path.with_name(f"{path.stem}-episodes.html") if run.groups else None
    if viewer:
        write_page(folder, viewer)
    write_whole(path, page(run, viewer.name if viewer else None))
    return path
