// SPDX-License-Identifier: MIT
// Timestamp 0: `hash_segment` finds a segment's bucket, `insert_segment` puts it there unless it is a double.
// 1: `begin_overlaps` finds what is left. Then two timestamps for each overlap, the longest first: at the
// first `offer` has a segment's unlinked ends sorted into buckets by `enter`, at the second `pair` links the
// ends in a bucket and empties it. At the last timestamp `read_gene` follows the links. Tasks of one
// timestamp write to different words or have the same locale, and lists are sorted by the segments' numbers,
// so the order of tasks does not matter.
#include "apps/genome/genome_tasks.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>

#include "apps/common/task_type.hpp"

namespace rubato::apps::genome {
namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::uint64_t kFirstOverlapTime = 2;

/// Entry of a different segment. Allocated by `insert_segment`; lives until the end.
struct Piece {
  Segment segment;
  tracked<Piece*> next_in_bucket = nullptr;
  tracked<Piece*> successor = nullptr;
  tracked<std::uint32_t> number = 0;   // the least of those of its doubles
  tracked<std::uint32_t> overlap = 0;  // with the successor
  tracked<bool> has_predecessor = false;
  tracked<bool> is_placed = false;
};

/// An unlinked end of a piece in a bucket. Allocated by `enter`, freed by `pair`.
struct End {
  Segment key;  // the nucleotides that must be equal
  Piece* piece = nullptr;
  tracked<End*> next = nullptr;
};

/// Each bucket has a line of its own: tasks of different buckets never meet in one.
struct alignas(kLineBytes) Doubles {
  tracked<Piece*> pieces = nullptr;
};
struct alignas(kLineBytes) Overlaps {
  tracked<End*> ends = nullptr;        // of pieces without successor
  tracked<End*> beginnings = nullptr;  // of pieces without predecessor
};

/// Data that all tasks share: arguments carry only what differs.
struct Shared {
  const Segment* segments = nullptr;
  std::uint64_t length = 0;  // of a segment
  Doubles* doubles = nullptr;
  Overlaps* overlaps = nullptr;
  std::uint64_t buckets = 0;               // of either table; a power of two
  tracked<tracked<char>*> gene = nullptr;  // allocated by `read_gene`
  tracked<std::uint64_t> gene_length = 0;
  tracked<std::uint64_t> unique = 0;
  tracked<std::uint64_t> chains = 0;
};
Shared shared;

std::uint64_t bucket_of(const Segment& segment) { return segment.hash() & (shared.buckets - 1); }
Locale locale_of(const Doubles* bucket) { return static_cast<std::uint64_t>(bucket - shared.doubles); }
Locale locale_of(const Overlaps* bucket) {
  return shared.buckets + static_cast<std::uint64_t>(bucket - shared.overlaps);
}
Locale locale_of_gene() { return 2 * shared.buckets; }

std::uint64_t time_of(std::uint64_t overlap) { return kFirstOverlapTime + 2 * (shared.length - 1 - overlap); }

void insert_segment(Doubles* bucket, std::uint32_t number) {
  const Segment& segment = shared.segments[number];
  Piece* const first = bucket->pieces;
  for (Piece* piece = first; piece != nullptr; piece = piece->next_in_bucket) {
    if (!(piece->segment == segment)) continue;
    if (number < piece->number) piece->number = number;
    return;
  }
  auto* const piece = new Piece;
  piece->segment = segment;
  piece->number = number;
  piece->next_in_bucket = first;
  bucket->pieces = piece;
}

template <TaskType type>
void hash_segment(std::uint32_t number) {
  Doubles* const bucket = shared.doubles + bucket_of(shared.segments[number]);
  create<type>(insert_segment, {.at = timestamp(), .on = locale_of(bucket)}, bucket, number);
}

void pair(Overlaps* bucket);

/// Into a list that is sorted by number.
void insert_sorted(tracked<End*>* list, End* end) {
  while (list->get() != nullptr && list->get()->piece->number < end->piece->number) list = &list->get()->next;
  end->next = *list;
  *list = end;
}

/// The first that is entered has the bucket's ends paired.
template <TaskType type>
void enter(Overlaps* bucket, Piece* piece, std::uint64_t overlap, bool is_beginning) {
  const bool is_first = bucket->ends == nullptr && bucket->beginnings == nullptr;
  auto* const end = new End;
  end->key = is_beginning ? piece->segment.first(overlap, shared.length) : piece->segment.last(overlap);
  end->piece = piece;
  insert_sorted(is_beginning ? &bucket->beginnings : &bucket->ends, end);
  if (is_first) create<type>(pair, {.at = timestamp() + 1, .on = locale_of(bucket)}, bucket);
}

void free_all(tracked<End*>& list) {
  for (End* end = list; end != nullptr;) {
    End* const next = end->next;
    delete end;
    end = next;
  }
  list = nullptr;
}

/// The first beginning, taken out of its list, that continues this end; or null.
End* take_continuation(tracked<End*>* list, const End* end) {
  for (; list->get() != nullptr; list = &list->get()->next) {
    End* const beginning = *list;
    if (!(beginning->key == end->key) || beginning->piece == end->piece) continue;
    *list = beginning->next;
    return beginning;
  }
  return nullptr;
}

void pair(Overlaps* bucket) {
  const std::uint64_t overlap = shared.length - 1 - (timestamp() - 1 - kFirstOverlapTime) / 2;
  for (End* end = bucket->ends; end != nullptr; end = end->next) {
    const End* const beginning = take_continuation(&bucket->beginnings, end);
    if (beginning == nullptr) continue;
    end->piece->successor = beginning->piece;
    end->piece->overlap = static_cast<std::uint32_t>(overlap);
    beginning->piece->has_predecessor = true;
    delete beginning;
  }
  free_all(bucket->ends);
  free_all(bucket->beginnings);
}

template <TaskType type>
void create_enter(Piece* piece, std::uint64_t overlap, bool is_beginning) {
  const Segment key =
      is_beginning ? piece->segment.first(overlap, shared.length) : piece->segment.last(overlap);
  Overlaps* const bucket = shared.overlaps + bucket_of(key);
  create<type>(enter<type>, {.at = timestamp(), .on = locale_of(bucket)}, bucket, piece, overlap,
               is_beginning);
}

/// For all overlaps in turn, until both ends are linked.
template <TaskType type>
void offer(Piece* piece, std::uint64_t overlap) {
  const bool has_successor = piece->successor != nullptr;
  const bool has_predecessor = piece->has_predecessor;
  if (has_successor && has_predecessor) return;
  if (!has_successor) create_enter<type>(piece, overlap, false);
  if (!has_predecessor) create_enter<type>(piece, overlap, true);
  if (overlap > 1) create<type>(offer<type>, {.at = time_of(overlap - 1)}, piece, overlap - 1);
}

/// Starts the offers of a piece, and a task for the next piece along the list of the bucket.
template <TaskType type>
void begin_overlaps(Piece* piece) {
  create<type>(offer<type>, {.at = kFirstOverlapTime}, piece, shared.length - 1);
  Piece* const next = piece->next_in_bucket;
  if (next != nullptr) create<type>(begin_overlaps<type>, {.at = timestamp()}, next);
}

std::vector<Piece*> all_pieces() {
  std::vector<Piece*> pieces;
  for (std::uint64_t b = 0; b < shared.buckets; ++b) {
    for (Piece* piece = shared.doubles[b].pieces; piece != nullptr; piece = piece->next_in_bucket)
      pieces.push_back(piece);
  }
  return pieces;
}

/// @returns where the gene ends now
std::uint64_t read_chain(Piece* first, tracked<char>* gene, std::uint64_t end) {
  std::uint64_t fresh = shared.length;  // nucleotides that the chain does not have yet
  for (Piece* piece = first; piece != nullptr && !piece->is_placed; piece = piece->successor) {
    const Segment::Bits bits = piece->segment.bits();
    for (std::uint64_t i = fresh; i > 0; --i)
      gene[end++] = kNucleotides[static_cast<unsigned>(bits >> (2 * (i - 1))) & 3];
    piece->is_placed = true;
    fresh = shared.length - piece->overlap;
  }
  return end;
}

/// The piece of a ring behind its shortest overlap, which is the one that closed it.
Piece* first_of_ring(Piece* ring) {
  Piece* last = ring;
  for (Piece* piece = ring->successor; piece != ring; piece = piece->successor) {
    if (piece->overlap < last->overlap) last = piece;
  }
  return last->successor;
}

/// Chains by their first number, then rings.
void read_gene() {
  std::vector<Piece*> pieces = all_pieces();
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece* a, const Piece* b) { return a->number < b->number; });
  auto* const gene = new tracked<char>[pieces.size() * shared.length];
  std::uint64_t end = 0, chains = 0;
  for (const bool rings : {false, true}) {
    for (Piece* const piece : pieces) {
      if (piece->is_placed || (piece->has_predecessor && !rings)) continue;
      end = read_chain(rings ? first_of_ring(piece) : piece, gene, end);
      ++chains;
    }
  }
  shared.gene = gene;
  shared.gene_length = end;
  shared.chains = chains;
  shared.unique = pieces.size();
}

template <TaskType type>
void run_tasks(std::uint32_t segments) {
  create<type>(
      [](std::uint32_t count) {
        create_all<type>(std::uint32_t{0}, count,
                         [](std::uint32_t number) { create<type>(hash_segment<type>, {.at = 0}, number); });
      },
      {.at = 0}, segments);
  create<type>(
      [] {
        create_all<type>(shared.doubles, shared.doubles + shared.buckets, [](Doubles* bucket) {
          Piece* const first = bucket->pieces;
          if (first != nullptr) create<type>(begin_overlaps<type>, {.at = timestamp()}, first);
        });
      },
      {.at = 1});
  create<type>(read_gene, {.at = time_of(0), .on = locale_of_gene()});
  run();
}

}  // namespace

Assembly assemble_by_tasks(const std::vector<Segment>& segments, std::uint64_t length,
                           std::uint64_t expected_unique, TaskType type) {
  const std::uint64_t buckets = std::bit_ceil(std::max<std::uint64_t>(expected_unique, 1));
  std::vector<Doubles> doubles(buckets);
  std::vector<Overlaps> overlaps(buckets);
  shared = Shared();
  shared.segments = segments.data();
  shared.length = length;
  shared.doubles = doubles.data();
  shared.overlaps = overlaps.data();
  shared.buckets = buckets;
  with_type(type, [&]<TaskType chosen> { run_tasks<chosen>(static_cast<std::uint32_t>(segments.size())); });
  Assembly result;
  const std::unique_ptr<tracked<char>[]> gene(shared.gene.get());
  result.gene.assign(gene.get(), gene.get() + shared.gene_length);
  result.unique = shared.unique;
  result.chains = shared.chains;
  for (Piece* const piece : all_pieces()) delete piece;
  return result;
}

}  // namespace rubato::apps::genome
