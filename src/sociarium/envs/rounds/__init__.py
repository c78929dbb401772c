"""Games in rounds, with neither board nor walking: a first step for who studies decisions."""
