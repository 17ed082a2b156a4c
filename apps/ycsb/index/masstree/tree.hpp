// Masstree (Mao, Kohler, Morris, EuroSys 2012): a trie of B+-trees over slices of 8 bytes. Keys of 64 bits
// take one layer. Readers take no lock; they validate versions, and each node is fetched whole before it is
// looked at. Structure changes: structure.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <string>
#include <type_traits>

#include "apps/ycsb/index/masstree/check.hpp"
#include "apps/ycsb/index/masstree/structure.hpp"
#include "apps/ycsb/index/session.hpp"
#include "apps/ycsb/leaf.hpp"
#include "apps/ycsb/operation.hpp"

namespace rubato::apps::ycsb::index::masstree {

/// Places at which a test may let another operation come between.
enum class Step : std::uint8_t {
  child_found,   ///< the link to the child is valid, its version not yet read
  entry_found,   ///< the entry was read, the border node not yet validated
  order_read,    ///< the order of the entries was read, no entry yet
  border_found,  ///< the border node to write was found, not yet locked
};

/// The rules of the protocol. Tests derive from it to build mutants, which they must catch.
struct Rules {
  static constexpr unsigned kWidth = 15;
  static constexpr bool kValidatesParent = true;
  static constexpr bool kValidatesBorder = true;
  static constexpr bool kMarksUsedSlots = true;  ///< readers notice that a slot has another entry
  static constexpr bool kLooksForDivisions = true;
  static void at(Step) {}
};

template <class R = Rules>
class Tree {
 public:
  static constexpr unsigned kWidth = R::kWidth;
  using Structure = masstree::Structure<kWidth>;
  using Node = masstree::Node<kWidth>;
  using Border = masstree::Border<kWidth>;
  using Interior = masstree::Interior<kWidth>;
  using Layer = masstree::Layer<kWidth>;

  Tree() : top_(make_node<Border>(std::uint64_t{0})) {}
  ~Tree() { Walk<kWidth>::free(top_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  Answer lookup(Key key, Session&) { return find(IntegerKey(key)); }
  Answer insert(Key key, Value value, Session& session) { return put(IntegerKey(key), value, session); }
  Answer update(Key key, Value value, Session&) {
    return change(IntegerKey(key), [value](tracked<std::uint64_t>& word) { word = value; });
  }
  Answer add(Key key, Value value, Session&) {
    return change(IntegerKey(key), [value](tracked<std::uint64_t>& word) { word += value; });
  }
  Answer remove(Key key, Session& session) { return erase(IntegerKey(key), session); }
  Answer scan(Key key, unsigned length, ScanBuffer& buffer, Session&) {
    unsigned taken = 0;
    walk(top_, key, kSliceBytes, [&](const Entry& entry) {
      buffer.pairs[taken].key = entry.slice;
      buffer.pairs[taken].value = entry.word;
      return ++taken < length;
    });
    return {taken, taken != 0};
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    Walk<kWidth>::visit(top_, visit);
  }
  TreeShape check() const { return Walk<kWidth>::check(top_); }

  // Keys that are byte strings. A tree has either these or integers.
  Answer lookup(std::span<const char> key, Session&) { return find(BytesKey(key)); }
  Answer insert(std::span<const char> key, Value value, Session& session) {
    return put(BytesKey(key), value, session);
  }
  Answer update(std::span<const char> key, Value value, Session&) {
    return change(BytesKey(key), [value](tracked<std::uint64_t>& word) { word = value; });
  }
  Answer remove(std::span<const char> key, Session& session) { return erase(BytesKey(key), session); }
  /// Calls visit(bytes, value) for the keys from `key` on, ascending, as long as it returns true.
  template <class Visit>
  void scan(std::span<const char> key, Visit visit, Session&) {
    const BytesKey start(key);
    std::string prefix;
    scan_layer(top_, &start, prefix, visit);
  }

 private:
  using VersionWord = Version::Word;
  struct Place {
    Border* border;
    VersionWord version;
  };
  /// An entry as a reader has validated it.
  struct Entry {
    std::uint64_t slice, word;
    std::uint8_t kind;
  };

  static Layer* layer_of(std::uint64_t word) { return std::bit_cast<Layer*>(word); }
  static LongKey* long_key_of(std::uint64_t word) { return std::bit_cast<LongKey*>(word); }

  /// The border node whose range `slice` lies in, at that version.
  static Place find_border(const Layer& layer, std::uint64_t slice) {
    for (Backoff wait;; wait()) {
      Node* node = layer.root.load(std::memory_order_acquire);
      VersionWord version = node->version.stable();
      if (node != layer.root.load(std::memory_order_acquire)) continue;
      while (node != nullptr && !Version::is_border(version)) node = step(node, version, slice);
      if (node != nullptr) return {static_cast<Border*>(node), version};
    }
  }
  /// To the child of an interior node; null: again from the root. The link is validated before it is
  /// followed, and once more behind the child's version.
  static Node* step(Node* node, VersionWord& version, std::uint64_t slice) {
    const Interior& interior = static_cast<const Interior&>(*node);
    for (;;) {
      Node* const child = interior.child(interior.child_of(slice));
      prefetch(child);
      if (interior.version.is_still(version)) {
        R::at(Step::child_found);
        const VersionWord child_version = child->version.stable();
        if (!R::kValidatesParent || interior.version.is_still(version)) {
          version = child_version;
          return child;
        }
      }
      const VersionWord now = interior.version.stable();
      if (Version::is_deleted(now) || !Version::is_same_range(version, now)) return nullptr;
      version = now;  // another child came or went
    }
  }
  /// After a border node has changed: to the node that has the slice now. @returns false if it was removed.
  static bool advance(Place& place, std::uint64_t slice) {
    place.version = place.border->version.stable();
    for (;;) {
      if (Version::is_deleted(place.version)) return false;
      Border* const next = place.border->next.load(std::memory_order_acquire);
      if (next == nullptr || slice < next->low) return true;
      place = {next, next->version.stable()};
    }
  }
  /// The entry of a key. @returns false if there is none. To be validated.
  template <class K>
  static bool read_entry(const Border& border, const K& key, Entry& entry) {
    const auto order = border.load_order();
    R::at(Step::order_read);
    unsigned slot;
    if constexpr (K::kHasMore) {
      const unsigned position = border.lower_bound(order, key.slice(), key.length());
      if (position == order.count()) return false;
      slot = order.slot(position);
    } else {
      slot = border.slot_of(order, key.slice());
      if (slot == kWidth) return false;
    }
    entry = {border.slices[slot], border.words[slot], border.kinds[slot]};
    return entry.slice == key.slice() && Border::length_of(entry.kind) == key.length();
  }

  template <class K>
  Answer find(K key) const {
    const Layer* layer = &top_;
    Place place = find_border(*layer, key.slice());
    for (;;) {
      Entry entry;
      const bool is_found = read_entry(*place.border, key, entry);
      R::at(Step::entry_found);
      if (R::kValidatesBorder && !place.border->version.is_still(place.version)) {
        if (!advance(place, key.slice())) place = find_border(*layer, key.slice());
        continue;
      }
      if (!is_found) return {};
      if constexpr (K::kHasMore) {
        const Content content = Border::content_of(entry.kind);
        if (content == Content::long_key) {
          const LongKey& other = *long_key_of(entry.word);
          return other.is_rest_of(key) ? Answer{other.value, true} : Answer{};
        }
        if (content == Content::layer) {
          layer = layer_of(entry.word);
          key = key.rest();
          place = find_border(*layer, key.slice());
          continue;
        }
      }
      return {entry.word, true};
    }
  }

  /// The border node of the slice, locked.
  static Border& lock_border(const Layer& layer, std::uint64_t slice) {
    for (;;) {
      const Place place = find_border(layer, slice);
      R::at(Step::border_found);
      const VersionWord now = place.border->version.lock();
      if (!R::kLooksForDivisions ||
          (!Version::is_deleted(now) && Version::is_same_range(now, place.version))) {
        return *place.border;
      }
      place.border->version.unlock();
    }
  }

  template <class K>
  Answer put(K key, Value value, Session& session) {
    for (Layer* layer = &top_;;) {
      Border& border = lock_border(*layer, key.slice());
      const auto order = border.load_order();
      const unsigned position = border.lower_bound(order, key.slice(), key.length());
      if (position == order.count() || !border.is_at(order.slot(position), key.slice(), key.length())) {
        insert_at(*layer, border, position, key, value);
        return {};
      }
      const unsigned slot = order.slot(position);
      Answer answer{border.words[slot], true};
      if constexpr (K::kHasMore) {
        const Content content = Border::content_of(border.kinds[slot]);
        if (content == Content::long_key && long_key_of(answer.value)->is_rest_of(key)) {
          answer.value = long_key_of(answer.value)->value;
        } else if (content != Content::value) {
          if (content == Content::long_key) make_layer(border, slot, session);
          layer = layer_of(border.words[slot]);
          key = key.rest();
          border.version.unlock();
          continue;
        }
      }
      border.version.unlock();
      return answer;
    }
  }
  /// Inserts into a border node, which is locked, and unlocks it.
  template <class K>
  static void insert_at(Layer& layer, Border& border, unsigned position, const K& key, Value value) {
    const auto kind = static_cast<std::uint8_t>(key.length());
    std::uint64_t word = value;
    if constexpr (K::kHasMore) {
      if (kind == kMore)
        word = std::bit_cast<std::uint64_t>(make_node<LongKey>(key.bytes().subspan(kSliceBytes), value));
    }
    if (border.count() == kWidth) return Structure::split(layer, border, position, key.slice(), kind, word);
    border.insert(position, key.slice(), kind, word, R::kMarksUsedSlots);
    border.version.unlock();
  }
  /// Two long keys share a slice: the one that is there goes to a layer of its own (Sec. 4.6.3).
  static void make_layer(Border& border, unsigned slot, Session& session) {
    LongKey* const other = long_key_of(border.words[slot]);
    auto* const root = make_node<Border>(std::uint64_t{0});
    auto* const layer = make_node<Layer>(root);
    root->version.lock();
    insert_at(*layer, *root, 0, BytesKey(other->rest), other->value);
    border.version.mark_changing();
    border.words[slot] = std::bit_cast<std::uint64_t>(layer);
    border.kinds[slot] = Border::kLayer;
    session.retire(other);
  }

  /// Calls use(border, position, word) with the border node locked, if the key is there. It unlocks.
  template <class K, class Use>
  Answer with_entry(K key, Use use) {
    for (Layer* layer = &top_;;) {
      Border& border = lock_border(*layer, key.slice());
      const auto order = border.load_order();
      const unsigned position = border.lower_bound(order, key.slice(), key.length());
      Answer answer;
      if (position != order.count() && border.is_at(order.slot(position), key.slice(), key.length())) {
        tracked<std::uint64_t>* word = &border.words[order.slot(position)];
        if constexpr (K::kHasMore) {
          const Content content = Border::content_of(border.kinds[order.slot(position)]);
          if (content == Content::layer) {
            layer = layer_of(*word);
            key = key.rest();
            border.version.unlock();
            continue;
          }
          if (content == Content::long_key) {
            LongKey& other = *long_key_of(*word);
            word = other.is_rest_of(key) ? &other.value : nullptr;
          }
        }
        if (word != nullptr) {
          answer = {*word, true};
          use(border, position, *word);
          return answer;
        }
      }
      border.version.unlock();
      return answer;
    }
  }
  template <class K, class Change>
  Answer change(K key, Change change) {
    return with_entry(key, [&](Border& border, unsigned, tracked<std::uint64_t>& word) {
      change(word);
      border.version.unlock();
    });
  }
  template <class K>
  Answer erase(K key, Session& session) {
    return with_entry(key, [&](Border& border, unsigned position, tracked<std::uint64_t>&) {
      const unsigned slot = border.load_order().slot(position);
      const bool is_long = Border::content_of(border.kinds[slot]) == Content::long_key;
      LongKey* const removed = is_long ? long_key_of(border.words[slot]) : nullptr;
      border.remove(position);
      const bool is_small = border.count() < Structure::kSmall;
      border.version.unlock();
      if (removed != nullptr) session.retire(removed);
      if (is_small) Structure::merge_small(&border, session);
    });
  }

  /// Calls take(entry) for the entries of a layer from (slice, length) on, ascending, as long as it returns
  /// true. Each node's entries belong together. @returns whether it went to the end.
  template <class Take>
  static bool walk(const Layer& layer, std::uint64_t slice, unsigned length, const Take& take) {
    Border* next = nullptr;
    for (Backoff wait;;) {
      Place place{next, 0};
      if (next != nullptr) place.version = next->version.stable();
      if (next == nullptr || Version::is_deleted(place.version)) place = find_border(layer, slice);
      std::array<Entry, kWidth> entries;
      unsigned count = 0;
      const auto order = place.border->load_order();
      R::at(Step::order_read);
      for (unsigned i = place.border->lower_bound(order, slice, length); i < order.count(); ++i) {
        const unsigned slot = order.slot(i);
        entries[count++] = {place.border->slices[slot], place.border->words[slot], place.border->kinds[slot]};
      }
      next = place.border->next.load(std::memory_order_acquire);
      if (next != nullptr) prefetch<kWidth>(next);
      if (R::kValidatesBorder && !place.border->version.is_still(place.version)) {
        next = nullptr;
        wait();
        continue;
      }
      for (unsigned i = 0; i < count; ++i) {
        if (!take(entries[i])) return false;
      }
      if (next == nullptr) return true;
      slice = next->low;
      length = 0;
    }
  }
  /// `start`: where to begin in this layer; null: with its first key. @returns whether to go on.
  template <class Visit>
  static bool scan_layer(const Layer& layer, const BytesKey* start, std::string& prefix, Visit& visit) {
    const std::uint64_t slice = start != nullptr ? start->slice() : 0;
    return walk(layer, slice, start != nullptr ? start->length() : 0, [&](const Entry& entry) {
      const std::size_t before = prefix.size();
      const Content content = Border::content_of(entry.kind);
      const bool is_in_start = start != nullptr && entry.slice == slice && start->length() == kMore;
      append_slice(prefix, entry.slice, content == Content::value ? entry.kind : kSliceBytes);
      bool goes_on = true;
      if (content == Content::value) {
        goes_on = visit(std::as_const(prefix), entry.word);
      } else if (content == Content::long_key) {
        const LongKey& key = *long_key_of(entry.word);
        const std::span<const char> from = is_in_start ? start->rest().bytes() : std::span<const char>();
        prefix += key.rest;
        if (key.rest.compare(0, std::string::npos, from.data(), from.size()) >= 0)
          goes_on = visit(std::as_const(prefix), key.value.get());
      } else {
        const BytesKey rest = is_in_start ? start->rest() : BytesKey({});
        goes_on = scan_layer(*layer_of(entry.word), is_in_start ? &rest : nullptr, prefix, visit);
      }
      prefix.resize(before);
      return goes_on;
    });
  }

  alignas(kLineBytes) Layer top_;
};

}  // namespace rubato::apps::ycsb::index::masstree
