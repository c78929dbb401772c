"""Games in one table, in plain Python: payoffs by formula, and the players that meet in them."""


def prisoners_dilemma(mine, other):
    return {(1, 1): 2, (1, 0): 0, (0, 1): 3, (0, 0): 1}[mine, other]


def public_goods(seat, moves):
    return (1 - moves[seat]) + 1.5 * sum(moves) / 3


def travellers_dilemma(mine, other):
    low = 2 + min(mine, other)
    return low + 2 * ((mine < other) - (mine > other))


def trust(seat, moves):
    return {(1, 1): (10, 10), (1, 0): (0, 20), (0, 1): (6, 2), (0, 0): (4, 4)}[moves][seat]


PAID = {
    "prisoners_dilemma": lambda seat, moves: prisoners_dilemma(moves[seat], moves[1 - seat]),
    "public_goods": public_goods,
    "travellers_dilemma": lambda seat, moves: travellers_dilemma(moves[seat], moves[1 - seat]),
    "trust": trust,
}
STRATEGIES = {  # the move after what oneself and the other played, newest last
    "cooperator": lambda mine, theirs: 1,
    "defector": lambda mine, theirs: 0,
    "tit_for_tat": lambda mine, theirs: theirs[-1] if theirs else 1,
    "grim": lambda mine, theirs: int(0 not in theirs),
    "win_stay": lambda mine, theirs: 1 if not mine else mine[-1] if theirs[-1] else 1 - mine[-1],
}


def repeated(one, other, rounds=15, continues=0.8):
    """What the first earns in a prisoner's dilemma whose rounds are weighted."""
    mine, theirs, earned = [], [], 0.0
    for number in range(rounds):
        moves = STRATEGIES[one](mine, theirs), STRATEGIES[other](theirs, mine)
        last = number == rounds - 1
        earned += prisoners_dilemma(*moves) * continues**number * (1 if last else 1 - continues)
        mine, theirs = [*mine, moves[0]], [*theirs, moves[1]]
    return earned
