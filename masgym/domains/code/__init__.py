"""Programming. problem: tasks; pieces, one_line: drawn ones; families, shipped: the shipped file; taskfile: files of
tasks; replies: grammars; harness: what runs in the sandbox; checks: calls and answers; judging: verdicts; domain."""

from masgym.domains.code.domain import LEVELS, Code

__all__ = ["LEVELS", "Code"]
