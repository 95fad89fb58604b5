#include "study/lanes.hpp"

#include <utility>

namespace dfsearch::study {

Lanes::Lanes(const SolvePoint& solve, int lanes, int threads) : solve_(solve), threads_(threads) {
  for (int lane = 0; lane < lanes; ++lane) {
    lanes_.emplace_back([this, lane] { work(static_cast<std::size_t>(lane)); });
  }
}

Lanes::~Lanes() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  for (std::thread& lane : lanes_) lane.join();
}

void Lanes::put(PointIndex point, bool whole) {
  const std::lock_guard lock(mutex_);
  points_.emplace_back(point, whole);
  changed_.notify_one();
}

std::optional<PointAnswer> Lanes::take(Wait wait) {
  std::unique_lock lock(mutex_);
  if (wait == Wait::Yes) answered_.wait(lock, [this] { return failure_ || !answers_.empty(); });
  if (failure_) std::rethrow_exception(failure_);
  if (answers_.empty()) return std::nullopt;
  PointAnswer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

void Lanes::work(std::size_t lane) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopped_ || !points_.empty(); });
    if (stopped_) return;
    const auto [point, whole] = points_.front();
    points_.pop_front();
    lock.unlock();
    try {
      PointAnswer answer =
          solve_(point, {.threads = whole ? threads_ : 1, .whole = whole, .lane = lane});
      lock.lock();
      answers_.push_back(std::move(answer));
    } catch (...) {
      lock.lock();
      failure_ = std::current_exception();
    }
    answered_.notify_one();
  }
}

}  // namespace dfsearch::study
