"""Who decides: pure players run inside `scan`, others are awaited outside it."""
