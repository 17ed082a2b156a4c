// A task whose locale is an empty handle; with the argument `remove` also what must be refused.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/rubato.hpp"

int main(int argc, char**) {
  rubato::create<rubato::nonspec>([] { std::puts("ran"); }, {.at = 0, .on = rubato::resource<int>{}});
  rubato::run();
  if (argc > 1) rubato::remove(rubato::resource<int>{});
}
