"""Percepts, rules and menus in words: for language models and for people, text in and text out."""
