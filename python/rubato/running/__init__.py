"""One run: what it is asked to be, and who runs it."""
# SPDX-License-Identifier: MIT
