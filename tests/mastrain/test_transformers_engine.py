"""What the engine samples, and the log-probs it keeps."""

import asyncio
from collections import Counter

import pytest
import torch

from masgym.errors import BadValue, UnknownName
from masgym.types import Message
from mastrain import chat
from mastrain.engines.base import Request, SamplingFailed, run
from mastrain.engines.decode import stems_of
from mastrain.engines.transformers import TransformersEngine
from mastrain.nano import Nano, nano_model, nano_tokenizer
from mastrain.types import Sampling

TOKENIZER = nano_tokenizer()
SHAPE = Nano(hidden=32, layers=2, heads=2, feed_forward=48, context=128)


ENDS = [2, *range(40, 50)]  # several, as instruct models have; so a reply ends after about ten tokens


def sharp_model(seed=0):
    """Random, but far from uniform: a wrong position or mask then shows in the log-probs."""
    model = nano_model(SHAPE, seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.mul_(8.0 if name == "model.norm.weight" else 1.0 if "norm" in name or "embed" in name else 12.0)
    model.generation_config.eos_token_id = ENDS
    return model


def engine(model=None, **options):
    return TransformersEngine({"p": model or sharp_model()}, {"p": TOKENIZER}, **options)


def request(text="act\n#.@$", n=4, key=(0, 1), agent="actor_0", **sampling):
    prompt = chat.encode(TOKENIZER, agent, [Message(role="user", content=text)])
    return Request(policy="p", prompt=prompt, n=n, key=key, sampling=Sampling(**sampling))


RAGGED = [
    request("#" * length, n=n, key=(7, i), max_new_tokens=12)
    for i, (length, n) in enumerate([(3, 5), (40, 1), (17, 8)])
]


@pytest.mark.parametrize("temperature", [1.0, 0.7, 1.6])
def test_log_probs_are_those_of_a_plain_forward_pass(temperature):
    model = sharp_model()
    requests = [
        request("#." * (i + 1), n=i + 1, key=(i,), temperature=temperature, max_new_tokens=12) for i in range(9)
    ]
    finishes = Counter()
    for asked, answer in zip(requests, engine(model).generate(requests), strict=True):
        for completion in answer:
            finishes[completion.finish] += 1
            ids = torch.tensor([[*asked.prompt.ids, *completion.ids]])
            with torch.no_grad():
                logits = model(ids).logits[0, len(asked.prompt.ids) - 1 : -1]
            plain = torch.log_softmax(logits / temperature, -1)[range(len(completion.ids)), completion.ids]
            torch.testing.assert_close(torch.tensor(completion.logps), plain, atol=1e-5, rtol=0)
    assert len(finishes) == 2, finishes  # replies that ended early, and replies that were cut: both are checked


def test_logps_of_the_engine_agree_with_what_it_kept():
    sampler = engine()
    asked = request(temperature=1.3)
    for completion in sampler.generate([asked])[0]:
        again = sampler.logps("p", asked.prompt, completion, 1.3)
        assert again == pytest.approx(completion.logps, abs=1e-5)


def ids_of(answer):
    return [completion.ids for completion in answer]


def test_same_key_same_tokens_whatever_else_is_in_the_batch():
    sampler = engine()
    together = [ids_of(answer) for answer in sampler.generate(RAGGED)]
    assert [ids_of(sampler.generate([asked])[0]) for asked in RAGGED] == together
    in_chunks = engine(max_tokens=1, workers=2).generate(RAGGED[::-1])
    assert [ids_of(answer) for answer in in_chunks][::-1] == together


def test_a_batch_is_reproduced_bit_for_bit():
    assert engine().generate(RAGGED) == engine(workers=3).generate(RAGGED)


def test_candidates_members_and_events_have_draws_of_their_own():
    asked = [
        request(n=6, max_new_tokens=12),
        request(n=6, max_new_tokens=12, agent="tool_0"),
        request(n=6, max_new_tokens=12, key=(0, 2)),
    ]
    replies = [ids for answer in engine().generate(asked) for ids in ids_of(answer)]
    assert len(set(replies)) > 12


def test_more_candidates_leave_the_first_ones_as_they_were():
    few, many = engine().generate([request(n=2)])[0], engine().generate([request(n=9)])[0]
    assert ids_of(many)[:2] == ids_of(few)


def first_token_distribution(model, asked):
    with torch.no_grad():
        logits = model(torch.tensor([asked.prompt.ids])).logits[0, -1]
    return torch.softmax(logits / asked.sampling.temperature, -1)


def chi_square(expected, tokens):
    """Pearson's statistic and its degrees of freedom; rare tokens share one cell."""
    counts = torch.bincount(torch.tensor(tokens), minlength=len(expected)).double()
    wanted = expected.double() * len(tokens)
    common = wanted >= 5
    cells = torch.cat([counts[common], counts[~common].sum()[None]])
    fair = torch.cat([wanted[common], wanted[~common].sum()[None]])
    return float(((cells - fair) ** 2 / fair.clamp(min=1e-9)).sum()), len(cells) - 1


def test_frequencies_fit_the_tempered_distribution():
    model = sharp_model()
    asked = request(n=4000, temperature=1.5, max_new_tokens=1)
    tokens = [completion.ids[0] for completion in engine(model).generate([asked])[0]]
    statistic, freedom = chi_square(first_token_distribution(model, asked), tokens)
    assert freedom > 10
    assert statistic < freedom + 4 * (2 * freedom) ** 0.5
    wrong = chi_square(first_token_distribution(model, request(temperature=1.0)), tokens)
    assert wrong[0] > wrong[1] + 10 * (2 * wrong[1]) ** 0.5  # the test can tell temperatures apart


def test_fault_6_sampling_penalties_never_change_what_is_sampled():
    plain, penalised = sharp_model(), sharp_model()
    penalised.generation_config.update(
        do_sample=True, top_k=1, top_p=0.1, repetition_penalty=5.0, no_repeat_ngram_size=1, temperature=0.1
    )
    asked = request(n=64, max_new_tokens=6)
    sampler = engine(penalised)
    answer = sampler.generate([asked])[0]
    assert answer == engine(plain).generate([asked])[0]
    assert len({completion.ids[0] for completion in answer}) > 1  # top_k = 1 would leave one
    for completion in answer[:8]:
        assert sampler.logps("p", asked.prompt, completion, 1.0) == pytest.approx(completion.logps, abs=1e-5)


def test_greedy_takes_the_most_likely_token():
    model = sharp_model()
    asked = request(n=2, max_new_tokens=5, greedy=True, temperature=3.0)
    first, second = engine(model).generate([asked])[0]
    assert first.ids == second.ids
    ids = list(asked.prompt.ids)
    for token, logp in zip(first.ids, first.logps, strict=True):
        with torch.no_grad():
            logps = torch.log_softmax(model(torch.tensor([ids])).logits[0, -1], -1)
        assert token == int(logps.argmax())
        assert logp == pytest.approx(float(logps.max()), abs=1e-5)
        ids.append(token)


def test_finish_and_text():
    replies = engine().generate([request(n=200, max_new_tokens=6)])[0]
    for completion in replies:
        ended = completion.ids[-1] in ENDS
        assert completion.finish == ("stop" if ended else "length")
        assert not set(ENDS) & set(completion.ids[:-1])
        assert len(completion.ids) == len(completion.logps) <= 6
        assert completion.text == chat.decode(TOKENIZER, completion.ids[:-1] if ended else completion.ids)
        assert ended or len(completion.ids) == 6
    assert {completion.finish for completion in replies} == {"stop", "length"}


def test_the_tokenizers_end_token_ends_a_reply_too():
    model, asked = sharp_model(), request(n=500, max_new_tokens=6)
    model.generation_config.eos_token_id = None
    ended = [completion for completion in engine(model).generate([asked])[0] if completion.finish == "stop"]
    assert ended
    assert {completion.ids[-1] for completion in ended} == {TOKENIZER.eos_token_id}


def test_too_long_a_context_fails_that_request_only():
    fits, long = request(n=2), request("#" * 125, n=2)
    answers = engine().generate([long, fits, long])
    assert [isinstance(answer, SamplingFailed) for answer in answers] == [True, False, True]
    assert answers[0].outcome == "context overflow"
    assert answers[1] == engine().generate([fits])[0]


def test_two_policies_with_two_versions():
    models = {"p": sharp_model(0), "q": sharp_model(1)}
    sampler = TransformersEngine(models, {"p": TOKENIZER, "q": TOKENIZER})
    sampler.sync("q", 5)
    asked = request(n=3)
    other = Request(policy="q", prompt=asked.prompt, n=3, key=asked.key, sampling=asked.sampling)
    mine, theirs = sampler.generate([asked, other])
    assert {(c.policy, c.version) for c in mine} == {("p", 0)}
    assert {(c.policy, c.version) for c in theirs} == {("q", 5)}
    assert ids_of(mine) != ids_of(theirs)
    with pytest.raises(UnknownName, match="policy"):
        sampler.sync("r", 1)


def test_samples_come_from_the_weights_as_they_are_now():
    model = sharp_model()
    sampler, asked = engine(model), request(n=3)
    before = sampler.generate([asked])[0]
    with torch.no_grad():
        model.lm_head.weight.mul_(0.1)
    assert sampler.generate([asked])[0] != before


def test_dropout_is_off_while_sampling_and_the_mode_is_given_back():
    model = sharp_model()
    model.config.attention_dropout = 0.9
    for layer in model.model.layers:
        layer.self_attn.attention_dropout = 0.9
    calm = engine(model).generate([request()])
    model.train()
    assert engine(model).generate([request()]) == calm
    assert model.training


def test_windowed_attention_is_refused():
    model = sharp_model()
    model.config.layer_types = ["full_attention", "sliding_attention"]
    with pytest.raises(BadValue, match="sliding_attention"):
        engine(model)


def test_requests_of_coroutines_are_sampled_as_one_batch():
    sampler = engine()

    async def both():
        return await asyncio.gather(sampler.sample(request(key=(1,))), sampler.sample(request(key=(2,))))

    first, second = run(both(), sampler)
    assert ids_of(first) == ids_of(engine().generate([request(key=(1,))])[0])
    assert ids_of(second) == ids_of(engine().generate([request(key=(2,))])[0])


def test_what_prompts_have_in_common_is_computed_once(monkeypatch):
    """Equal log-probs, from fewer tokens: a board with eight proposals is one stem."""
    player = engine()
    boards = ["#.#\n@.$\n...\n.#.", "##.\n.$@\n.#.\n..."]
    texts = [f"{board}\ntool:{advice}" for board in boards for advice in ("R", "RR", "UDLR", "", "L", "DD")]
    requests = [request(text, n=2, key=(i,)) for i, text in enumerate(texts)]
    computed, model = [], player._models["p"]
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda **k: computed.append(k["input_ids"].numel()) or forward(**k))
    answers = player.generate(requests)
    assert sum(computed[:2]) < sum(len(one.prompt.ids) for one in requests) / 2
    for one, completions in zip(requests, answers, strict=True):
        for completion in completions:
            again = player.logps("p", one.prompt, completion, one.sampling.temperature)
            assert completion.logps == pytest.approx(again, abs=1e-5)


def test_stems():
    a, b = [1, 2, 3, 4, 5, 6], [9, 9, 9, 9]
    assert stems_of([[*a, 7], [*a, 8, 8], b]) == ([a, b[:-1]], [0, 0, 1])
    assert stems_of([[1, 2, 3, 4], [1, 5, 6, 7]]) == ([[1, 2, 3], [1, 5, 6]], [0, 1])  # too little in common
    assert stems_of([[1, 2, 3], [1, 2, 3, 4]]) == ([[1, 2]], [0, 0])
