"""Social rules that compose with any world: stages, social actions, shared reward and sight."""
