"""What is counted: pure functions over the record of play."""
