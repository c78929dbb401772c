"""A metric of episodes."""


def steps_walked(episode):
    """Actions that were steps, of all players."""
    return int(((episode.actions >= 1) & (episode.actions <= 4)).sum())
