// Makes the mistake a sanitizer is there to find; the test passes when it is
// reported.  A sanitizer that got lost in the flags would otherwise look like
// clean code.

#include <climits>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

namespace {

void read_past_the_end() {
  const std::vector<int> list(8, 1);
  const int* volatile data = list.data();
  volatile std::size_t past = 8;
  std::printf("%d\n", data[past]);
}

void overflow() {
  volatile int largest = INT_MAX;
  volatile int sum = largest + 1;
  std::printf("%d\n", sum);
}

void race() {
  int shared = 0;
  const auto count = [&shared] {
    for (int i = 0; i < 100000; ++i) *const_cast<volatile int*>(&shared) = shared + 1;
  };
  std::thread one(count);
  std::thread two(count);
  one.join();
  two.join();
  std::printf("%d\n", shared);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view sanitizer = argc > 1 ? argv[1] : "";
  if (sanitizer == "address") {
    read_past_the_end();
  } else if (sanitizer == "undefined") {
    overflow();
  } else if (sanitizer == "thread") {
    race();
  } else {
    std::puts("usage: sanitizers_enabled_test address|undefined|thread");
    return 2;
  }
  return 0;
}
