"""Declared names as they are said."""


def spoken(name: str) -> str:
    """A declared name in plain words."""
    return name.replace("_", " ")
