"""Filters over regions: the parsed input of a node, and what it selects.

``label`` and the names of recognise nodes (that node's answer) are text, ``confidence`` and ``area`` (share of the
frame) are numbers. A region that a recogniser has not seen has no answer: it equals nothing. ``zone`` equals every zone
that the region is in.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Value = str | float
Facts = Mapping[str, str | float | tuple[str, ...] | None]
"""The words for a region; a tuple: several things at once."""
Comparator = Literal["==", "!=", "<", "<=", ">", ">="]

ZONE = "zone"
TEXT_FIELDS = ("label", ZONE)
NUMBER_FIELDS = ("confidence", "area")
KEYWORDS = ("and", "or", "not", "in")
WORD = r"[^\W\d][\w.-]*"

_COMPARE: Mapping[str, Callable[[Value, Value], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Compare:
    """``field op value``."""

    field: str
    op: Comparator
    value: Value

    def matches(self, facts: Facts) -> bool:
        """Whether the object described by ``facts`` passes; without a fact only ``!=`` does."""
        fact = facts.get(self.field)
        if isinstance(fact, tuple):
            return (self.value in fact) == (self.op == "==")
        return self.op == "!=" if fact is None else _COMPARE[self.op](fact, self.value)


@dataclass(frozen=True, slots=True)
class Not:
    """``not term``."""

    term: Expr

    def matches(self, facts: Facts) -> bool:
        return not self.term.matches(facts)


@dataclass(frozen=True, slots=True)
class And:
    """``term and term …``, two or more."""

    terms: tuple[Expr, ...]

    def matches(self, facts: Facts) -> bool:
        return all(term.matches(facts) for term in self.terms)


@dataclass(frozen=True, slots=True)
class Or:
    """``term or term …``, two or more."""

    terms: tuple[Expr, ...]

    def matches(self, facts: Facts) -> bool:
        return any(term.matches(facts) for term in self.terms)


Expr = Compare | Not | And | Or


@dataclass(frozen=True, slots=True)
class Selection:
    """A node's input: those regions of node ``node`` that pass ``where``."""

    node: str
    where: Expr | None = None


def leaves(expr: Expr | None) -> Iterator[Compare]:
    """All comparisons of an expression, left to right."""
    match expr:
        case Compare():
            yield expr
        case Not(term):
            yield from leaves(term)
        case And(terms) | Or(terms):
            for term in terms:
                yield from leaves(term)
