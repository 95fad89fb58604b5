// The log must not depend on how long a node takes.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/tree/search_monitor.hpp"

namespace dfsearch {
namespace {

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

}  // namespace

TEST_CASE("a ticker ticks once an interval until it is stopped") {
  std::atomic<int> ticks = 0;
  Ticker ticker(Seconds(0.01), [&] { ++ticks; });
  sleep(0.2);
  ticker.stop();
  const int at_stop = ticks;
  CHECK(at_stop >= 3);  // 20 on a machine that has time for it
  CHECK(at_stop <= 20);
  sleep(0.05);
  CHECK(ticks == at_stop);
}

TEST_CASE("a ticker that is destroyed at once has not ticked") {
  int ticks = 0;
  const auto begin = std::chrono::steady_clock::now();
  {
    const Ticker ticker(Seconds(100.0), [&] { ++ticks; });
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  CHECK(ticks == 0);
}

TEST_CASE("what a tick throws is thrown by stop") {
  std::atomic<int> ticks = 0;
  Ticker ticker(Seconds(0.001), [&] {
    ++ticks;
    throw std::runtime_error("tick");
  });
  while (ticks == 0) sleep(0.001);
  CHECK_THROWS_AS(ticker.stop(), std::runtime_error);
  CHECK(ticks == 1);
}

TEST_CASE("progress comes while nothing is searched, and adds up over runs and trees") {
  std::mutex mutex;
  std::vector<Progress> lines;
  const auto hear = [&](const Progress& progress) {
    const std::lock_guard lock(mutex);
    lines.push_back(progress);
  };
  SearchMonitor monitor({.on_progress = hear, .interval = Seconds(0.005)},
                        {.nodes = 100, .time = Seconds(1000.0)});
  const auto wait_for = [&](std::int64_t nodes, int rank) {
    for (;; sleep(0.001)) {
      const std::lock_guard lock(mutex);
      if (!lines.empty() && lines.back().nodes == nodes && lines.back().rank == rank) break;
    }
  };
  wait_for(100, 1);
  monitor.watch([] { return Progress{.time = Seconds(3.0), .nodes = 7}; }, 2, 150);
  wait_for(157, 2);
  monitor.unwatch();
  const std::size_t so_far = [&] {
    const std::lock_guard lock(mutex);
    return lines.size();
  }();
  for (bool more = false; !more; sleep(0.001)) {
    const std::lock_guard lock(mutex);
    more = lines.size() > so_far + 2;
  }
  monitor.stop();
  CHECK(lines.back().nodes == 157);
  CHECK(lines.back().time > Seconds(1000.0));
  for (std::size_t i = 1; i < lines.size(); ++i) CHECK(lines[i - 1].time < lines[i].time);
}

}  // namespace dfsearch
