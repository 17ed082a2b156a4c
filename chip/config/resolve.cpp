// Replaces automatic values and checks what single keys cannot.
// SPDX-License-Identifier: MIT
#include <bit>

#include "base/error.hpp"
#include "chip/config/config.hpp"
#include "chip/config/schema.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kL2BytesPerCore = 64u << 10;
constexpr std::uint64_t kLlcBytesPerCore = 256u << 10;

void resolve_cores(ChipSection& chip) {
  if (chip.cores_per_tile == 0) {
    chip.cores_per_tile = chip.cores % 4 == 0 ? 4 : chip.cores % 2 == 0 ? 2 : 1;
  }
  if (chip.cores % chip.cores_per_tile != 0) {
    throw UsageError("chip.cores_per_tile is {}, which does not divide chip.cores = {}", chip.cores_per_tile,
                     chip.cores);
  }
}

void resolve_mesh(ChipSection& chip) {
  const std::uint32_t tiles = chip.cores / chip.cores_per_tile;
  const auto refuse = [&](const char* key, std::uint32_t value) {
    throw UsageError("{} is {}, which does not divide the chip's {} tiles ({} cores, {} a tile)", key, value,
                     tiles, chip.cores, chip.cores_per_tile);
  };
  auto& width = chip.mesh_width;
  auto& height = chip.mesh_height;
  if (width == 0 && height == 0) {
    for (std::uint32_t h = 1; h * h <= tiles; ++h) {
      if (tiles % h == 0) height = h;
    }
    width = tiles / height;
  } else if (width == 0) {
    if (tiles % height != 0) refuse("chip.mesh_height", height);
    width = tiles / height;
  } else if (height == 0) {
    if (tiles % width != 0) refuse("chip.mesh_width", width);
    height = tiles / width;
  }
  if (std::uint64_t{width} * height != tiles) {
    throw UsageError(
        "chip.mesh_width x chip.mesh_height is {}x{}, but the chip has {} tiles ({} cores, {} a tile)", width,
        height, tiles, chip.cores, chip.cores_per_tile);
  }
}

void check_cache(const char* name, const CacheSection& cache) {
  const std::uint64_t way_bytes = std::uint64_t{cache.ways} * kLineBytes;
  if (cache.ways == 0 || cache.size == 0 || cache.size % way_bytes != 0 ||
      !std::has_single_bit(cache.size / way_bytes)) {
    throw UsageError("{}.size is {} bytes, which with {} ways of {}-byte lines is not a power of two of sets",
                     name, cache.size, cache.ways, kLineBytes);
  }
}

/// Checks the number of sets: SetArray keeps tags of 32 bits, so the sets must tell the rest of an address.
void check_sets(const char* name, const CacheSection& cache) {
  constexpr std::uint64_t kFewest = 4;
  if (cache.size / kLineBytes / cache.ways < kFewest) {
    throw UsageError(
        "{0}.size is {1} bytes, which with {2} ways is fewer than {3} sets: make it larger, or {0}.ways less",
        name, cache.size, cache.ways, kFewest);
  }
}

void check_power_of_two(const char* name, std::uint32_t value) {
  if (!std::has_single_bit(value)) throw UsageError("{} is {}, but must be a power of two", name, value);
}

void check_banks(const CacheSection& llc) {
  check_power_of_two("llc.banks", llc.banks);
  const std::uint64_t sets = llc.size / kLineBytes / llc.ways;
  if (llc.banks > sets)
    throw UsageError(
        "llc.banks is {}, but llc.size = {} and llc.ways = {} make {} sets: a bank has one or more",
        llc.banks, llc.size, llc.ways, sets);
}

void check_inclusion(const char* outer_name, const CacheSection& outer, const char* inner_name,
                     const CacheSection& inner) {
  if (outer.size < inner.size) {
    throw UsageError("{}.size is {} bytes, less than {}.size = {}, but {} includes what {} holds", outer_name,
                     outer.size, inner_name, inner.size, outer_name, inner_name);
  }
}

void check_ties(const Config& config) {
  if (!config.run.check_ties) return;
  if (config.chip.cores < 2)
    throw UsageError(
        "run.check_ties finds ties between tasks of different cores, but chip.cores is 1: take 2 or more");
}

}  // namespace

Config resolve(Config config) {
  check_ranges(config, "configuration");
  resolve_cores(config.chip);
  resolve_mesh(config.chip);
  // Rounded up so that automatic caches of tiles with 3, 5, 6 or 7 cores have a power of two of sets.
  const std::uint64_t scale = std::bit_ceil(config.chip.cores_per_tile);
  if (config.l2.size == 0) config.l2.size = kL2BytesPerCore * scale;
  if (config.llc.size == 0) config.llc.size = kLlcBytesPerCore * scale;
  check_cache("l1i", config.l1i);
  check_cache("l1d", config.l1d);
  check_cache("l2", config.l2);
  check_cache("llc", config.llc);
  check_sets("l2", config.l2);
  check_sets("llc", config.llc);
  check_banks(config.llc);
  if (config.l2.inclusion == "inclusive") {
    check_inclusion("l2", config.l2, "l1i", config.l1i);
    check_inclusion("l2", config.l2, "l1d", config.l1d);
  }
  if (const std::string& protocol = config.coherence.protocol; protocol == "mesi" || protocol == "late")
    check_inclusion("llc", config.llc, "l2", config.l2);  // slices of the others include no private copies
  if (config.net.straight > config.net.turn) {
    throw UsageError(
        "net.straight is {} cycles, more than net.turn = {}: a hop that turns takes at least as long",
        config.net.straight, config.net.turn);
  }
  check_power_of_two("core.predictor_entries", config.core.predictor_entries);
  check_power_of_two("core.btb_entries", config.core.btb_entries);
  check_power_of_two("conflict.bloom_bits", config.conflict.bloom_bits);
  check_ties(config);
  return config;
}

}  // namespace rubato::chip
