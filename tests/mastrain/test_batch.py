import pytest
import torch
from update_batches import make_row, ragged_rows

from mastrain.batch import micro_batches, pad

A, B = (5, 6, 7), (8,)


def test_pad_puts_rows_of_a_prompt_together():
    rows = [
        make_row(A, (2, 1), (-0.1, -0.2), advantage=1.0, weight=0.25),
        make_row(B, (3,), (-0.3,), advantage=2.0, weight=0.5),
        make_row(A, (4, 4, 1), (-0.4, -0.5, -0.6), advantage=3.0, weight=0.25),
    ]
    batch = pad(rows, 0)
    assert batch.prompt_ids.tolist() == [[5, 6, 7], [0, 0, 8]]
    assert batch.prompt_mask.tolist() == [[1, 1, 1], [0, 0, 1]]
    assert batch.prompt_of.tolist() == [0, 0, 1]
    assert batch.completion_ids.tolist() == [[2, 1, 0], [4, 4, 1], [3, 0, 0]]
    assert batch.completion_mask.tolist() == [[1, 1, 0], [1, 1, 1], [1, 0, 0]]
    expected = torch.tensor([[-0.1, -0.2, 0], [-0.4, -0.5, -0.6], [-0.3, 0, 0]])
    torch.testing.assert_close(batch.old_logps, expected)
    assert batch.advantages.tolist() == [1.0, 3.0, 2.0]
    assert batch.weights.tolist() == [0.25, 0.25, 0.5]


def test_a_pad_id_among_the_tokens_stays_a_token():
    batch = pad([make_row((0, 5), (0, 1), (-1.0, -2.0)), make_row((5,), (1,), (-1.0,))], 0)
    assert batch.prompt_mask.tolist() == [[1, 1], [0, 1]]
    assert batch.completion_mask.tolist() == [[1, 1], [1, 0]]


def test_token_weights_add_up_to_the_row_weights():
    batch = pad(ragged_rows(), 0)
    torch.testing.assert_close(batch.token_weights.sum(-1), batch.weights)
    assert (batch.token_weights[batch.completion_mask == 0] == 0).all()


@pytest.mark.parametrize("max_tokens", [1, 20, 30, 10_000])
def test_micro_batches_keep_every_row_once_and_prompts_whole(max_tokens):
    rows = ragged_rows(((5, (3, 1, 4)), (9, (2,)), (2, (6, 5)), (5, (1, 1)), (3, (2, 2, 2))))
    cut = micro_batches(rows, 0, max_tokens)
    held = [tokens for batch in cut for tokens in _rows_of(batch)]
    assert sorted(held) == sorted((row.prompt.ids, row.completion.ids) for row in rows)
    assert sum(len(batch.prompt_ids) for batch in cut) == len({row.prompt.ids for row in rows})
    for batch in cut:
        fits = batch.prompt_ids.numel() + batch.completion_ids.numel() <= max_tokens
        assert fits or len(batch.prompt_ids) == 1


def test_micro_batches_are_as_few_as_asked_for():
    rows = ragged_rows()
    assert len(micro_batches(rows, 0, 10_000)) == 1
    assert len(micro_batches(rows, 0, 1)) == 3
    assert micro_batches([], 0, 10) == ()


def _rows_of(batch):
    for row in range(len(batch)):
        p = batch.prompt_of[row]
        prompt = batch.prompt_ids[p][batch.prompt_mask[p] == 1]
        completion = batch.completion_ids[row][batch.completion_mask[row] == 1]
        yield tuple(prompt.tolist()), tuple(completion.tolist())
