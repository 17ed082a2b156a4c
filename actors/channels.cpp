// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <utility>

#include "actors/lifecycle.hpp"
#include "rubato/engine/actor_extras.hpp"
#include "rubato/engine/actors.hpp"
#include "rubato/engine/inlets.hpp"

namespace rubato::inline v0::engine {
namespace {

Inlets* inlets_of(const Cell& cell) { return cell.extras == nullptr ? nullptr : cell.extras->inlets.get(); }

}  // namespace

std::uint64_t open_inlet(const std::shared_ptr<Inlet>& inlet) {
  Extras& extras = extras_of(*cell_of(current_actor()));
  if (extras.inlets == nullptr) extras.inlets = std::make_unique<Inlets>();
  Inlets& inlets = *extras.inlets;
  std::uint64_t number = inlets.next;
  if (inlets.reopened < inlets.kept.size()) {
    const std::type_info* const before = inlets.kept[inlets.reopened];
    if (before != nullptr && *before == inlet->event()) number = inlets.reopened;
    ++inlets.reopened;
  }
  inlets.open.emplace(number, inlet);
  if (number == inlets.next) ++inlets.next;
  return number;
}

std::shared_ptr<Inlet> find_inlet(std::uint64_t number) {
  const Inlets* const inlets = inlets_of(*cell_of(current_actor()));
  if (inlets == nullptr) return nullptr;
  const auto found = inlets->open.find(number);
  return found == inlets->open.end() ? nullptr : found->second;
}

void seal_inlet(std::uint64_t number) {
  Cell& cell = *cell_of(current_actor());
  Inlets* const inlets = inlets_of(cell);
  if (inlets == nullptr) return;
  const auto found = inlets->open.find(number);
  if (found == inlets->open.end()) return;
  const std::shared_ptr<Inlet> sealed = std::move(found->second);
  inlets->open.erase(found);
  if (inlets->open.empty() && cell.type->message_count == 0) cell.flags |= Cell::kStopping;
  sealed->seal();
}

void note_constructed(Cell& cell) {
  Inlets* const inlets = inlets_of(cell);
  if (inlets == nullptr) return;
  // A constructor that is called again opens the same or none: what was kept stays.
  if (inlets->kept.empty()) {
    inlets->kept.assign(inlets->next, nullptr);
    for (const auto& [number, inlet] : inlets->open) inlets->kept[number] = &inlet->event();
  }
  inlets->reopened = inlets->kept.size();
}

void forget_inlets(Cell& cell) {
  Inlets* const inlets = inlets_of(cell);
  if (inlets == nullptr) return;
  inlets->forget();
  inlets->reopened = 0;
}

void check_listener(std::uint64_t owner) {
  if (current_actor() != owner)
    misuse(
        "events of an actor are listened to, or a channel is sealed, where that actor does not run: it may "
        "do so in its handlers and its constructor");
}

}  // namespace rubato::inline v0::engine
