// The algorithms that other libraries have, on the task model: a loop, a sum, a sort, and a task that goes on
// after one. Prints "500 primes, the last is 3571"; on every engine.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include "rubato/algorithms.hpp"
#include "rubato/rubato.hpp"

using rubato::blocked_range, rubato::parallel_for, rubato::parallel_reduce, rubato::parallel_sort,
    rubato::then;

std::vector<std::uint8_t> is_prime(3572);
std::vector<std::uint32_t> primes;

void test(std::uint32_t number) {
  bool prime = number > 1;
  for (std::uint32_t i = 2; prime && i * i <= number; ++i) prime = number % i != 0;
  is_prime[number] = prime;
}

/// In a task nothing waits: the continuation is the last argument.
void show_when_sorted() {
  parallel_sort(primes.begin(), primes.end(), std::greater<>(),
                then([] { std::printf("%zu primes, the last is %u\n", primes.size(), primes.front()); }));
}

int main() {
  parallel_for(std::uint32_t{0}, static_cast<std::uint32_t>(is_prime.size()), test);
  const auto count = parallel_reduce(
      blocked_range(is_prime.begin(), is_prime.end()), std::size_t{0},
      [](const auto& part, std::size_t sum) {
        for (const std::uint8_t one : part) sum += one;
        return sum;
      },
      std::plus<>());
  primes.reserve(count);
  for (std::uint32_t n = 0; n < is_prime.size(); ++n)
    if (is_prime[n]) primes.push_back(n);
  rubato::create<rubato::nonspec>(show_when_sorted, {});
  rubato::run();
  return primes.size() == count ? 0 : 1;
}
