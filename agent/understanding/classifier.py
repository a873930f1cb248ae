"""Score a text with a linear classifier whose weights are a text file. Pure.

The file's first line is JSON (`Header`); each further line is a feature, how rare it is (inverse document frequency) and one
weight per label, separated by tabs and sorted by feature.
"""

import math
import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from agent.understanding.features import features

FOLDER: Final = Path(__file__).parent


class Header(BaseModel):
    """What the first line of a file of weights says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: str
    """SHA-256 of the labelled sentences, in hexadecimal."""
    labels: tuple[str, ...]
    bias: tuple[float, ...]
    """For each label the score of a text without known features."""
    features: int
    """The number of further lines, so that a file that was cut off is noticed."""


class Classifier:
    """A linear classifier over features; a score above 0 speaks for its label."""

    def __init__(self, header: Header, weights: Mapping[str, Sequence[float]]) -> None:
        """Take for each feature its rarity and its weight for each label."""
        self.header = header
        self.weights = weights

    @classmethod
    def load(cls, name: str) -> "Classifier":
        """Return the classifier in `<name>.tsv` beside this module. Raises ValueError for a damaged file."""
        with (FOLDER / f"{name}.tsv").open(encoding="utf-8") as lines:
            header = Header.model_validate_json(next(lines, ""))
            weights = {}
            for line in lines:
                feature, *numbers = line.split("\t")
                if len(numbers) != 1 + len(header.labels):
                    raise ValueError(f"{name}.tsv: the line of {feature!r} has {len(numbers)} numbers")
                weights[feature] = tuple(map(float, numbers))
        if len(weights) != header.features:
            raise ValueError(f"{name}.tsv: {len(weights)} features, not {header.features}")
        return cls(header, weights)

    def scores(self, text: str) -> Mapping[str, float]:
        """Return the score of each label."""
        counted, weights_of = features(text), self.weights.get
        known = [(row, count) for feature, count in counted.items() if (row := weights_of(feature))]
        values = [row[0] if count == 1 else row[0] * (1 + math.log(count)) for row, count in known]
        length = math.hypot(*values) or 1.0
        columns = [*zip(*(row for row, _ in known), strict=True)][1:] or [()] * len(self.header.labels)
        return {
            label: sum(map(operator.mul, values, column)) / length + bias
            for label, column, bias in zip(self.header.labels, columns, self.header.bias, strict=True)
        }
