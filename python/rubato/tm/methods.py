"""The methods of librubato_itm by name. `tests/python/test_tm_methods.py` compares them with the library's own list,
`tm/thread/algorithm_list.hpp`, which an installed package does not have.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

ALGORITHMS = ("serial", "eager", "lazy", "norec", "rtm", "tml")
#: All that RUBATO_ITM_METHOD may be.
METHODS = ("adaptive", "adaptive-all", *ALGORITHMS)
#: On every machine: no instructions for hardware transactions are needed.
SOFTWARE = tuple(name for name in ALGORITHMS if name != "rtm")
#: Transactions run beside each other in software, and log what they read.
CONCURRENT = tuple(name for name in SOFTWARE if name != "serial")
