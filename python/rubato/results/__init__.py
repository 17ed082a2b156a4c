"""What runs have left: read, compared, concluded from and handed on."""
# SPDX-License-Identifier: MIT
