"""Metrics and experiments over question sets.

``read_dataset`` recognises a folder of questions with what they are asked of; ``run`` fills a knowledge base from it,
builds the methods and measures them; ``Experiment`` prints, saves and compares.
"""

from __future__ import annotations

from kgrag.evaluation.datasets import Dataset, Question, read_dataset
from kgrag.evaluation.experiment_report import Experiment
from kgrag.evaluation.experiments import evaluate, prepare, run

__all__ = ["Dataset", "Experiment", "Question", "evaluate", "prepare", "read_dataset", "run"]
