from shared_prefix import ratio


def test_shared_prefixes_cost_less(capsys):
    """8 candidates on a prompt of 96: the plain path runs 832 tokens, the shared one 152."""
    assert ratio(prompts=2, candidates=8, prompt=96, reply=8, repeats=3) > 1.5
    assert "ratio" in capsys.readouterr().out
