"""The school of reproduction: what `bench/publications` does with the studies of bench/studies.

    school.study          what a study says: points, figures, rows with bars
    school.points         a point and its identity
    school.samples        recorded values of points, and ratios of them
    school.model          versions of the simulated chip's model
    school.store          docs/publications/NAME.json: records, what is missing or stale
    school.simulation     simulated points: side by side, until a deadline, and again for verification
    school.turns          measured points, in turns with their peers
    school.verdicts       reproduced, near, missed
    school.conclusions    figures and rows of the records
    school.documents      tables of docs/publications/NAME.md, and the overview
    school.command        the command line

A study lies in bench/studies/NAME: published.json has the published values, study.py the points and rows.
"""
# SPDX-License-Identifier: MIT
