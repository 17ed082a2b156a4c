// An exception without a handler.
// SPDX-License-Identifier: MIT
int main() { throw 1; }
