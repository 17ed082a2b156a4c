// Containers, sorting, strings, formatted numbers both ways, allocation under stress.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

int main() {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> numbers(200000);
  for (auto& n : numbers) n = random();
  std::sort(numbers.begin(), numbers.end());
  std::printf("%llx %llx\n", static_cast<unsigned long long>(numbers.front()),
              static_cast<unsigned long long>(numbers[100000]));
  std::map<std::string, int> words;
  std::istringstream text("the quick brown fox jumps over the lazy dog the end");
  for (std::string word; text >> word;) ++words[word];
  for (const auto& [word, count] : words) std::printf("%s %d\n", word.c_str(), count);
  std::unordered_map<int, double> table;
  for (int i = 0; i < 10000; ++i) table[i * 7919 % 10007] = std::sqrt(i);
  double sum = 0;
  for (int i = 0; i < 10007; ++i)
    if (auto found = table.find(i); found != table.end()) sum += found->second * i;
  std::printf("%.17g %a %e %g\n", sum, sum, sum, 1e-310);
  std::printf("%.3f %10.4e %g %Lg\n", std::exp(1.0), std::sin(1e6), std::pow(2, 0.5), 1.0L / 3);
  int a = 0, b = 0;
  double d = 0;
  char name[20];
  std::printf("%d ", std::sscanf("12 abc 0x1f 2.5e3", "%d %19s %x %lf", &a, name, &b, &d));
  std::printf("%d %s %d %g\n", a, name, b, d);

  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  std::uint64_t checksum = 0;
  for (int i = 0; i < 20000; ++i) {
    if (blocks.size() > 500 || (!blocks.empty() && random() % 3 == 0)) {
      const std::size_t k = random() % blocks.size();
      for (std::size_t j = 0; j < blocks[k].second; j += 97) checksum = checksum * 31 + blocks[k].first[j];
      std::free(blocks[k].first);
      blocks[k] = blocks.back();
      blocks.pop_back();
    } else {
      const std::size_t bytes = 1 + random() % (i % 100 == 0 ? 1000000 : 5000);
      auto* block = static_cast<unsigned char*>(std::malloc(bytes));
      std::memset(block, i & 255, bytes);
      if (random() % 4 == 0)
        block = static_cast<unsigned char*>(std::realloc(block, bytes * 2)),
        std::memset(block + bytes, 9, bytes);
      blocks.emplace_back(block, bytes);
    }
  }
  std::printf("%llu\n", static_cast<unsigned long long>(checksum));
  return 0;
}
