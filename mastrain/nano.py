"""`model=nano`: the Qwen3 architecture at 0.86M parameters, with a tokenizer of one token per character.

Prompt and reply as tokens: content <bos> reply <eos>: <bos> separates them, so a reply's first token is predicted
from the separator. Whole words get one token where the compact prompts use them (the slots), and two cells of a large
board where the shape asks for it: half the tokens to compute.
"""

import re
import string
from typing import cast

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from masgym.types import value

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"
WORDS = ("tool", "act", "draft", "judge", "route")  # masgym.types.Slot
CHARACTERS = (*(string.digits + string.ascii_letters + string.punctuation), " ", "\n")

_TEMPLATE = (
    "{% for message in messages %}{{ message['content'] }}"
    "{{ eos_token if message['role'] == 'assistant' else bos_token }}{% endfor %}"
)


@value
class Nano:
    """The shape of the small model."""

    hidden: int = 128
    layers: int = 4
    heads: int = 4
    feed_forward: int = 384
    context: int = 2048  # tokens; rotary positions cost no parameters
    pairs: str = ""  # symbols of a board: any two of them side by side are one token


def nano_tokenizer(pairs: str = "") -> PreTrainedTokenizerFast:
    """One token per printable ASCII character, newline, slot word and pair of `pairs`; anything else is <unk>."""
    together = [a + b for a in pairs for b in pairs]
    vocabulary = (PAD, BOS, EOS, UNK, *WORDS, *CHARACTERS, *together)
    tokenizer = Tokenizer(models.WordLevel({token: i for i, token in enumerate(vocabulary)}, unk_token=UNK))
    pieces = Regex("|".join([rf"\b(?:{'|'.join(WORDS)})\b", *map(re.escape, together), r"[\s\S]"]))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(pieces, behavior="isolated")
    tokenizer.decoder = decoders.Fuse()  # the pieces as they are: no spaces between them
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        unk_token=UNK,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        chat_template=_TEMPLATE,
    )


def nano_model(shape: Nano, seed: int) -> Qwen3ForCausalLM:
    """Float32 weights drawn from `seed` alone; the global generator is left as it was."""
    tokenizer = nano_tokenizer(shape.pairs)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        head_dim=shape.hidden // shape.heads,
        max_position_embeddings=shape.context,
        initializer_range=0.06,  # learns faster than the default 0.02 at this size
        tie_word_embeddings=True,
        pad_token_id=cast(int, tokenizer.pad_token_id),
        bos_token_id=cast(int, tokenizer.bos_token_id),
        eos_token_id=cast(int, tokenizer.eos_token_id),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config).float().eval()
