"""What there is: the built programs, the applications, what the simulator says of its parameters."""
# SPDX-License-Identifier: MIT
