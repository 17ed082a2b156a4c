// Isolation of a bad request among many: the tasks of a request belong to a GuardedGroup. If one of them
// throws, the request's other tasks are cancelled and the request is answered with the error. Other requests
// go on. Host engines.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "rubato/rubato.hpp"

struct Request {
  std::vector<std::string> numbers;
  rubato::GuardedGroup tasks;
  std::atomic<long> sum = 0;
};

void add(Request* request, const std::string* text) {
  std::size_t read = 0;
  try {
    request->sum += std::stol(*text, &read);
  } catch (const std::logic_error&) {
  }
  if (read != text->size()) throw std::invalid_argument("'" + *text + "' is no number");
}

void answer(Request* request, int number) {
  try {
    request->tasks.rethrow_if_failed();  // what add() has thrown
    std::printf("request %d: %ld\n", number, request->sum.load());
  } catch (const std::invalid_argument& error) {
    std::printf("request %d: error, %s\n", number, error.what());
  }
}

int main() {
  std::vector<std::unique_ptr<Request>> requests;
  for (const auto& numbers :
       std::vector<std::vector<std::string>>{{"1", "2"}, {"3", "x4"}, {"5", "6", "7"}}) {
    requests.push_back(std::make_unique<Request>());
    requests.back()->numbers = numbers;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Request* const request = requests[i].get();
    for (const std::string& number : request->numbers)
      rubato::create<rubato::nonspec>(add, {.group = &request->tasks}, request, &number);
    // The timestamps put the answers into the order of the requests.
    rubato::create<rubato::nonspec>(answer, {.at = i, .after = &request->tasks}, request,
                                    static_cast<int>(i));
  }
  rubato::run();
}
