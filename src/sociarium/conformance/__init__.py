"""The tests that every environment must pass, ours and other people's."""
