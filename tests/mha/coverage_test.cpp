#include "../support/coverage_guard.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;

namespace {

template <class T>
xg::Variable<T> both(const xg::Attention<T>& a) {
  return xg::concat({flatten(a.output), flatten(a.weights)});
}

struct Sizes {
  std::int64_t B, H, Q, K, D;
};

void expect_both(const Sizes& s, const xg::Mask& mask) {
  expect_grad("attention_kernel",
              [&](const auto& x) { return both(xg::attention_kernel(x[0], x[1], x[2], mask)); },
              {numbers({s.B, s.H, s.Q, s.D}, 1), numbers({s.B, s.H, s.K, s.D}, 2),
               numbers({s.B, s.H, s.K, s.D}, 3)});
  const std::int64_t width = s.H * s.D;
  expect_grad(
      "multi_head_attention",
      [&](const auto& x) {
        return both(xg::multi_head_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6], s.H, mask));
      },
      {numbers({s.B, s.Q, width}, 1), numbers({s.B, s.K, width}, 2), numbers({s.B, s.K, width}, 3),
       numbers({width, width}, 4, -1, 1), numbers({width, width}, 5, -1, 1),
       numbers({width, width}, 6, -1, 1), numbers({width, width}, 7, -1, 1)});
}

}  // namespace

TEST_CASE("both results of attention have the right gradients at every size") {
  test::exempt("attention_kernel", "0-D", "queries, keys and values have four axes");
  test::exempt("multi_head_attention", "0-D", "queries, keys and values have three axes");
  expect_both({2, 2, 2, 3, 1}, {});
  expect_both({1, 2, 2, 3, 2}, xg::Mask{{true, false, true}, {false, false, false}});
  expect_both({1, 1, 1, 1, 1}, {});
  expect_both({0, 2, 2, 3, 1}, {});
  expect_both({1, 2, 0, 3, 1}, {});
  expect_both({1, 2, 2, 0, 1}, {});
}

TEST_SUITE("last") {  // --order-by=suite puts it behind the cases without a suite
  TEST_CASE("attention is tested in every way, as docs/operations.md says") {
    test::guard_coverage("mha");
  }
}
