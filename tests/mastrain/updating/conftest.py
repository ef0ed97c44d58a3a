import pytest
from update_batches import near, ragged_rows, tiny_model
from update_steps import FREE

from mastrain.nano import nano_tokenizer
from mastrain.update_settings import UpdateSettings
from mastrain.updater import Updater


@pytest.fixture
def updater(tmp_path):
    def make(model=None, **settings):
        settings = {"max_grad_norm": FREE, "learning_rate": 1e-2, **settings}
        return Updater(model or tiny_model(), nano_tokenizer(), UpdateSettings(**settings), tmp_path)

    return make


@pytest.fixture(scope="module")
def rows():
    shape = ((5, (3, 1, 4)), (9, (2, 5)), (2, (6, 5)), (12, (1, 1, 2)))
    return near(tiny_model(), ragged_rows(shape))
