"""Every combination of a plan as a run."""
# SPDX-License-Identifier: MIT
