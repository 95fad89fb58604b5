"""Errors of the package."""

from __future__ import annotations

import re


class InputError(ValueError):
    """A config, a table or an argument that makes no sense.

    `messages` has everything that is wrong, each `file:line:column: key: what is wrong, what was
    expected`.
    """

    def __init__(self, messages: list[str] | str):
        texts = [messages] if isinstance(messages, str) else messages
        self.messages = [re.sub("^--set ", "changes: ", text) for text in texts]
        super().__init__("\n".join(self.messages))
