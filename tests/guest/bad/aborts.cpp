// An exception that nobody catches.
// SPDX-License-Identifier: MIT
int main() { throw 1; }
