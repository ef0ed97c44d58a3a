"""Plan-Path: lead an agent over a grid of free cells and walls to its goal."""

from masgym.domains.plan_path.domain import PlanPath
from masgym.domains.plan_path.generator import LEVELS
from masgym.domains.plan_path.grid import Level, World, parse_level

__all__ = ["LEVELS", "Level", "PlanPath", "World", "parse_level"]
