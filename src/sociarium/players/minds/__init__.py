"""Minds: players that decide by asking language models."""
