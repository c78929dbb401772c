"""Sequential social dilemmas: small grid worlds where private and common gain part ways."""
