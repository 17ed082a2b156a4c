"""Programs started as child processes, the directories that they write, and the machine that they run on."""
# SPDX-License-Identifier: MIT
