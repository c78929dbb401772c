"""From what is seen and remembered to the next step: ways, aims, and skills made of them."""
