"""Text as a space. Gymnasium's `Text` refuses spaces, punctuation and the empty string; a model writes all of them."""

import string
from collections.abc import Callable
from typing import Any, NoReturn

from gymnasium import spaces
from gymnasium.vector.utils import create_shared_memory

from masgym.errors import BadValue

MAX_LENGTH = 1_000_000  # characters; one for all agents, since PettingZoo warns of spaces that differ


class UnicodeText(spaces.Text):
    """Any str of up to `max_length` characters.

    `sample` joins a few of `examples()` (short plausible replies) or, where there are none, draws printable text.
    AsyncVectorEnv needs `shared_memory=False`: its shared arrays would turn text into other text.
    """

    def __init__(self, examples: Callable[[], tuple[str, ...]] = tuple, *, max_length: int = MAX_LENGTH) -> None:
        super().__init__(max_length, min_length=0, charset=string.printable)
        self._examples = examples
        self._found: tuple[str, ...] | None = None  # what `examples` gave, asked once

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A plausible reply. Text has no mask: both arguments must be None."""
        if mask is not None or probability is not None:
            raise ValueError("UnicodeText samples without a mask and without probabilities.")
        examples = self._found = self._examples() if self._found is None else self._found
        if examples:
            return " ".join(examples[i] for i in self.np_random.integers(len(examples), size=self._few()))
        return "".join(self.character_list[i] for i in self.np_random.integers(len(self.characters), size=20))

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def _few(self) -> int:
        return int(self.np_random.integers(1, 4))

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and other.max_length == self.max_length


@create_shared_memory.register(UnicodeText)
def _refuse_shared_memory(space: UnicodeText, n: int = 1, ctx: Any = None) -> NoReturn:
    """What AsyncVectorEnv calls for its shared arrays; those of `Text` hold only characters of a charset."""
    raise BadValue(
        "text does not fit the shared memory of AsyncVectorEnv; pass shared_memory=False: gymnasium.make_vec(id, "
        'num_envs=n, vectorization_mode="async", vector_kwargs={"shared_memory": False}).'
    )


def observation_space() -> spaces.Dict:
    """{"text": the prompt}: the official tests break on bare text and on a key named `observation`."""
    return spaces.Dict({"text": UnicodeText()})
