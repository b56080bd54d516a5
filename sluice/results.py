"""A result as Python programs get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from operators.wire import schema

if TYPE_CHECKING:
    from operators.frames.frame import Frame
    from serving.common.tensors import Image


class Result(schema.Result, kw_only=True, frozen=True, dict=True):
    """The objects of a sampled frame: the message of the results topic (``docs/consume-results.md``), and its picture.

    A notebook shows it with its picture, if it has one. ``msgspec.json.encode(result)`` is the message as JSON.
    """

    @classmethod
    def of(cls, message: schema.Result, frame: Frame | None = None) -> Result:
        """The message with the frame that it is about."""
        found = cls(**asdict(message))
        found.__dict__["frame_found"] = frame
        return found

    @property
    def image(self) -> Image | None:
        """The picture, height × width × 3, blue, green and red, where it was asked for and there was room for it.

        It is the result's own: draw on it as you like."""
        if "image_made" not in self.__dict__:
            frame: Frame | None = self.__dict__.pop("frame_found", None)
            self.__dict__["image_made"] = None if frame is None else frame.image.copy()
        made: Image | None = self.__dict__["image_made"]
        return made

    def __copy__(self) -> Result:
        found = self.of(self)
        found.__dict__.update(self.__dict__)
        return found

    def __reduce__(self) -> tuple[object, ...]:
        """With the picture, as deep copies and other processes want it."""
        return (*super().__reduce__(), {"image_made": self.image})

    def _repr_html_(self) -> str:
        from operators.annotate.drawing import html  # draws, which few programs want

        return html(self, self.image)
