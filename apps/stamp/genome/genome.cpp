// genome: a gene is put together from pieces of it. Doubles are removed by a hash table of all pieces; then
// those whose end is another's beginning are linked, by ever shorter overlaps; then the gene is read from the
// links. After the description of STAMP (Cao Minh et al., IISWC 2008); T68.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/gene.hpp"
#include "apps/common/input_error.hpp"
#include "apps/stamp/common/program.hpp"
#include "apps/stamp/structure/hash_table.hpp"

namespace rubato::apps::stamp::genome {
namespace {

using namespace apps::genome;

constexpr std::uint64_t kChunk = 12;  // segments that one transaction inserts, as published

struct SegmentHash {
  static std::uint64_t of(const Segment& segment) { return segment.hash(); }
};

/// A segment in a chain of overlapping ones. The first of a chain knows its last, the last its first: these
/// are in its two ends only.
struct Entry {
  Segment segment;
  Entry* next = nullptr;       // in its chain
  std::uint64_t overlap = 0;   // with the next
  Entry* first = nullptr;      // of its chain
  Entry* last = nullptr;       // of its chain
  Entry* in_bucket = nullptr;  // the next with the same hash of its beginning
  bool is_first = true;
};

class Genome final : public Program {
 public:
  explicit Genome(const Settings& settings)
      : length_(settings["segment"]),
        threads_(settings.threads),
        gene_(random_gene(settings["gene"], settings.seed)),
        segments_(random_pieces(gene_, length_, settings["segments"], settings.seed)),
        unique_(gene_.size()),
        beginnings_(std::bit_ceil(gene_.size())),
        part_begin_(threads_ + 1) {}

  void work(Worker& worker) override {
    remove_doubles(worker);
    make_entries(worker);
    for (std::uint64_t overlap = length_ - 1; overlap > 0; --overlap) {
      note_beginnings(worker, overlap);
      link(worker, overlap);
    }
    if (worker.is_first()) read_gene();
  }

  std::string check() override {
    if (found_.size() != gene_.size())
      return "the gene has " + std::to_string(gene_.size()) + " nucleotides, " +
             std::to_string(found_.size()) + " were found";
    return found_ == gene_ ? "" : "another gene was found";
  }
  std::uint64_t digest() override {
    std::uint64_t hash = entries_.size();
    for (const char nucleotide : found_) hash = mix64(hash ^ static_cast<std::uint64_t>(nucleotide));
    return hash;
  }

 private:
  void remove_doubles(Worker& worker) {
    const auto [first, last] = worker.share(segments_.size());
    for (std::uint64_t i = first; i < last; i += kChunk) {
      const std::uint64_t end = std::min(i + kChunk, last);
      __transaction_atomic {
        for (std::uint64_t j = i; j < end; ++j) unique_.insert(segments_[j], true);
      }
    }
    worker.wait_for_all();
  }
  /// Makes one entry for each segment, in the order of the table; this thread's are [begin_, end_) of its
  /// index.
  void make_entries(Worker& worker) {
    const auto [first, last] = worker.share(unique_.buckets());
    std::uint64_t count = 0;
    for (std::uint64_t b = first; b < last; ++b) count += unique_.bucket(b).size();
    part_begin_[worker.index() + 1] = count;
    worker.wait_for_all();
    if (worker.is_first()) {
      for (unsigned i = 0; i < threads_; ++i) part_begin_[i + 1] += part_begin_[i];
      entries_.resize(part_begin_[threads_]);
    }
    worker.wait_for_all();
    Entry* entry = entries_.data() + part_begin_[worker.index()];
    for (std::uint64_t b = first; b < last; ++b) {
      unique_.bucket(b).for_each([&](const Segment& segment, bool) {
        entry->segment = segment;
        entry->first = entry->last = entry;
        ++entry;
      });
    }
    worker.wait_for_all();
  }

  /// A table of the first `overlap` nucleotides of those that are the first of their chain.
  void note_beginnings(Worker& worker, std::uint64_t overlap) {
    const auto [from, to] = worker.share(beginnings_.size());
    std::fill(beginnings_.begin() + static_cast<std::ptrdiff_t>(from),
              beginnings_.begin() + static_cast<std::ptrdiff_t>(to), nullptr);
    worker.wait_for_all();
    for_each_own(worker, [&](Entry& entry) {
      if (!entry.is_first) return;
      Entry** const bucket = bucket_of(entry.segment.first(overlap, length_));
      __transaction_atomic {
        entry.in_bucket = *bucket;
        *bucket = &entry;
      }
    });
    worker.wait_for_all();
  }
  void link(Worker& worker, std::uint64_t overlap) {
    for_each_own(worker, [&](Entry& entry) {
      if (entry.next != nullptr) return;
      const Segment end = entry.segment.last(overlap);
      Entry* const* const bucket = bucket_of(end);
      __transaction_atomic {
        for (Entry* other = *bucket; other != nullptr; other = other->in_bucket) {
          // Not its own chain, which would become a ring.
          if (!other->is_first || other == entry.first || !(other->segment.first(overlap, length_) == end))
            continue;
          other->is_first = false;
          entry.next = other;
          entry.overlap = overlap;
          entry.first->last = other->last;
          other->last->first = entry.first;
          break;
        }
      }
    });
    worker.wait_for_all();
  }
  void read_gene() {
    for (const Entry& entry : entries_) {
      if (!entry.is_first) continue;
      append(found_, entry.segment, length_);
      for (const Entry* e = &entry; e->next != nullptr; e = e->next)
        append(found_, e->next->segment, length_ - e->overlap);
    }
  }

  template <class F>
  void for_each_own(const Worker& worker, const F& f) {
    for (std::uint64_t i = part_begin_[worker.index()]; i < part_begin_[worker.index() + 1]; ++i)
      f(entries_[i]);
  }
  Entry** bucket_of(const Segment& segment) {
    return &beginnings_[segment.hash() & (beginnings_.size() - 1)];
  }

  std::uint64_t length_;
  unsigned threads_;
  std::string gene_;
  std::vector<Segment> segments_;
  HashTable<Segment, bool, SegmentHash> unique_;
  std::vector<Entry*> beginnings_;
  std::vector<std::uint64_t> part_begin_;  // of the threads' entries; one more is their end
  std::vector<Entry> entries_;
  std::string found_;
};

const Description kDescription{
    .name = "genome",
    .summary = "STAMP's sequencing: a gene is put together from overlapping pieces.",
    .parameters = {{"gene", 16'384, 256, 16, 1'000'000'000, "nucleotides"},
                   {"segment", kLongestSegment, 16, 8, kLongestSegment, "nucleotides of a piece"},
                   {"segments", 16'777'216, 4'096, 1, 1'000'000'000, "pieces"}},
    .make = [](const Settings& settings) -> std::unique_ptr<Program> {
      if (settings["segment"] > settings["gene"]) throw InputError("--set segment: longer than the gene");
      return std::make_unique<Genome>(settings);
    }};

}  // namespace
}  // namespace rubato::apps::stamp::genome

int main(int argc, char** argv) {
  return rubato::apps::stamp::run(rubato::apps::stamp::genome::kDescription, argc, argv);
}
