// Runs one workload on one ordered index: bench/native_indexes compares them.
//
//   bench_native_indexes INDEX C|A|I RECORDS OPERATIONS WORKERS [LIBRARY]
//   bench_native_indexes --list
//
// C lookups, A half updates (both Zipfian), I insertions of all records in the order of their numbers, into
// the empty index. Before C and A one thread inserts the records, in an order that is random within windows
// of 32,768. LIBRARY has the indexes of crates.io. Prints rates; ends with 1 if an index does not find
// what it must.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "apps/ycsb/index/load_order.hpp"
#include "base/rng.hpp"
#include "bench/indexes/contestant.hpp"
#include "bench/indexes/crates.hpp"
#include "bench/processor_seconds.hpp"

namespace indexes {
namespace {

constexpr const char* kUsage =
    "usage: bench_native_indexes INDEX C|A|I RECORDS OPERATIONS WORKERS [LIBRARY]; --list names indexes";

constexpr auto kFamilies = {olc_sizes, masstree_sizes, bwtree_sizes};

std::unique_ptr<Contestant> make_index(std::string_view name, const char* library) {
  for (const auto& family : kFamilies) {
    for (const Entry& entry : family()) {
      if (name == entry.name) return entry.make();
    }
  }
#if defined(RUBATO_HAS_TBB)
  if (name == "tbb-map") return make_tbb_map();
#endif
  return library == nullptr ? nullptr : make_of_crate(library, std::string(name));
}

void list() {
  for (const auto& family : kFamilies) {
    for (const Entry& entry : family()) std::printf("%s\n", entry.name);
  }
#if defined(RUBATO_HAS_TBB)
  std::printf("tbb-map\n");
#endif
}

bool parse(const char* text, std::uint64_t& number) {
  const char* const end = text + std::strlen(text);
  return std::from_chars(text, end, number) == std::from_chars_result{end, {}} && number != 0;
}

void load(Contestant& index, const ycsb::KeySpace& space, std::uint64_t records) {
  const std::vector<Key> keys = ycsb::sorted_keys(space, records);
  rubato::Rng rng(1);
  std::vector<Request> window;
  for (std::size_t first = 0; first < keys.size(); first += ycsb::index::kLoadWindow) {
    window.clear();
    for (std::size_t i = first; i < std::min(first + ycsb::index::kLoadWindow, keys.size()); ++i)
      window.push_back({keys[i], Kind::insert, 0});
    ycsb::index::shuffle(window, rng);
    index.run(window, 1);
  }
}

int run(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--list") {
    list();
    return 0;
  }
  std::uint64_t records = 0, operations = 0, workers = 0;
  const bool is_complete = (argc == 6 || argc == 7) && std::strlen(argv[2]) == 1 &&
                           std::strchr("CAI", *argv[2]) != nullptr && parse(argv[3], records) &&
                           parse(argv[4], operations) && parse(argv[5], workers) && workers <= 1024;
  if (!is_complete) {
    std::fprintf(stderr, "%s\n", kUsage);
    return 2;
  }
  const std::unique_ptr<Contestant> index = make_index(argv[1], argc == 7 ? argv[6] : nullptr);
  if (index == nullptr) {
    std::fprintf(stderr, "bench_native_indexes: there is no index %s; %s\n", argv[1], kUsage);
    return 2;
  }
  const ycsb::KeySpace space(ycsb::KeyOrder::hashed);
  const bool is_insertion = *argv[2] == 'I';
  if (!is_insertion) load(*index, space, records);
  const std::vector<Request> requests =
      is_insertion ? ycsb::load_requests(space, 0, records)
                   : ycsb::make_requests({.name = *argv[2], .records = records, .operations = operations});
  const double processor_begin = processor_seconds();
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t found = index->run(requests, static_cast<unsigned>(workers));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double of_processors = processor_seconds() - processor_begin;
  if (found != (is_insertion ? 0 : requests.size())) {
    std::fprintf(stderr, "bench_native_indexes: %s found %llu of %zu keys\n", argv[1],
                 static_cast<unsigned long long>(found), requests.size());
    return 1;
  }
  const auto millions = static_cast<double>(requests.size()) / 1e6;
  std::printf(
      "{\"index\": \"%s\", \"seconds\": %.6f, \"million_requests_a_second\": %.4f, "
      "\"million_requests_a_processor_second\": %.4f}\n",
      argv[1], seconds, millions / seconds, millions / of_processors);
  return 0;
}

}  // namespace
}  // namespace indexes

int main(int argc, char** argv) {
  try {
    return indexes::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_native_indexes: %s\n", e.what());
    return 2;
  }
}
