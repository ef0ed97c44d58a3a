"""Randomness is passed in, made from keys: integers and strings that name what is drawn. There is no global seed."""

import hashlib
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

Key: TypeAlias = tuple[int | str, ...]


def digest(key: Iterable[int | str]) -> int:
    """A 128-bit integer that depends on every part of `key` and on their order and types."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in key)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), "little")


def keyed(*key: int | str) -> np.random.Generator:
    """A generator of its own for `key`: equal keys give equal draws, in any process and any order."""
    return np.random.Generator(np.random.Philox(key=digest(key)))
