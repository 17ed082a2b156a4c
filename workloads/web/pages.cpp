// SPDX-License-Identifier: MIT
#include "workloads/web/pages.hpp"

#include <bit>
#include <mutex>

namespace rubato::workloads::web {
namespace {

/// Eight characters of lower case.
std::uint64_t letters(Rng& rng) {
  std::uint64_t word = 0;
  for (std::uint64_t draw = rng(), i = 0; i < 8; ++i, draw >>= 8) word = word << 8 | ('a' + draw % 26);
  return word;
}

/// Eight decimal digits as text.
std::uint64_t digits(std::uint64_t number) {
  std::uint64_t word = 0;
  for (unsigned i = 0; i < 8; ++i, number /= 10) word = word << 8 | ('0' + number % 10);
  return word;
}

}  // namespace

Pages::Pages(unsigned templates, unsigned users, std::uint64_t seed)
    : templates_(templates), users_(users), advertisements_(360) {
  Rng rng(seed);
  for (auto& parts : templates_) {
    parts.resize(8 + rng.below(17));
    for (Part& part : parts) {
      part.text.resize(8 + rng.below(57));
      for (std::uint64_t& word : part.text) part.check += word = letters(rng);
      part.then = static_cast<Place>(rng.below(4));
    }
  }
  for (User& user : users_) {
    for (std::uint64_t& word : user.name) word = letters(rng);
    user.interests = rng();
  }
  for (Advertisement& a : advertisements_)
    for (std::uint64_t& word : a.text) a.check += word = letters(rng);
}

std::uint64_t Pages::build(unsigned page, unsigned user, Response& response) {
  User& of = users_[user];
  std::uint64_t visits = 0, interests = 0, last_page = 0;
  {
    const std::lock_guard<DataLatch> guard(of.latch);
    visits = ++of.visits;
    last_page = of.last_page;
    of.last_page = page;
    of.interests = interests = std::rotl(of.interests, 7) ^ page;
    of.pages[visits % of.pages.size()] = page;
  }
  std::uint64_t sum = 0;
  const auto put = [&](std::uint64_t word) {
    response.put(word);
    sum += word;
  };
  for (const Part& part : templates_[page]) {
    response.put(part.text.data(), part.text.size());
    sum += part.check;
    switch (part.then) {
      case Place::name:
        for (const std::uint64_t word : of.name) put(word);
        break;
      case Place::visits:
        put(digits(visits));
        break;
      case Place::last_page:
        put(digits(last_page));
        break;
      case Place::advertisement: {
        const Advertisement& a = advertisements_[interests % advertisements_.size()];
        response.put(a.text.data(), a.text.size());
        sum += a.check;
        interests = std::rotl(interests, 11);
        break;
      }
    }
  }
  return sum;
}

std::uint64_t Pages::visits() const {
  std::uint64_t visits = 0;
  for (const User& user : users_) visits += user.visits;
  return visits;
}

}  // namespace rubato::workloads::web
