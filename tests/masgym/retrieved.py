"""What the tests of retrievers share."""


def contents(result):
    assert result.outcome == "ok"
    return [found["contents"] for found in result.value["passages"]]
