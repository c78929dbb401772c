"""Scripted citizens: rules of thumb on one's own view, the same for every seat."""
