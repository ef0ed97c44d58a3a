"""Search: answer a question from passages that searches find."""

from masgym.domains.search.domain import Search
from masgym.domains.search.generator import LEVELS
from masgym.domains.search.world import Lookup, Passage, Question, World

__all__ = ["LEVELS", "Lookup", "Passage", "Question", "Search", "World"]
