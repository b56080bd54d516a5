"""Parses the inputs of nodes: ``detect[label in (car, truck) and confidence >= 0.5]``.

    input       = NODE [ "[" expression "]" ]
    expression  = conjunction { "or" conjunction }
    conjunction = term { "and" term }
    term        = "not" term | "(" expression ")" | FIELD comparison
    comparison  = ("==" | "!=" | "<" | "<=" | ">" | ">=") VALUE | ["not"] "in" "(" VALUE { "," VALUE } ")"

Operators bind as in Python. Text is a bare word or quoted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import get_args

from pipelines.query.filters import (
    KEYWORDS,
    NUMBER_FIELDS,
    TEXT_FIELDS,
    WORD,
    And,
    Comparator,
    Compare,
    Expr,
    Not,
    Or,
    Selection,
    Value,
)
from serving.common.explain import choices

MAX_DEPTH = 50

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])"
_TOKEN = re.compile(
    rf"""\s*(?:(?P<number>{_NUMBER})|(?P<word>{WORD})|(?P<quoted>'[^']*'|"[^"]*")|(?P<sign>[=!<>]=|[<>()\[\],]))"""
)


class FilterError(ValueError):
    """An input cannot be parsed; ``position`` counts characters from 1."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} (at character {position})")
        self.position = position


class UnknownField(FilterError):
    """A filter asks for something that objects do not have."""

    def __init__(self, field: str, known: Collection[str], position: int) -> None:
        super().__init__(f"unknown field {field!r}{choices(field, known)}", position)
        self.field = field


def source_name(text: str) -> str | None:
    """The node that an input begins with, whatever follows."""
    found = re.match(rf"\s*({WORD})", text)
    return found[1] if found else None


def parse_selection(text: str, recognisers: Collection[str] | None = None) -> Selection:
    """Parse a node's input; raises ``FilterError``.

    ``recognisers`` are the nodes whose answer a filter may ask for; None lets pass any name.
    """
    parser = _Parser(text, recognisers)
    node = parser.take("word", "the name of a node").text
    where = None
    if parser.accept("["):
        where = parser.expression(depth=0)
        parser.expect("]")
    parser.expect_end()
    return Selection(node, where)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else f"{self.text!r}"


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            hint = "; write '==' to compare" if text[at] == "=" else ""
            raise FilterError(f"{text[at]!r} is not understood{hint}", at + 1)
        kind = str(found.lastgroup)
        yield _Token(kind, found[kind], found.start(kind) + 1)
        at = found.end()
    yield _Token("end", "", len(text) + 1)


class _Parser:
    """Recursive descent: one method per rule of the grammar above."""

    def __init__(self, text: str, recognisers: Collection[str] | None) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._fields = None if recognisers is None else (*TEXT_FIELDS, *recognisers, *NUMBER_FIELDS)

    def expression(self, depth: int) -> Expr:
        terms = [self._conjunction(depth)]
        while self.accept("or"):
            terms.append(self._conjunction(depth))
        return terms[0] if len(terms) == 1 else Or(tuple(terms))

    def _conjunction(self, depth: int) -> Expr:
        terms = [self._term(depth)]
        while self.accept("and"):
            terms.append(self._term(depth))
        return terms[0] if len(terms) == 1 else And(tuple(terms))

    def _term(self, depth: int) -> Expr:
        if depth == MAX_DEPTH:
            raise FilterError(f"nested deeper than {MAX_DEPTH}", self._next.position)
        if self.accept("not"):
            return Not(self._term(depth + 1))
        if self.accept("("):
            inner = self.expression(depth + 1)
            self.expect(")")
            return inner
        return self._comparison()

    def _comparison(self) -> Expr:
        field = self._field()
        if self.accept("not"):
            self.expect("in")
            return Not(self._among(field))
        if self.accept("in"):
            return self._among(field)
        token = self._next
        op = next((op for op in get_args(Comparator) if self.accept(op)), None)
        if op is None:
            raise FilterError(f"expected a comparison or 'in' after {field!r}, found {token}", token.position)
        if field not in NUMBER_FIELDS and op not in ("==", "!="):
            raise FilterError(f"{field!r} is a name: compare it by ==, != or in", token.position)
        return Compare(field, op, self._value(field))

    def _field(self) -> str:
        token = self.take("word", "a field")
        if self._fields is not None and token.text not in self._fields:
            raise UnknownField(token.text, self._fields, token.position)
        return token.text

    def _among(self, field: str) -> Expr:
        """``(a, b)``: one or the other."""
        self.expect("(")
        found = [Compare(field, "==", self._value(field))]
        while self.accept(",") and not self._is(")"):
            found.append(Compare(field, "==", self._value(field)))
        self.expect(")")
        return found[0] if len(found) == 1 else Or(tuple(found))

    def _value(self, field: str) -> Value:
        token = self._next
        if field in NUMBER_FIELDS:
            share = self.take("number", f"a number to compare {field!r} with").text
            if not 0 <= float(share) <= 1:
                raise FilterError(f"{field!r} is a share, 0 to 1, and never {share}", token.position)
            return float(share)
        if token.kind == "quoted":
            return self.take("quoted", "").text[1:-1]
        if token.kind == "number" or token.text in KEYWORDS:
            raise FilterError(f"{field!r} is a name: quote {token.text!r}", token.position)
        return self.take("word", f"a name to compare {field!r} with").text

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _is(self, text: str) -> bool:
        return self._next.kind in ("word", "sign") and self._next.text == text

    def accept(self, text: str) -> bool:
        if found := self._is(text):
            self._at += 1
        return found

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise FilterError(f"expected {text!r}, found {self._next}", self._next.position)

    def expect_end(self) -> None:
        if self._next.kind != "end":
            raise FilterError(f"expected the end, found {self._next}", self._next.position)

    def take(self, kind: str, what: str) -> _Token:
        token = self._next
        if token.kind != kind or (kind == "word" and token.text in KEYWORDS):
            raise FilterError(f"expected {what}, found {token}", token.position)
        self._at += 1
        return token
