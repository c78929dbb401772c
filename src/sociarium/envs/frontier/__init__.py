"""The frontier: a growing world of resources, workplaces and a synthesis tree to discover."""
