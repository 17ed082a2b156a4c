// A thread's heap of objects with a copying collection (Cheney, 1970): two halves, of which one is in use.
// Objects move between transactions only: within one, pointers are good.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rubato::workloads::midtier {

/// A header, then references, then words.
class Object {
 public:
  [[nodiscard]] Object* ref(unsigned i) const { return reinterpret_cast<Object*>(fields()[i]); }  // NOLINT
  void set_ref(unsigned i, Object* to) { fields()[i] = reinterpret_cast<std::uint64_t>(to); }     // NOLINT
  /// The words behind the references.
  [[nodiscard]] std::uint64_t& word(unsigned i) { return fields()[refs() + i]; }
  [[nodiscard]] std::uint64_t word(unsigned i) const { return fields()[refs() + i]; }

  [[nodiscard]] unsigned refs() const { return header_ >> 4 & 0xffff; }
  [[nodiscard]] unsigned size() const { return header_ >> 20 & 0xfffff; }  ///< in words, with the header
  [[nodiscard]] unsigned kind() const { return static_cast<unsigned>(header_ >> 40); }

 private:
  friend class Heap;
  std::uint64_t* fields() { return &header_ + 1; }
  [[nodiscard]] const std::uint64_t* fields() const { return &header_ + 1; }
  std::uint64_t header_;  // kind, size, references; or where the object has moved, and 1
};

class Heap {
 public:
  /// @param half words of each half
  explicit Heap(std::size_t half);

  /// A new object: references are null, words 0. There is room for it (has_room()).
  Object* make(unsigned kind, unsigned refs, unsigned words);
  [[nodiscard]] bool has_room(std::size_t words) const { return used_ + words <= half_; }
  /// Moves the objects that can be reached from `root` to the other half. @returns the root's new place
  Object* collect(Object* root);

  [[nodiscard]] std::size_t used() const { return used_; }
  [[nodiscard]] std::uint64_t collections() const { return collections_; }
  /// Whether the object begins and ends in the half in use.
  [[nodiscard]] bool has(const Object* object) const;

 private:
  Object* move(Object* object);

  std::size_t half_, used_ = 0;
  std::unique_ptr<std::uint64_t[]> current_, other_;
  std::uint64_t collections_ = 0;
};

}  // namespace rubato::workloads::midtier
