"""The suite v1 and a tiny one of it, played into a folder."""

import asyncio

from masgym.suite import run_suite
from masgym.suites import load_suite

SUITE = load_suite("v1")


def play(folder, agent, suite=SUITE, **options):
    return asyncio.run(run_suite(suite, {"*": agent}, {"*": "x"}, folder, **options))
