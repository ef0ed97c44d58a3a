"""A row of a data set, read field by field. Errors name file, line and field."""

import json
from collections.abc import Mapping
from typing import Any

from masgym.errors import BadFile
from masgym.types import JSON, value

_DIGITS = 4300  # of an integer that Python reads from text


class Unfit(Exception):
    """A row of the right form that cannot become a task. Its message is the reason, which the report counts."""


@value
class Row:
    """The fields of a row, or of an object inside of it."""

    where: str  # "FILE, line N"
    fields: Mapping[str, Any]
    path: str = ""  # "OBJECT." where the fields are those of an object

    def bad(self, name: str, expected: str) -> BadFile:
        """The error of a field that is not what it should be."""
        found = repr(self.fields.get(name))
        shown = found if len(found) <= 80 else f"{found[:77]}..."
        return BadFile(f"{self.where}, field '{self.path}{name}': {shown} instead of {expected}.")

    def first(self, *names: str) -> str:
        """The first of these fields that the row has. Raises BadFile where it has none."""
        for name in names:
            if self.fields.get(name) is not None:
                return name
        raise self.bad(names[0], "a value" + (f" (nor is there a field {' or '.join(names[1:])})" if names[1:] else ""))

    def text(self, name: str) -> str:
        """A text that is not empty."""
        found = self.string(name)
        if not found.strip():
            raise self.bad(name, "a text that is not empty")
        return found

    def string(self, name: str) -> str:
        """A text; "" for a field that is null or left out."""
        found = self.fields.get(name)
        if found is None:
            return ""
        if not isinstance(found, str):
            raise self.bad(name, "a text")
        return found

    def items(self, name: str) -> list[Any]:
        """A list."""
        found = self.fields.get(name)
        if not isinstance(found, list):
            raise self.bad(name, "a list")
        return found

    def strings(self, name: str) -> list[str]:
        """A list of texts."""
        found = self.items(name)
        if not all(isinstance(text, str) for text in found):
            raise self.bad(name, "a list of texts")
        return found

    def inside(self, name: str) -> "Row":
        """The object in a field."""
        found = self.fields.get(name)
        if not isinstance(found, Mapping):
            raise self.bad(name, "an object")
        return Row(where=self.where, fields=found, path=f"{self.path}{name}.")

    def parsed(self, name: str) -> JSON:
        """What a field holds as JSON text; None where it is blank. Raises Unfit for numbers that are too long."""
        text = self.string(name)
        return self.json(name, text) if text.strip() else None

    def json(self, name: str, text: str) -> JSON:
        """`text`, which came from the field, read as JSON."""
        try:
            return json.loads(text, parse_int=_integer)
        except (ValueError, RecursionError) as error:
            raise self.bad(name, f"JSON text ({error})") from error


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise Unfit(f"it has a number of more than {_DIGITS} digits")
    return int(digits)
