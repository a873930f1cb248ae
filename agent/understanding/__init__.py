"""Read messages with classifiers that learned from labelled sentences: `fixtures/understanding/*.jsonl`.

`classifier.py` is what runs, in plain Python; `training.py` makes its weights and needs scikit-learn, a development package.
"""

from typing import Final

HARMLESS: Final = "none"
"""The label of a sentence that is no emergency."""
URGENT: Final = "urgent"
"""The label of the classifier "urgency"."""
PRODUCT: Final = "product"
"""The label, of the classifier "subject", of what is about products, branches and the customer's own affairs."""
HEALTH: Final = "health"
"""The label, of the classifier "subject", of a general question about health or the use of medicines."""
