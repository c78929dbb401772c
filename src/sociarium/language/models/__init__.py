"""Calls of language models: configured, limited, paid for, recorded and replayed."""
