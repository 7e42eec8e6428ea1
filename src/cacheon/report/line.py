"""A line before it is drawn."""

Line = list[tuple[str, str]]
"""Spans of (style, text). Who draws the line decides whether the styles show. Text that
comes from a bundle has passed `one_line` before it becomes part of one."""
