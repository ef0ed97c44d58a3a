"""HotpotQA and the other sets in the form of Search-R1 (arXiv 2503.09516): id, question, golden_answers, metadata."""

from collections.abc import Mapping
from typing import Any

from masgym.domains.search.grammar import Said, parse
from masgym.importers.rows import Row, Unfit
from masgym.types import JSON


def questions(row: Row) -> dict[str, JSON]:
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


def _kept(metadata: Mapping[str, Any]) -> dict[str, JSON]:
    """What the domain reads: tables fill in the fields of other rows with nulls, and hold whole passages."""
    facts, level = metadata.get("supporting_facts"), metadata.get("level")
    titles = facts.get("title") if isinstance(facts, Mapping) else None
    return {
        **({"supporting_facts": {"title": titles}} if titles is not None else {}),
        **({"level": level} if isinstance(level, str) else {}),
    }
