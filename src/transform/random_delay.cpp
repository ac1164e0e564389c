#include <functional>
#include <headrace/transform/random_delay.hpp>
#include <random>
#include <thread>

namespace headrace {

void RandomDelay::apply(Sample&) const {
  if (most.count() <= 0) return;
  // The clock and the thread are the point here; none of it reaches the sample.
  static thread_local std::minstd_rand generator(
      static_cast<unsigned>(std::hash<std::thread::id>{}(std::this_thread::get_id())) ^
      static_cast<unsigned>(std::chrono::steady_clock::now().time_since_epoch().count()));
  std::this_thread::sleep_for(
      std::chrono::microseconds(std::uniform_int_distribution<long>(0, most.count())(generator)));
}

}  // namespace headrace
