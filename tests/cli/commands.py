"""Runs a command in this process."""

import json

from masgym.cli import main


def run(capsys, *words):
    """(status, standard output, standard error)"""
    try:
        status = main(words)
    except SystemExit as error:
        status = error.code
    told = capsys.readouterr()
    return status, told.out, told.err


def as_json(capsys, *words):
    status, out, err = run(capsys, *words, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)
