// SPDX-License-Identifier: MIT
#include "workloads/mg/multigrid.hpp"

#include <algorithm>
#include <cmath>

#include "base/rng.hpp"

namespace rubato::workloads::mg {

namespace {

constexpr unsigned kCoarsest = 2;        // points of a side
constexpr unsigned kCoarsestSweeps = 4;  // there, instead of a coarser grid
constexpr unsigned kCharges = 10;        // of each sign

}  // namespace

Multigrid::Multigrid(unsigned size, unsigned threads, std::uint64_t seed)
    : threads_(threads), seed_(seed), all_(threads) {
  for (unsigned n = size; n >= kCoarsest; n /= 2) levels_.emplace_back(n);
  scratch_.assign(threads, std::vector<double>(size));
}

// Each thread sets its own planes, so that they are near to it.
void Multigrid::begin(unsigned thread) {
  for (Level& level : levels_) {
    const auto [first, end] = planes_of(thread, level.u);
    for (Grid* grid : {&level.u, &level.f, &level.r})
      for (unsigned z = first; z < end; ++z)
        for (unsigned y = 0; y < grid->size(); ++y) std::fill_n(grid->row(z, y), grid->size(), 0.0);
  }
  all_.wait();
  if (thread == 0) place_charges();
  all_.wait();
}

void Multigrid::place_charges() {
  const unsigned size = levels_[0].f.size();
  Rng rng(seed_);
  for (unsigned placed = 0; placed < 2 * kCharges;) {
    const auto z = static_cast<unsigned>(rng.below(size)), y = static_cast<unsigned>(rng.below(size));
    double& point = levels_[0].f.row(z, y)[rng.below(size)];
    if (point != 0) continue;
    point = placed++ < kCharges ? 1 : -1;
  }
}

Multigrid::Planes Multigrid::planes_of(unsigned thread, const Grid& grid) const {
  return {grid.size() * thread / threads_, grid.size() * (thread + 1) / threads_};
}

void Multigrid::descend(std::size_t level, unsigned thread) {
  Level& fine = levels_[level];
  if (level + 1 == levels_.size()) {
    for (unsigned i = 0; i < kCoarsestSweeps; ++i) sweep(fine, thread);
    return;
  }
  sweep(fine, thread);
  find_residual(fine, thread);
  restrict_to(levels_[level + 1], fine.r, thread);
  descend(level + 1, thread);
  correct(fine.u, levels_[level + 1].u, thread);
  sweep(fine, thread);
}

void Multigrid::sweep(Level& level, unsigned thread) {
  Grid& u = level.u;
  const unsigned n = u.size();
  const double square = 1.0 / (double(n) * n), sixth = 1.0 / 6;
  const auto [first, end] = planes_of(thread, u);
  for (unsigned color = 0; color < 2; ++color) {
    for (unsigned z = first; z < end; ++z)
      for (unsigned y = 0; y < n; ++y) {
        double* const row = u.row(z, y);
        const double* const f = level.f.row(z, y);
        const double *const north = u.row(z, u.before(y)), *const south = u.row(z, u.after(y));
        const double *const below = u.row(u.before(z), y), *const above = u.row(u.after(z), y);
        const auto relax = [&](unsigned x, unsigned west, unsigned east) {
          row[x] = (square * f[x] + (row[west] + row[east]) + (north[x] + south[x]) + (below[x] + above[x])) *
                   sixth;
        };
        const unsigned odd = (color + z + y) & 1;
        if (odd == 0) relax(0, n - 1, 1);
        for (unsigned x = 2 - odd; x < n - 1; x += 2) relax(x, x - 1, x + 1);
        if (odd == 1) relax(n - 1, n - 2, 0);
      }
    all_.wait();
  }
}

// Odd threads go downwards: neighbours are where they meet at the same time, and share it while it is near.
void Multigrid::find_residual(Level& level, unsigned thread) {
  const Grid& u = level.u;
  const unsigned n = u.size();
  const double inverse = double(n) * n;
  const auto [first, end] = planes_of(thread, u);
  for (unsigned i = first; i < end; ++i) {
    const unsigned z = thread % 2 == 0 ? i : first + end - 1 - i;
    for (unsigned y = 0; y < n; ++y) {
      double* const r = level.r.row(z, y);
      const double *const row = u.row(z, y), *const f = level.f.row(z, y);
      const double *const north = u.row(z, u.before(y)), *const south = u.row(z, u.after(y));
      const double *const below = u.row(u.before(z), y), *const above = u.row(u.after(z), y);
      const auto find = [&](unsigned x, unsigned west, unsigned east) {
        const double around = (row[west] + row[east]) + (north[x] + south[x]) + (below[x] + above[x]);
        r[x] = f[x] - inverse * (6 * row[x] - around);
      };
      find(0, n - 1, 1);
      for (unsigned x = 1; x < n - 1; ++x) find(x, x - 1, x + 1);
      find(n - 1, n - 2, 0);
    }
  }
  all_.wait();
}

// Full weighting: 1/2 of a point and 1/4 of each neighbour, in each direction.
void Multigrid::restrict_to(Level& coarse, const Grid& r, unsigned thread) {
  const unsigned n = coarse.f.size();
  double* const sum = scratch_[thread].data();
  const auto [first, end] = planes_of(thread, coarse.f);
  for (unsigned z = first; z < end; ++z)
    for (unsigned y = 0; y < n; ++y) {
      const unsigned zs[] = {r.before(2 * z), 2 * z, r.after(2 * z)};
      const unsigned ys[] = {r.before(2 * y), 2 * y, r.after(2 * y)};
      const double *const a = r.row(zs[0], ys[0]), *const b = r.row(zs[0], ys[1]),
                          *const c = r.row(zs[0], ys[2]);
      const double *const d = r.row(zs[1], ys[0]), *const e = r.row(zs[1], ys[1]),
                          *const f = r.row(zs[1], ys[2]);
      const double *const g = r.row(zs[2], ys[0]), *const h = r.row(zs[2], ys[1]),
                          *const i = r.row(zs[2], ys[2]);
      for (unsigned x = 0; x < 2 * n; ++x)
        sum[x] =
            0.25 * e[x] + 0.125 * ((b[x] + h[x]) + (d[x] + f[x])) + 0.0625 * ((a[x] + c[x]) + (g[x] + i[x]));
      double* const to = coarse.f.row(z, y);
      to[0] = 0.5 * sum[0] + 0.25 * (sum[2 * n - 1] + sum[1]);
      for (unsigned x = 1; x < n; ++x) to[x] = 0.5 * sum[2 * x] + 0.25 * (sum[2 * x - 1] + sum[2 * x + 1]);
      std::fill_n(coarse.u.row(z, y), n, 0.0);
    }
  all_.wait();
}

void Multigrid::correct(Grid& fine, const Grid& coarse, unsigned thread) {
  const unsigned n = coarse.size();
  double* const mean = scratch_[thread].data();
  const auto [first, end] = planes_of(thread, fine);
  for (unsigned z = first; z < end; ++z)
    for (unsigned y = 0; y < 2 * n; ++y) {
      const unsigned z0 = z / 2, z1 = z % 2 == 0 ? z0 : coarse.after(z0);
      const unsigned y0 = y / 2, y1 = y % 2 == 0 ? y0 : coarse.after(y0);
      const double *const a = coarse.row(z0, y0), *const b = coarse.row(z0, y1);
      const double *const c = coarse.row(z1, y0), *const d = coarse.row(z1, y1);
      for (unsigned x = 0; x < n; ++x) mean[x] = 0.25 * ((a[x] + b[x]) + (c[x] + d[x]));
      double* const to = fine.row(z, y);
      for (unsigned x = 0; x < n; ++x) {
        to[2 * x] += mean[x];
        to[2 * x + 1] += 0.5 * (mean[x] + mean[coarse.after(x)]);
      }
    }
  all_.wait();
}

double residual_norm(const Grid& u, const Grid& f) {
  const unsigned n = u.size();
  const auto at = [&](unsigned z, unsigned y, unsigned x) { return u.row(z % n, y % n)[x % n]; };
  double squares = 0;
  for (unsigned z = 0; z < n; ++z)
    for (unsigned y = 0; y < n; ++y)
      for (unsigned x = 0; x < n; ++x) {
        const double around = at(z + n - 1, y, x) + at(z + 1, y, x) + at(z, y + n - 1, x) + at(z, y + 1, x) +
                              at(z, y, x + n - 1) + at(z, y, x + 1);
        const double r = f.row(z, y)[x] + double(n) * n * (around - 6 * at(z, y, x));
        squares += r * r;
      }
  return std::sqrt(squares / (double(n) * n * n));
}

}  // namespace rubato::workloads::mg
