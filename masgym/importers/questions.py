"""HotpotQA and the other sets in the form of Search-R1 (arXiv 2503.09516): id, question, golden_answers, metadata.

Also HotpotQA's own files and its form on hubs: _id or id, question, answer, supporting_facts, level. Their `context` is
left out: what is searched is the corpus that the game is given.
"""

from collections.abc import Mapping
from typing import Any

from masgym.domains.search.grammar import Said, parse
from masgym.importers.rows import Row, Unfit
from masgym.types import JSON


def questions(row: Row) -> dict[str, JSON]:
    if row.fields.get("golden_answers") is None and row.fields.get("answer") is not None:
        row = _renamed(row)
    answers = [text for text in row.strings("golden_answers") if text.strip()]
    if not any(isinstance(parse(f"<answer>{text}</answer>"), Said) for text in answers):
        raise Unfit("no reply can give any of its answers")
    metadata = row.inside("metadata").fields if row.fields.get("metadata") is not None else {}
    if row.fields.get("id") is None:
        raise row.bad("id", "a text or a number")
    return {
        "id": str(row.fields["id"]),
        "question": row.text("question").strip(),
        "golden_answers": answers,
        "metadata": _kept(metadata),
    }


def _renamed(row: Row) -> Row:
    """HotpotQA's own row in the form of Search-R1."""
    facts = row.fields.get("supporting_facts")
    if isinstance(facts, list):  # [[title, number of a sentence], ...]; on hubs {"title": [...], "sent_id": [...]}
        pairs: list[Any] = facts
        if not all(isinstance(pair, list | tuple) and pair and isinstance(pair[0], str) for pair in pairs):
            raise row.bad("supporting_facts", "pairs of a title and the number of a sentence")
        facts = {"title": [pair[0] for pair in pairs]}
    fields = {
        "id": row.fields[row.first("_id", "id")],
        "question": row.fields.get("question"),
        "golden_answers": [row.text("answer")],
        "metadata": {"supporting_facts": facts, "level": row.fields.get("level")},
    }
    return Row(where=row.where, fields=fields)


def _kept(metadata: Mapping[str, Any]) -> dict[str, JSON]:
    """What the domain reads: tables fill in the fields of other rows with nulls, and hold whole passages."""
    facts, level = metadata.get("supporting_facts"), metadata.get("level")
    titles = facts.get("title") if isinstance(facts, Mapping) else None
    return {
        **({"supporting_facts": {"title": titles}} if titles is not None else {}),
        **({"level": level} if isinstance(level, str) else {}),
    }
