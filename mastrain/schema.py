"""A plain mapping -> a dataclass of dataclasses, by its annotations: unknown, missing and ill-typed keys are errors."""

import types as python_types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from masgym.errors import BadValue, UnknownName

T = TypeVar("T")

_KINDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
REFUSED = ("top_k", "top_p", "min_p", "typical_p", "repetition_penalty", "frequency_penalty", "presence_penalty")


def build(cls: type[T], data: Any, at: str = "") -> T:
    """`at`: the key that `data` stands under. Raises UnknownName and BadValue, which name the key."""
    if not isinstance(data, Mapping):
        raise BadValue(f"{at or 'config'} is {data!r}; a mapping was expected.")
    hints, names = get_type_hints(cls), [f.name for f in fields(cast(Any, cls))]
    for key in data:
        if key in REFUSED:
            raise BadValue(
                f"{at}.{key} is refused: it would change what is sampled but not the log-probs that are trained on. "
                "Leave it out; temperature is the one knob."
            )
        if key not in names:
            raise UnknownName(f"key of {at or 'the config'}", key, names)
    missing = [f.name for f in fields(cast(Any, cls)) if f.name not in data and f.default is MISSING]
    if missing:
        raise BadValue(f"config key {at + '.' if at else ''}{missing[0]} is missing.")
    return cls(
        **{name: _value(hints[name], data[name], f"{at}.{name}" if at else name) for name in names if name in data}
    )


def _value(kind: Any, given: Any, at: str) -> Any:
    if is_dataclass(kind):
        return build(cast(type[Any], kind), given, at)
    options = get_args(kind)
    if get_origin(kind) is Literal:
        if given not in options:
            raise UnknownName(at, given, options)
        return given
    if get_origin(kind) in (Union, python_types.UnionType):
        return None if given is None else _value(next(o for o in options if o is not type(None)), given, at)
    if get_origin(kind) is Sequence:
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise BadValue(f"{at} is {given!r}; a list was expected.")
        return tuple(_value(options[0], inner, f"{at}[{i}]") for i, inner in enumerate(cast(Sequence[Any], given)))
    if get_origin(kind) is not None:  # Mapping[str, ...]
        if not isinstance(given, Mapping):
            raise BadValue(f"{at} is {given!r}; a mapping was expected.")
        return {str(key): _value(options[1], inner, f"{at}.{key}") for key, inner in given.items()}
    if kind is Any:
        return given
    if kind is float and isinstance(given, int) and not isinstance(given, bool):
        return _float(given, at)
    if not isinstance(given, kind) or (kind is int and isinstance(given, bool)):
        raise BadValue(f"{at} is {given!r}, a {type(given).__name__}; {_KINDS.get(kind, kind.__name__)} was expected.")
    return given


def _float(given: int, at: str) -> float:
    try:
        return float(given)
    except OverflowError as error:
        raise BadValue(f"{at} has {len(str(abs(given)))} digits; no number is that large.") from error
