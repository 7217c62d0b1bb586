"""Arguments that go together: shapes of products, indices that fit, sizes that divide.

A recipe takes a Writer and returns the text of some parameters by name; arguments.py makes up the
others from their types. Without a recipe, tensors broadcast and dims fit the first tensor.
"""

from tests.differential.recipes import indexing, others, products, shapes  # noqa: F401
from tests.differential.recipes.common import RECIPES  # noqa: F401
