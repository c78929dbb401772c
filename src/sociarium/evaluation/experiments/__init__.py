"""Experiments: a design of conditions, line-ups and episodes, played into a table of payoffs."""

from sociarium.evaluation.experiments.design import Condition as Condition
from sociarium.evaluation.experiments.design import Design as Design
from sociarium.evaluation.experiments.design import LineUp as LineUp
from sociarium.evaluation.experiments.design import grid as grid
from sociarium.evaluation.experiments.design import groups as groups
from sociarium.evaluation.experiments.design import mixtures as mixtures
from sociarium.evaluation.experiments.design import pairings as pairings
from sociarium.evaluation.experiments.execution import play as play
from sociarium.evaluation.experiments.table import PayoffTable as PayoffTable
