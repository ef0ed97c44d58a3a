"""Public data sets as the project's own task files (`masgym import`): one small file for each family of sets."""

from masgym.importers.sets import SETS, ImportSet
from masgym.importers.write import Imported, import_set

__all__ = ["SETS", "ImportSet", "Imported", "import_set"]
