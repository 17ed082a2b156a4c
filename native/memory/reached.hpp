// Cells that threads outside reach just now. Workers push messages within an epoch, which keeps a cell from
// being used again; a thread outside has none, and says instead which cell it is about to look at. A17
// and A29.
//
// Dekker, all seq_cst: the thread writes its place, then reads the cell's generation; the thread that ends an
// actor writes the generation, and the places are read before the cell is used again. So either the thread
// finds another generation, or its place is seen. The same holds for close().
// SPDX-License-Identifier: MIT
#pragma once

#include <thread>

#include "native/pool/atomics.hpp"

namespace rubato::inline v0::native {

class Reached {
 public:
  /// A thread's. Never freed, since others may read it whenever; used again by another thread.
  struct alignas(64) Place {
    Atomic<const void*> cell{nullptr};
    Atomic<bool> is_taken{true};
    Place* next = nullptr;
  };

  Reached() = default;
  Reached(const Reached&) = delete;
  Reached& operator=(const Reached&) = delete;

  Place& take() {
    for (Place* place = first_.load(); place != nullptr; place = place->next)
      if (!place->is_taken.exchange(true)) return *place;
    auto* const place = new Place;
    place->next = first_.load();
    while (!first_.compare_exchange_weak(place->next, place)) {
    }
    return *place;
  }
  static void give(Place& place) { place.is_taken.store(false); }

  /// While it lives, the cell is not used again if its actor was alive after it had begun. Short, and without
  /// code of the program.
  class Scope {
   public:
    Scope(const Reached& reached, Place& place, const void* cell) : place_(place) {
      for (;;) {
        place_.cell.store(cell);
        if (!reached.is_closed_.load()) return;
        place_.cell.store(nullptr);
        while (reached.is_closed_.load()) std::this_thread::yield();
      }
    }
    ~Scope() { place_.cell.store(nullptr, std::memory_order_release); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Place& place_;
  };

  /// Whether a thread reaches a cell whose generation has passed.
  bool is_reached(const void* cell) const {
    for (const Place* place = first_.load(); place != nullptr; place = place->next)
      if (place->cell.load() == cell) return true;
    return false;
  }

  /// Waits until no thread is within a Scope; none enters one before open().
  void close() {
    is_closed_.store(true);
    for (const Place* place = first_.load(); place != nullptr; place = place->next)
      while (place->cell.load() != nullptr) std::this_thread::yield();
  }
  void open() { is_closed_.store(false); }

 private:
  Atomic<Place*> first_{nullptr};
  Atomic<bool> is_closed_{false};
};

}  // namespace rubato::inline v0::native
