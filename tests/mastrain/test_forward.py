import pytest
import torch
from update_batches import one_by_one, ragged_rows, tiny_model

from mastrain.batch import pad
from mastrain.forward import _lanes, token_logps

SHAPES = {
    "ragged": ((5, (3, 1, 4)), (9, (2,)), (2, (6, 5))),
    "replies share a lane": ((30, (3, 1, 4, 2)), (12, (5,)), (21, (2, 2, 3, 4, 1, 5, 2))),
    "replies fill two lanes": ((8, (5, 4, 3, 5, 2)), (3, (1,)), (5, (2, 5, 5))),
    "a lane each": ((2, (9, 4)), (1, (8, 9, 1))),
    "one token each": ((4, (1, 1, 1)), (2, (1,))),
    "one prompt, one row": ((4, (3,)),),
}


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_shared_prefixes_change_neither_loss_nor_gradients(shape, attention):
    results = {}
    for shared in (True, False):
        model = tiny_model(attention=attention)
        batch = pad(ragged_rows(shape), 0)
        logps, entropies = token_logps(model, batch, 1.3, shared_prefix=shared, entropy_grad=True)
        loss = (batch.token_weights * (batch.advantages[:, None] * logps + 0.1 * entropies)).sum()
        loss.backward()
        results[shared] = [loss, logps, entropies, *(p.grad for p in model.parameters())]
    for shared, plain in zip(results[True], results[False], strict=True):
        torch.testing.assert_close(shared, plain, atol=1e-5, rtol=1e-5)
    assert max(gradient.abs().max() for gradient in results[True][3:]) > 1e-3


@pytest.mark.parametrize("temperature", [1.0, 1.7])
@pytest.mark.parametrize("shared", [True, False])
def test_each_row_is_what_a_pass_over_it_alone_gives(shared, temperature):
    model, rows = tiny_model(), ragged_rows(SHAPES["replies share a lane"])
    batch = pad(rows, 0)
    logps, entropies = token_logps(model, batch, temperature, shared_prefix=shared)
    for r, row in enumerate(rows):
        alone, entropy = one_by_one(model, row, temperature)
        torch.testing.assert_close(logps[r, : len(alone)], alone, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(entropies[r, : len(alone)], entropy, atol=1e-5, rtol=1e-5)
        assert not logps[r, len(alone) :].any()
        assert not entropies[r, len(alone) :].any()


def test_entropies_have_a_gradient_only_where_asked_for():
    model, batch = tiny_model(), pad(ragged_rows(), 0)
    assert not token_logps(model, batch, 1.0)[1].requires_grad
    assert token_logps(model, batch, 1.0, entropy_grad=True)[1].requires_grad


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_row_has_a_place_of_its_own_beside_rows_of_its_prompt(shape):
    batch = pad(ragged_rows(shape), 0)
    if batch.completion_ids.shape[1] == 1:
        return
    lanes = _lanes(batch)
    places = list(zip(lanes.lane_of.tolist(), lanes.place_of.tolist(), strict=True))
    assert len(set(places)) == len(places) == len(batch)
    assert max(place for _, place in places) + 1 == lanes.width
    assert lanes.prompt_of[lanes.lane_of].tolist() == batch.prompt_of.tolist()
    torch.testing.assert_close(lanes.take(lanes.fill(batch.completion_ids)), batch.completion_ids)


def test_the_shapes_above_reach_both_kinds_of_lanes():
    widths = {name: _lanes(pad(ragged_rows(shape), 0)).width for name, shape in SHAPES.items() if name[:3] != "one"}
    assert widths == {"ragged": 1, "replies share a lane": 7, "replies fill two lanes": 2, "a lane each": 1}


@pytest.mark.parametrize("shared", [True, False])
def test_logits_are_made_only_where_a_token_is_predicted(shared):
    """8 rows of 4 tokens on a prompt of 20: never a logit over the prompt but its last."""
    model, sizes = tiny_model(), []
    model.lm_head.register_forward_hook(lambda module, given, made: sizes.append(made.shape[:-1].numel()))
    token_logps(model, pad(ragged_rows(((20, (4,) * 8),)), 0), 1.0, shared_prefix=shared)
    assert sum(sizes) == (1 + 8 * 3 if shared else 8 * 4)
