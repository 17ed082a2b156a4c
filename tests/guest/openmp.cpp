// OpenMP: loops, reductions, tasks, nesting, barriers, critical and single sections.
// SPDX-License-Identifier: MIT
#include <omp.h>

#include <cstdio>
#include <vector>

static long fibonacci(int n) {
  if (n < 2) return n;
  long a = 0, b = 0;
#pragma omp task shared(a)
  a = fibonacci(n - 1);
#pragma omp task shared(b)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

int main() {
  omp_set_num_threads(4);
  std::vector<double> values(100000);
  double sum = 0;
#pragma omp parallel for
  for (int i = 0; i < 100000; ++i) values[i] = i * 0.5;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 100)
  for (int i = 0; i < 100000; ++i) sum += values[i];
  std::printf("%.1f\n", sum);
  long result = 0;
#pragma omp parallel
#pragma omp single
  result = fibonacci(12);
  std::printf("%ld\n", result);
  int counter = 0, phases = 0;
#pragma omp parallel num_threads(6)
  {
    for (int i = 0; i < 20; ++i) {
#pragma omp critical
      ++counter;
#pragma omp barrier
#pragma omp single
      if (counter == 6 * (i + 1)) ++phases;
    }
  }
  std::printf("%d %d\n", counter, phases);
  omp_set_max_active_levels(2);
  long nested = 0;
#pragma omp parallel num_threads(2) reduction(+ : nested)
  {
#pragma omp parallel for num_threads(3) reduction(+ : nested)
    for (int i = 0; i < 30; ++i) nested += i;
  }
  std::printf("%ld\n", nested);
  int ordered_sum = 0;
#pragma omp parallel for ordered
  for (int i = 0; i < 50; ++i) {
#pragma omp ordered
    ordered_sum = ordered_sum * 3 % 10007 + i;
  }
  std::printf("%d\n", ordered_sum);
  return 0;
}
