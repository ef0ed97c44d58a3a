"""The families of the shipped tasks of medium and hard level."""

from masgym.domains.code.families import dynamic, graphs, lists, machines, numbers, scripts, texts
from masgym.domains.code.families.template import Family

FAMILIES: tuple[Family, ...] = (
    *texts.FAMILIES,
    *numbers.FAMILIES,
    *lists.FAMILIES,
    *scripts.FAMILIES,
    *graphs.FAMILIES,
    *dynamic.FAMILIES,
    *machines.FAMILIES,
)
