"""Whether JSON values are a report's (`masgym.report.to_json`): every field of its kind and range."""

from collections.abc import Mapping
from typing import Any

from masgym.errors import BadFile
from masgym.types import value

_MOST = 1e30  # of any number: sums over a report are finite
_NEAR = 1e-9  # reports of older versions have limits that rounding took past the mean


@value
class _Number:
    """What a field may be."""

    least: float
    most: float = _MOST
    whole: bool = False
    absent: bool = False  # None, where there was nothing to average

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {self.least:g} to {self.most:g}{' or null' if self.absent else ''}"

    def holds(self, given: Any) -> bool:
        if given is None:
            return self.absent
        kinds = int if self.whole else int | float
        return isinstance(given, kinds) and not isinstance(given, bool) and self.least <= given <= self.most


_COUNT, _SIZE = _Number(least=0, whole=True), _Number(least=1, whole=True)
_ANY, _AMOUNT, _SHARE = _Number(least=-_MOST), _Number(least=0), _Number(least=0, most=1)
_MEAN = _Number(least=0, absent=True)
_ESTIMATE = dict.fromkeys(("low", "mean", "high"), _SHARE)
_LEVEL = {"success": _ESTIMATE, "tasks": _SIZE, "episodes": _SIZE}
_REPORT: Mapping[str, Any] = {  # a number, the fields of an object, or [what each value of an object is]
    "success": _ESTIMATE,
    "pass_at_k": [_ESTIMATE],
    "episodes": _SIZE,
    "tasks": _SIZE,
    "turns_to_solve": _MEAN,
    "returns": _ANY,
    "malformed_rate": _SHARE,
    "malformed_reasons": [_COUNT],
    "cut_rate": _SHARE,
    "tokens_per_episode": _AMOUNT,
    "terms": [_ANY],
    "by_level": [_LEVEL],
    "failures": [_COUNT],
    "cost": {
        **dict.fromkeys(("C_tok", "C_call", "C_tool", "prompt_tokens"), _COUNT),
        **{"U_tok": _MEAN, "K_e": _AMOUNT, "reply_tokens": _AMOUNT},
    },
}


def check_report(data: Any) -> None:
    """Raises BadFile, which names the field, for what is none. What else the object holds is not looked at."""
    known = {name: data[name] for name in _REPORT if name in data} if isinstance(data, dict) else data
    _check(known, _REPORT, "")


def _check(found: Any, wanted: Any, where: str) -> None:
    if isinstance(wanted, _Number):
        if not wanted.holds(found):
            raise BadFile(f"this is no report: field {where!r} is {repr(found)[:80]}; {wanted} was expected.")
        return
    if not isinstance(found, dict):
        raise BadFile(f"this is no report: {where or 'it'} is {repr(found)[:80]}; an object was expected.")
    there: dict[str, Any] = found
    fields = dict.fromkeys(there, wanted[0]) if isinstance(wanted, list) else wanted
    if odd := fields.keys() ^ there.keys():
        names = ", ".join(sorted(odd))[:200]
        raise BadFile(f"this is no report: in {where or 'it'} the fields {names} are missing or unknown.")
    for name, kind in fields.items():
        _check(there[name], kind, f"{where}.{name}" if where else name)
    if wanted is _ESTIMATE and not there["low"] - _NEAR <= there["mean"] <= there["high"] + _NEAR:
        raise BadFile(f"this is no report: {where} is {there}; low <= mean <= high was expected.")
