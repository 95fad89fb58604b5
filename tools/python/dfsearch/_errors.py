"""Errors of the package."""

from __future__ import annotations

import re


def printable(text: str) -> str:
    """Without the control characters of names and files, which steer terminals; lines stay."""
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", lambda match: f"\\x{ord(match[0]):02x}", text)


def one_line(text: str) -> str:
    return printable(text).replace("\n", r"\n")


class InputError(ValueError):
    """A config, a table or an argument that makes no sense.

    `messages` has everything that is wrong, each `file:line:column: key: what is wrong, what was
    expected`.
    """

    def __init__(self, messages: list[str] | str):
        texts = [messages] if isinstance(messages, str) else messages
        self.messages = [printable(re.sub("^--set ", "changes: ", text)) for text in texts]
        super().__init__("\n".join(self.messages))

    def __reduce__(self) -> tuple:
        return type(self), (self.messages,)
