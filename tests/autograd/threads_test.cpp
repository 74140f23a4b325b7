#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <xgrad/autograd/thread_pool.hpp>
#include <xgrad/xgrad.hpp>

#include "../support/allclose.hpp"
#include "../support/errors.hpp"

using test::exactly;
using xg::Variable;

extern "C" {
int openblas_get_num_threads(void);
void openblas_set_num_threads(int);
}

namespace {

/// Restores the number of threads.
class Threads {
 public:
  explicit Threads(int n) : before_(xg::num_threads()) { xg::set_num_threads(n); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { xg::set_num_threads(before_); }

 private:
  int before_;
};

/// An attention step large enough for all threads: its output, weights and seven gradients.
template <class T>
std::vector<Variable<T>> step() {
  std::vector<Variable<T>> x;
  for (int i = 0; i < 7; ++i) {
    x.push_back(i < 3 ? xg::uniform<T>({2, 150, 64}, -1, 1, i)
                      : xg::uniform<T>({64, 64}, -0.2, 0.2, i));
    x.back().set_requires_grad();
  }
  const auto [output, weights] =
      xg::multi_head_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6], 4);
  std::vector<Variable<T>> results = xg::grad(xg::sum(output * output), x);
  results.push_back(output.detach());
  results.push_back(weights.detach());
  return results;
}

template <class T>
bool same_bits(const std::vector<Variable<T>>& a, const std::vector<Variable<T>>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].to_vector() != b[i].to_vector()) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("the number of threads is checked, kept and at least one") {
  CHECK(xg::num_threads() >= 1);
  const Threads three(3);
  CHECK(xg::num_threads() == 3);
  for (int n : {0, -1, 1025}) {
    CHECK_ERROR(xg::ArgumentError, "set_num_threads", xg::set_num_threads(n));
  }
  CHECK(xg::num_threads() == 3);
}

TEST_CASE_TEMPLATE("S18: the same number of threads gives the same bits", T, float, double) {
  const Threads four(4);
  const auto first = step<T>();
  for (int i = 0; i < 5; ++i) CHECK(same_bits(step<T>(), first));
}

TEST_CASE_TEMPLATE("any number of threads gives the same values", T, float, double) {
  std::vector<Variable<T>> one;
  {
    const Threads single(1);
    one = step<T>();
  }
  for (int n : {2, 3, 7}) {
    const Threads several(n);
    const auto more = step<T>();
    for (std::size_t i = 0; i < one.size(); ++i) CHECK_CLOSE(more[i], one[i]);
  }
}

TEST_CASE("every item runs once, whoever asks from where") {
  const Threads four(4);
  for (std::int64_t items : {0, 1, 2, 3, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(items));
    xg::detail::parallel_items(items, [&](std::int64_t i) {
      // Asked for inside an item, they run there.
      xg::detail::parallel_items(2, [&](std::int64_t) { ++runs[static_cast<std::size_t>(i)]; });
    });
    for (const auto& count : runs) CHECK(count == 2);
  }
  std::atomic<int> total{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        xg::detail::parallel_items(5, [&](std::int64_t) { ++total; });
      }
    });
  }
  for (auto& caller : callers) caller.join();
  CHECK(total == 4 * 200 * 5);
}

TEST_CASE("ranges cover everything once, in units") {
  const Threads three(3);
  for (std::int64_t n : {0, 1, 15, 16, 17, 1000}) {
    for (std::int64_t least : {1, 16, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
      xg::detail::parallel_ranges(n, least, 16, [&](std::int64_t begin, std::int64_t end) {
        if (begin % 16 != 0 || begin >= end) throw std::logic_error("a wrong range");
        for (; begin < end; ++begin) ++seen[static_cast<std::size_t>(begin)];
      });
      for (const auto& count : seen) CHECK(count == 1);
    }
  }
}

TEST_CASE("an exception in an item reaches the caller, and the pool works on") {
  const Threads four(4);
  for (int k = 0; k < 50; ++k) {
    CHECK_THROWS_AS(xg::detail::parallel_items(20,
                                               [](std::int64_t i) {
                                                 if (i == 7) throw std::out_of_range("seven");
                                               }),
                    std::out_of_range);
  }
  std::atomic<int> runs{0};
  xg::detail::parallel_items(20, [&](std::int64_t) { ++runs; });
  CHECK(runs == 20);
}

TEST_CASE("a forked child computes, on threads of its own") {
  const Threads four(4);
  const auto before = step<double>();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    _exit(same_bits(step<double>(), before) ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(same_bits(step<double>(), before));
}

#ifdef _OPENMP
TEST_CASE("inside a user's own OpenMP region every thread gets its results") {
  const Threads four(4);
  const auto before = step<double>();
  std::atomic<int> right{0};
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 8; ++i) {
    if (same_bits(step<double>(), before)) ++right;
  }
  CHECK(right == 8);
}
#endif

TEST_CASE("OpenBLAS keeps the number of threads that its user chose") {
  const int before = openblas_get_num_threads();
  for (int chosen : {1, 2}) {
    openblas_set_num_threads(chosen);
    for (int n : {1, 4}) {
      const Threads threads(n);
      (void)step<float>();
      CHECK(openblas_get_num_threads() == chosen);
      std::vector<std::thread> callers;
      for (int caller = 0; caller < 3; ++caller) callers.emplace_back([] { (void)step<float>(); });
      for (auto& caller : callers) caller.join();
      CHECK(openblas_get_num_threads() == chosen);
    }
  }
  openblas_set_num_threads(before);
}
