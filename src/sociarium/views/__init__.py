"""Pictures, films and text of a scene. Drawing is keyed by tile name, so any world can be drawn."""
