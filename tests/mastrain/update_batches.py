"""Rows made from short lists, and a model of a few thousand parameters, for the tests of the update."""

import numpy as np
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from masgym.types import Message
from mastrain.types import Completion, Prompt, Row

VOCABULARY = 23


def tiny_model(seed=0, attention="sdpa", dropout=0.0, layers=2):
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=128,
        tie_word_embeddings=True,
        attention_dropout=dropout,
        attn_implementation=attention,
        pad_token_id=0,
        eos_token_id=1,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(config)
        with torch.no_grad():  # far enough from uniform that mistakes show
            for parameter in model.parameters():
                parameter.mul_(6.0 if parameter.dim() > 1 else 1.0)
    return model


def make_row(prompt, completion, logps, *, advantage=1.0, weight=1.0, agent="actor_0"):
    return Row(
        policy="p",
        group=(0,),
        event=(0,),
        state_id="s",
        candidate=0,
        agent=agent,
        member=0,
        cardinality=1,
        set_tokens=(len(completion),),
        place=0,
        prompt=Prompt(agent=agent, messages=(Message(role="user", content=""),), ids=tuple(prompt)),
        completion=Completion(text="", ids=tuple(completion), logps=tuple(logps), finish="stop", policy="p", version=0),
        reward=0.0,
        advantage=advantage,
        weight=weight,
    )


def ragged_rows(groups=((5, (3, 1, 4)), (9, (2,)), (2, (6, 5))), seed=0, spread=0.4):
    """`groups`: (prompt length, completion lengths). Behaviour log-probs lie `spread` around -2.5, so that with a
    model nearby some ratios are clipped on either side. Weights as AT-GRPO has them."""
    rng, rows = np.random.default_rng(seed), []
    for length, completions in groups:
        prompt = rng.integers(2, VOCABULARY, length).tolist()
        for tokens in completions:
            rows.append(
                make_row(
                    prompt,
                    rng.integers(2, VOCABULARY, tokens).tolist(),
                    (-2.5 + spread * rng.standard_normal(tokens)).tolist(),
                    advantage=float(rng.standard_normal()),
                    weight=1 / (len(groups) * len(completions)),
                )
            )
    return rows


def near(model, rows, spread=0.3, temperature=1.0, seed=1):
    """`rows` with behaviour log-probs `spread` around the model's own."""
    rng, made = np.random.default_rng(seed), []
    for row in rows:
        logps = one_by_one(model, row, temperature)[0].detach().numpy() + spread * rng.standard_normal(
            len(row.completion.ids)
        )
        made.append(
            make_row(
                row.prompt.ids,
                row.completion.ids,
                logps.tolist(),
                advantage=row.advantage,
                weight=row.weight,
                agent=row.agent,
            )
        )
    return made


def one_by_one(model, row, temperature=1.0):
    """Log-probs and entropies (T,) of one row by a forward pass without padding, mask or cache."""
    ids = torch.tensor([[*row.prompt.ids, *row.completion.ids]])
    logits = model(input_ids=ids, use_cache=False).logits[0, len(row.prompt.ids) - 1 : -1].float() / temperature
    log_probs = torch.log_softmax(logits, -1)
    picked = log_probs[torch.arange(len(row.completion.ids)), torch.tensor(row.completion.ids)]
    return picked, -(log_probs.exp() * log_probs).sum(-1)
