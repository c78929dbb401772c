"""Kitchens: worlds of teamwork, in which everybody earns what is served."""
