"""Messages <-> ids."""

import pytest

from masgym.errors import BadValue
from masgym.types import Message
from mastrain import chat
from mastrain.nano import nano_tokenizer

SYSTEM = Message(role="system", content="You plan.")
USER = Message(role="user", content="tool\n#.@$\nact:RRU")


def test_a_prompt_ends_where_the_reply_begins():
    tokenizer = nano_tokenizer()
    prompt = chat.encode(tokenizer, "tool_0", [USER])
    assert prompt.ids[-1] == tokenizer.bos_token_id
    assert prompt.ids.count(tokenizer.bos_token_id) == 1
    assert chat.decode(tokenizer, prompt.ids) == USER.content
    assert prompt.agent == "tool_0"
    assert prompt.messages == (USER,)


def test_decode_leaves_special_tokens_out():
    tokenizer = nano_tokenizer()
    ids = [*tokenizer.encode("R U"), tokenizer.pad_token_id, tokenizer.eos_token_id]
    assert chat.decode(tokenizer, ids) == "R U"


def test_thinking_is_switched_off():
    tokenizer = nano_tokenizer()
    tokenizer.chat_template = "{{ messages[0].content }}{% if enable_thinking is false %}|no thinking{% endif %}"
    assert chat.render(tokenizer, [USER]).endswith("|no thinking")


@pytest.mark.parametrize(
    "template",
    [
        "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}[{{ messages[0].content }}]",
        "{% for m in messages if m.role == 'user' %}[{{ m.content }}]{% endfor %}",  # leaves it out silently
    ],
)
def test_without_a_system_role_the_user_says_it(template):
    tokenizer = nano_tokenizer()
    tokenizer.chat_template = template
    assert chat.render(tokenizer, [SYSTEM, USER]) == f"[{SYSTEM.content}\n\n{USER.content}]"


def test_no_chat_template_is_an_error():
    tokenizer = nano_tokenizer()
    tokenizer.chat_template = None
    with pytest.raises(BadValue, match="no chat template"):
        chat.encode(tokenizer, "tool_0", [USER])
