// OpenMP beyond loops: dependent tasks, task loops, nested teams, locks, atomics, copies in and out, own
// reductions.
// SPDX-License-Identifier: MIT
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <vector>

static int persistent = 3;
#pragma omp threadprivate(persistent)

struct Extent {
  int low = 1 << 30, high = -(1 << 30);
};
#pragma omp declare reduction(join:Extent : omp_out.low = std::min(omp_out.low, omp_in.low), \
                                  omp_out.high = std::max(omp_out.high, omp_in.high))

int main() {
  omp_set_dynamic(0);
  omp_set_num_threads(5);

  int chain[4] = {1, 0, 0, 0};
#pragma omp parallel
#pragma omp single
  {
#pragma omp task depend(out : chain[1])
    chain[1] = chain[0] + 1;
#pragma omp task depend(in : chain[1]) depend(out : chain[2])
    chain[2] = chain[1] * 10;
#pragma omp task depend(in : chain[1], chain[2]) depend(out : chain[3])
    chain[3] = chain[1] + chain[2];
  }
  std::printf("%d %d %d\n", chain[1], chain[2], chain[3]);

  std::vector<int> marks(300);
  long group = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskgroup
    {
#pragma omp taskloop grainsize(20)
      for (int i = 0; i < 300; ++i) marks[static_cast<std::size_t>(i)] = i;
    }
    for (const int m : marks) group += m;
  }
  std::printf("%ld\n", group);

  omp_set_max_active_levels(3);
  int leaves = 0, deepest = 0;
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
  {
#pragma omp atomic
    ++leaves;
#pragma omp critical(depth)
    deepest = std::max(deepest, omp_get_level());
  }
  std::printf("%d %d\n", leaves, deepest);

  long captured = 0, counter = 0;
#pragma omp parallel for reduction(+ : captured) schedule(static, 3)
  for (int i = 0; i < 200; ++i) {
    long mine;
#pragma omp atomic capture
    mine = counter++;
    captured += mine;
  }
  std::printf("%ld %ld\n", counter, captured);

  omp_lock_t lock;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
  long locked = 0, nested = 0;
#pragma omp parallel
  for (int i = 0; i < 40; ++i) {
    omp_set_lock(&lock);
    ++locked;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    ++nested;
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
  }
  std::printf("%ld %ld\n", locked, nested);

  persistent = 11;
  int agreed = 0, last = -1, first = 100;
#pragma omp parallel copyin(persistent) reduction(+ : agreed)
  agreed += persistent == 11;
#pragma omp parallel for lastprivate(last) firstprivate(first) schedule(guided)
  for (int i = 0; i < 77; ++i) last = first + i;
  std::printf("%d %d\n", agreed, last);

  double broadcast = 0, received = 0;
#pragma omp parallel private(broadcast) reduction(+ : received)
  {
#pragma omp single copyprivate(broadcast)
    broadcast = 2.5;
    received += broadcast;
  }
  std::printf("%.1f\n", received);

  Extent extent;
#pragma omp parallel for reduction(join : extent) collapse(2)
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 20; ++j) {
      const int value = (i * 37 + j * 11) % 101 - 50;
      extent.low = std::min(extent.low, value);
      extent.high = std::max(extent.high, value);
    }
  std::printf("%d %d\n", extent.low, extent.high);

  int sections = 0;
#pragma omp parallel sections reduction(+ : sections)
  {
#pragma omp section
    sections += 1;
#pragma omp section
    sections += 10;
#pragma omp section
    sections += 100;
  }
  int teams = 0;
  for (int n = 1; n <= 12; ++n) {
#pragma omp parallel num_threads(n) reduction(+ : teams)
    {
#pragma omp barrier
      teams += omp_get_num_threads() == n;
#pragma omp masked
      teams += 1000;
    }
  }
  std::printf("%d %d\n", sections, teams);
  return 0;
}
