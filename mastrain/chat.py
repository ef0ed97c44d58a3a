"""Messages <-> token ids: the only place. What was sampled is kept as ids and never comes through here again.

What a message says is never a control token: a program that prints `<|im_end|>` must not end its message.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from jinja2.exceptions import TemplateError

from masgym.errors import BadValue
from masgym.types import Message
from mastrain.types import Prompt

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def encode(tokenizer: "PreTrainedTokenizerBase", agent: str, messages: Sequence[Message]) -> Prompt:
    """What `agent` is asked, as the ids that its model was taught to answer after. Raises BadValue for a tokenizer
    without a chat template."""
    text = render(tokenizer, [Message(role=m.role, content=defused(tokenizer, m.content)) for m in messages])
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False)  # the template has written its own
    return Prompt(agent=agent, messages=tuple(messages), ids=tuple(ids))


def defused(tokenizer: "PreTrainedTokenizerBase", content: str) -> str:
    """`content` with a space after the first character of all that the tokenizer would read as a special token."""
    added = (str(token.content) for token in tokenizer.added_tokens_decoder.values() if token.special)
    special = _any_of(frozenset({*tokenizer.all_special_tokens, *added}))
    return special.sub(lambda found: f"{found[0][0]} {found[0][1:]}", content)


@lru_cache(maxsize=64)
def _any_of(tokens: frozenset[str]) -> re.Pattern[str]:
    """Matches the longest of `tokens`; in any case, as some tokenizers change it before they look for them."""
    longest_first = sorted((token for token in tokens if token), key=lambda token: (-len(token), token))
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)", re.IGNORECASE)


def decode(tokenizer: "PreTrainedTokenizerBase", ids: Sequence[int]) -> str:
    """The text of sampled ids, without special tokens."""
    return str(tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))


def render(tokenizer: "PreTrainedTokenizerBase", messages: Sequence[Message]) -> str:
    """The chat as the template writes it, up to where the reply begins and without a thinking part. A template that
    refuses a system message, or leaves it out, gets it at the head of the user's."""
    if not tokenizer.chat_template:
        raise BadValue(
            f"the tokenizer {tokenizer.name_or_path or type(tokenizer).__name__!r} has no chat template; "
            "take an instruct model, or set `tokenizer.chat_template`."
        )
    system = [message.content for message in messages if message.role == "system"]
    try:
        text = _apply(tokenizer, messages)
    except TemplateError:
        if not system:
            raise
        text = ""
    return text if all(part.strip() in text for part in system) else _apply(tokenizer, _merged(messages))


def _apply(tokenizer: "PreTrainedTokenizerBase", messages: Sequence[Message]) -> str:
    chat = [{"role": message.role, "content": message.content} for message in messages]
    return str(tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True, enable_thinking=False))


def _merged(messages: Sequence[Message]) -> list[Message]:
    """System messages at the head of the first user message."""
    head = [message.content for message in messages if message.role == "system"]
    first, *rest = [message for message in messages if message.role == "user"]
    return [Message(role="user", content="\n\n".join([*head, first.content])), *rest]
