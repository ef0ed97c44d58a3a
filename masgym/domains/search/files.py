"""Questions from a JSONL file, a line each; the form of Search-R1's sets (arXiv 2503.09516).

question        the text that is asked
golden_answers  a list of equally right answers, at least one
id              a text or a number; left out: the line's number
metadata        optional object; read of it: supporting_facts.title (HotpotQA's), a list of the titles of the gold
                passages, and level, a word. Without titles every passage that holds an answer counts as gold
queries         optional: the searches that lead to the answer, for the oracle
split, content_hash   optional: see `masgym.tasks.listed`
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from masgym.domains.search.grammar import Said, parse
from masgym.errors import BadFile
from masgym.paths import bytes_of
from masgym.tasks import Instance, Listed, listed
from masgym.tools.retrieval import Shared, jsonl
from masgym.types import JSON


def load(file: str, material: str = "") -> Listed:
    """The questions of `file`, asked about passages of the hash `material` ("": none that can be hashed).

    Raises BadFile, which names file, line and field.
    """
    return _LISTED.get((file, sha256(bytes_of(file, "questions file")).hexdigest(), material))


def _read(key: tuple[str, str, str]) -> Listed:
    file, digest, material = key
    found = [instance_of({"id": number, **row}, f"{file}, line {number}") for number, row in jsonl(file)]
    if not found:
        raise BadFile(f"{file} holds no question; one JSON object on each line was expected.")
    searched = {"material": material} if material else {}
    return Listed("search", {"file": Path(file).name, "sha256": digest, **searched}, found)


def instance_of(row: Mapping[str, JSON], where: str) -> Instance:
    """The question of a line, which has an `id`. Raises BadFile, which names `where` and the field."""
    question, metadata = row.get("question"), row.get("metadata") or {}
    if not isinstance(question, str) or not question.strip():
        raise BadFile(f"{where}: `question` is {question!r}; a text was expected.")
    if not isinstance(metadata, dict):
        raise BadFile(f"{where}: `metadata` is a {type(metadata).__name__}; an object was expected.")
    answers = _texts(row.get("golden_answers"), "golden_answers", where)
    if not any(isinstance(parse(f"<answer>{answer}</answer>"), Said) for answer in answers):
        raise BadFile(f"{where}: no reply can give any of `golden_answers`: {str(answers)[:80]!r}.")
    content: dict[str, JSON] = {
        "id": str(row["id"]),
        "question": question,
        "golden_answers": answers,
        "gold": _titles(metadata, where),
        "queries": _texts(row.get("queries", [question]), "queries", where),
    }
    level = metadata.get("level")
    return listed(content, level if isinstance(level, str) else "unrated", row, where)


def _titles(metadata: dict[str, Any], where: str) -> list[str]:
    facts = metadata.get("supporting_facts")
    if facts is None:
        return []
    titles = facts.get("title") if isinstance(facts, dict) else None
    return list(dict.fromkeys(_texts(titles, "metadata.supporting_facts.title", where))) if titles != [] else []


def _texts(given: object, field: str, where: str) -> list[str]:
    if not isinstance(given, list) or not given or not all(isinstance(text, str) and text.strip() for text in given):
        raise BadFile(f"{where}: `{field}` is {str(given)[:80]!r}; a list of texts was expected.")
    return given


_LISTED = Shared(_read)
