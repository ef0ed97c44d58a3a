"""Episodes -> one self-contained page.

The page is a table of summaries, and for each episode a block of JSON that is parsed when it is opened; so thousands of
episodes load at once. What a model wrote is only ever JSON here and text nodes there, never markup; should it get out
all the same, the page's content security policy runs no script but the page's own, and loads nothing.
"""

import base64
import hashlib
import html
import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import IO

from masgym.episodes import plain
from masgym.errors import BadFile
from masgym.files import whole_file
from masgym.types import JSON
from masgym.viewer import evaluation, training
from masgym.viewer.episodes import Episode, Texts

SCRIPTS = ("dom.js", "boards.js", "timeline.js", "tree.js", "table.js", "main.js")  # in this order, in one function


def write_page(run_folder: str | Path, out: str | Path) -> Path:
    """The page of a run folder, of `masgym eval` or of mastrain, written whole to `out`.

    Raises BadFile for a folder without episodes, for one whose files cannot be read, and where `out` cannot be written.
    """
    folder, path = Path(run_folder), Path(out)
    texts = Texts()
    episodes = _episodes(folder, texts)
    first = next(episodes, None)
    if first is None:
        raise BadFile(
            f"{folder} holds no episodes to look at; a folder with {evaluation.EPISODES} (masgym eval --out) or "
            f"{training.ROLLOUTS} (mastrain, log_rollouts_every) was expected."
        )
    if path.exists() and path.suffix != ".html" and folder.resolve() in path.resolve().parents:
        raise BadFile(f"{path} is there, and a file of the run; name another file for the page, such as page.html.")
    with whole_file(path) as page:
        _write(page, folder, first, episodes, texts)
    return path


def _episodes(folder: Path, texts: Texts) -> Iterator[Episode]:
    yield from evaluation.read(folder, texts)
    yield from training.read(folder, texts)


def _write(page: IO[str], folder: Path, first: Episode, rest: Iterator[Episode], texts: Texts) -> None:
    style, script = _part("page.css"), "\n".join(["(() => {", *map(_part, SCRIPTS), "})();"])
    head, tail = _part("page.html").split("<!-- data -->")
    name = folder.resolve().name
    policy = f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; base-uri 'none'"
    title = html.escape(name).encode("ascii", "xmlcharrefreplace").decode()
    page.write(_filled(head, {"title": title, "policy": policy, "style": style}))
    summaries = [_block(page, f"episode-{number}", e) for number, e in enumerate(_chained(first, rest))]
    index = {"name": name, "about": evaluation.about(folder), "episodes": summaries, "texts": texts.all}
    page.write(f'<script type="application/json" id="index">{as_json(index)}</script>\n')
    page.write(_filled(tail, {"script": script}))


def _chained(first: Episode, rest: Iterator[Episode]) -> Iterator[Episode]:
    yield first
    yield from rest


def _block(page: IO[str], name: str, episode: Episode) -> Mapping[str, JSON]:
    page.write(f'<script type="application/json" id="{name}">{as_json(episode.detail)}</script>\n')
    return episode.summary


def as_json(data: JSON) -> str:
    """JSON that an HTML parser reads as it is: ASCII, without "<", ">" and "&"."""
    try:
        text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    except ValueError:  # numbers that JSON lacks become text
        text = json.dumps(plain(data), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _filled(text: str, parts: Mapping[str, str]) -> str:
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->", part)
    return text


def _part(name: str) -> str:
    return (files("masgym.viewer") / "page" / name).read_text(encoding="ascii")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
