"""Commons in plain Python, with real numbers, and the users that its source describes."""

from fractions import Fraction


class PlainCommons:
    def __init__(
        self, players=8, start=60, least=10, regrowth=Fraction(35, 100), capacity=100, most=3
    ):
        self.stock, self.alive, self.got = Fraction(start), start >= least, [Fraction(0)] * players
        self.least, self.regrowth, self.capacity, self.most = least, regrowth, capacity, most

    def step(self, asked):
        total = sum(asked)
        scarce = total > self.stock
        self.got = [Fraction(n) * self.stock / total if scarce else Fraction(n) for n in asked]
        self.stock -= sum(self.got)
        self.alive = self.alive and self.stock >= self.least
        if self.alive:
            free = 1 - self.stock / self.capacity
            self.stock = min(Fraction(self.capacity), self.stock * (1 + self.regrowth * free))
            self.stock = Fraction(float(self.stock))  # or the fractions grow without end
        return self.got


class PlainUsers:
    """Sustainable, greedy, reciprocator, deterrable and enforcer, by their first letters."""

    def __init__(self, kinds, sanctions=True):
        self.kinds, self.sanctions = kinds, sanctions
        self.afraid, self.last = [0] * len(kinds), [0] * len(kinds)

    def asked(self, stock):
        fair = int(round(float(stock), 2) >= 30)
        return [self._asks(seat, kind, fair) for seat, kind in enumerate(self.kinds)]

    def _asks(self, seat, kind, fair):
        others = (sum(self.last) - self.last[seat]) / (len(self.kinds) - 1)
        return {
            "s": fair,
            "e": fair,
            "g": 3,
            "r": 3 if others > 1.5 else fair,
            "d": 1 if self.afraid[seat] else 3,
        }[kind]

    def punished(self):
        """Whom the enforcers punish for the last round, one after the other."""
        found = []
        for seat, kind in enumerate(self.kinds):
            others = [n for n in range(len(self.kinds)) if n != seat]
            worst = max(others, key=lambda n: (self.last[n], -n))
            if kind == "e" and self.sanctions and self.last[worst] > 1:
                found.append(worst)
        return found

    def after(self, got, punished):
        self.last = got
        self.afraid = [
            5 if seat in punished else max(0, left - 1) for seat, left in enumerate(self.afraid)
        ]


def played(kinds, rounds=60, sanctions=True):
    """Welfare, the round in which the stock died, sanctions, and the stock after each round."""
    world, users = PlainCommons(len(kinds)), PlainUsers(kinds, sanctions)
    earned, died, many, stocks = 0.0, None, 0, []
    for number in range(rounds):
        punished, lived = users.punished(), world.alive
        got = world.step(users.asked(world.stock))
        earned += float(sum(got)) - 4 * len(punished)
        died = number if lived and not world.alive else died
        many += len(punished)
        users.after(got, punished)
        stocks.append(float(world.stock))
    return earned + float(world.stock), died, many, stocks
