import pytest

import masgym


@pytest.fixture(params=["sokoban", "plan_path"])
def game(request):
    return masgym.game(request.param, style="compact")
