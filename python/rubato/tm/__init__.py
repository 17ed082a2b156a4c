"""Transactional programs: what their objects say, and what the library measures."""
# SPDX-License-Identifier: MIT
