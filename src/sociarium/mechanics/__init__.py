"""Shared physics of grid worlds: pure functions on arrays, written once, true at any size.

Cells are flat, row by row; the number after the last cell means nowhere (a player out of play).
Where a mechanic has two bodies, `FEW` decides: comparisons between players up to it, cell-wise
scatter above. Both return the same bits.
"""
