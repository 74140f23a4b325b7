#include <doctest/doctest.h>

#include <functional>
#include <new>
#include <string>
#include <vector>

#include <xgrad/xgrad.hpp>

#include "../support/allclose.hpp"
#include "../support/allocations.hpp"
#include "../support/strided.hpp"
#include "graphs.hpp"

// Linked to a library whose memory comes straight from malloc, without a pool.

using test::Attending;
using test::exactly;
using test::sum_of;
using xg::Variable;

TEST_CASE_TEMPLATE("S6: whichever allocation fails, no leaf's gradient has changed", T, float,
                   double) {
  if (!test::allocations_watched()) {
    MESSAGE("skipped: a sanitizer has the allocator");
    return;
  }
  for (const bool persistent : {false, true}) {
    for (const bool first_gradient : {true, false}) {
      for (const auto flags : {xg::GradFlags::none, xg::retain_graph, xg::create_graph}) {
        Attending<T> a;
        a.loss.backward();
        const auto once = a.gradients();
        if (first_gradient) {
          for (auto& x : a.leaf) x.set_grad(Variable<T>());
        }
        const auto before = a.gradients();
        a.build();
        const std::size_t nodes = xg::live_nodes();
        bool reached = true;
        std::size_t n = 0;
        for (; reached; ++n) {
          if (flags == xg::GradFlags::none) a.build();
          bool failed = false;
          {
            const test::FailingAllocation failing(n, persistent);
            try {
              a.loss.backward(flags);
            } catch (const xg::AllocationError&) {
              failed = true;
            } catch (const std::bad_alloc&) {
              failed = true;
            }
            reached = failing.reached();
          }
          REQUIRE(failed == reached);
          if (failed) {
            REQUIRE(a.gradients() == before);
            REQUIRE(xg::live_nodes() == nodes);
          }
        }
        CHECK(n > 100);
        const auto want = first_gradient ? once : sum_of(once, once);
        CHECK(a.gradients() == want);
        if (flags == xg::GradFlags::none) continue;
        a.loss.backward(xg::retain_graph);
        CHECK(a.gradients() == sum_of(want, once));
      }
    }
  }
}

TEST_CASE_TEMPLATE(
    "S6: backward asks for at most one more buffer for each leaf that has a gradient", T, float,
    double) {
  if (!test::allocations_watched()) {
    MESSAGE("skipped: a sanitizer has the allocator");
    return;
  }
  using V = Variable<T>;
  constexpr std::size_t n = 100000;
  V x = xg::ones<T>(n);
  x.set_requires_grad();
  const V seed = xg::ones<T>(n);
  const auto bytes_of_backward = [&] {
    const V y = -x;
    const test::AllocationCount count;
    y.backward(seed);
    return count.bytes();
  };
  constexpr std::size_t buffer = n * sizeof(T);
  CHECK(bytes_of_backward() < buffer + 8192);  // what the rule makes becomes the gradient
  CHECK(bytes_of_backward() < 2 * buffer + 8192);
  CHECK_CLOSE(x.grad(), seed * -2, exactly);
}

namespace {

template <class T>
struct Call {
  const char* name;
  std::function<Variable<T>(const Variable<T>&)> f;
};

/// Every operation on a matrix of 96 x 128 elements that are not zero; results are small or as big.
template <class T>
std::vector<Call<T>> calls() {
  using V = Variable<T>;
  const xg::Mask mask = xg::causal_mask(96, 128);
  return {
      {"add", [](const V& x) { return x + x; }},
      {"sub", [](const V& x) { return x - 1; }},
      {"mul", [](const V& x) { return x * x; }},
      {"div", [](const V& x) { return 1 / x; }},
      {"neg", [](const V& x) { return -x; }},
      {"exp", [](const V& x) { return xg::exp(x); }},
      {"log", [](const V& x) { return xg::log(x); }},
      {"where", [=](const V& x) { return xg::where(mask, x, 0); }},
      {"sum", [](const V& x) { return xg::sum(x); }},
      {"sum over rows", [](const V& x) { return xg::sum(x, 0); }},
      {"mean over columns", [](const V& x) { return xg::mean(x, 1); }},
      {"var", [](const V& x) { return xg::var(x); }},
      {"prod", [](const V& x) { return xg::prod(x, 0); }},
      {"max", [](const V& x) { return xg::max(x, 1); }},
      {"min", [](const V& x) { return xg::min(x); }},
      {"logsumexp", [](const V& x) { return xg::logsumexp(x, 1); }},
      {"cumsum", [](const V& x) { return xg::cumsum(x, 1); }},
      {"softmax", [](const V& x) { return xg::softmax(x); }},
      {"softmax over rows", [](const V& x) { return xg::softmax(x, 0); }},
      {"log_softmax", [](const V& x) { return xg::log_softmax(x); }},
      {"masked_softmax", [=](const V& x) { return xg::masked_softmax(x, mask); }},
      {"matmul", [](const V& x) { return xg::matmul(x, xg::transpose(x)); }},
      {"matmul, transposed", [](const V& x) { return xg::matmul(xg::transpose(x), x); }},
      {"matmul by a vector", [](const V& x) { return xg::matmul(x, xg::ones<T>(128)); }},
      {"concat",
       [](const V& x) {
         return xg::concat({x, x}, 1);
       }},
      {"stack",
       [](const V& x) {
         return xg::stack({x, x}, 1);
       }},
      {"transpose", [](const V& x) { return xg::transpose(x); }},
      {"slice", [](const V& x) { return xg::slice(x, 0, 90, 1, -2); }},
      {"broadcast_to",
       [](const V& x) {
         return xg::broadcast_to(x, {5, 96, 128});
       }},
      {"split", [](const V& x) { return xg::split(x, 2, 1)[1]; }},
      {"squeeze", [](const V& x) { return xg::squeeze(xg::unsqueeze(x, 1), 1); }},
      {"maximum", [](const V& x) { return xg::maximum(x, 1); }},
      {"clip", [](const V& x) { return xg::clip(x, 0.5, 1); }},
      {"pow", [](const V& x) { return xg::pow(x, 3); }},
      {"abs", [](const V& x) { return xg::abs(x); }},
      {"relu", [](const V& x) { return xg::relu(x); }},
      {"gelu", [](const V& x) { return xg::gelu(x); }},
      {"tanh", [](const V& x) { return xg::tanh(x); }},
  };
}

}  // namespace

TEST_CASE_TEMPLATE("S14: strided calls allocate their result and no copy of an input", T, float,
                   double) {
  if (!test::allocations_watched()) {
    MESSAGE("skipped: a sanitizer has the allocator");
    return;
  }
  const Variable<T> plain = xg::uniform<T>({96, 128}, 0.5, 2, 1);
  const std::size_t small = 4096;  // handles, nodes, shapes
  for (const test::Layout layout : test::kLayouts) {
    const Variable<T> x = test::laid_out(plain, layout);
    REQUIRE(test::lies(x, layout));
    for (const auto& call : calls<T>()) {
      CAPTURE(std::string(call.name));
      CAPTURE(test::name(layout));
      (void)call.f(x);  // BLAS makes its own buffers once
      std::size_t bytes = 0;
      Variable<T> y;
      {
        const test::AllocationCount count;
        y = call.f(x);
        bytes = count.bytes();
      }
      CHECK(bytes <= y.size() * sizeof(T) + small);
    }
  }
}

TEST_CASE_TEMPLATE("S13: views allocate no elements at all", T, float, double) {
  if (!test::allocations_watched()) {
    MESSAGE("skipped: a sanitizer has the allocator");
    return;
  }
  Variable<T> x = xg::ones<T>({64, 128});
  x.set_requires_grad();
  const test::AllocationCount count;
  const auto a = xg::reshape(x, {8, 8, 128});
  const auto b = xg::transpose(a, {2, 0, 1});
  const auto c = xg::slice(b, 0, 100, 1, -3);
  const auto d = xg::broadcast_to(xg::unsqueeze(c, 0), {1000, 33, 8, 8});
  const auto e = xg::split(d, 2, 3);
  const auto f = xg::squeeze(xg::slice(e[1], 0, 0, 1));
  const auto g = xg::flip(xg::swapaxes(f, 0, 1));
  CHECK(count.bytes() < 8192);
}

TEST_CASE_TEMPLATE("S12: a sole owner is written in place, without a copy", T, float, double) {
  if (!test::allocations_watched()) {
    MESSAGE("skipped: a sanitizer has the allocator");
    return;
  }
  Variable<T> x = xg::ones<T>(10000);
  x.set_requires_grad();
  const Variable<T> other = xg::zeros<T>(10000);
  xg::sum(x * x).backward();
  const test::AllocationCount count;
  x.set_value(other);
  CHECK(count.bytes() < 1024);
}

TEST_CASE_TEMPLATE("the gradients of a split's parts are written into one buffer", T, float,
                   double) {
  if (!test::allocations_watched()) {
    MESSAGE("skipped: a sanitizer has the allocator");
    return;
  }
  constexpr std::size_t n = 96 * 1000;
  Variable<T> x = xg::uniform<T>({12, 8, 1000}, -1, 1, 1);
  x.set_requires_grad();
  const auto parts = xg::split(x, 12);
  Variable<T> joined = xg::concat(std::vector<Variable<T>>(parts.rbegin(), parts.rend()));
  const Variable<T> seed = xg::uniform<T>({12, 8, 1000}, -1, 1, 2);
  std::size_t bytes = 0;
  {
    const test::AllocationCount count;
    joined.backward(seed);
    bytes = count.bytes();
  }
  CHECK(bytes < n * sizeof(T) + 65536);
  CHECK(x.grad().to_vector() == xg::flip(seed, 0).to_vector());
}

TEST_CASE_TEMPLATE("attention copies nothing to split or merge heads", T, float, double) {
  if (!test::allocations_watched()) {
    MESSAGE("skipped: a sanitizer has the allocator");
    return;
  }
  constexpr std::size_t B = 2, Q = 48, K = 32, D = 64, H = 4;
  // docs/performance.md has the formula. The sizes are multiples of the alignment; only arrays are
  // as large as what is counted.
  constexpr std::size_t query = B * Q * D * sizeof(T);
  constexpr std::size_t key = B * K * D * sizeof(T);
  constexpr std::size_t scores = B * H * Q * K * sizeof(T);
  constexpr std::size_t weight = D * D * sizeof(T);
  constexpr std::size_t least = 4096;
  constexpr std::size_t header = 64;  // of each array
  constexpr std::size_t forward_bytes = 3 * query + 2 * key + scores + 6 * header;
  constexpr std::size_t backward_bytes = 3 * query + 4 * key + scores + 4 * weight + 12 * header;

  std::vector<Variable<T>> in = {xg::uniform<T>({B, Q, D}, -1, 1, 0)};
  for (int i = 1; i < 3; ++i) in.push_back(xg::uniform<T>({B, K, D}, -1, 1, i));
  for (int i = 3; i < 7; ++i) in.push_back(xg::uniform<T>({D, D}, -1, 1, i));
  for (auto& x : in) x.set_requires_grad();
  const Variable<T> seed = xg::ones<T>({B, Q, D}).clone();
  for (const xg::Mask& mask : {xg::Mask(), xg::causal_mask(Q, K, xg::CausalAlign::upper_left)}) {
    CAPTURE(mask.defined());
    const auto forward = [&] {
      return xg::multi_head_attention(in[0], in[1], in[2], in[3], in[4], in[5], in[6], H, mask);
    };
    forward().output.backward(seed);  // BLAS makes its own buffers once
    for (auto& x : in) x.set_grad(Variable<T>());
    std::size_t bytes = 0;
    {
      const test::AllocationCount count(least);
      const auto attention = forward();
      bytes = count.bytes();
    }
    CHECK(bytes == forward_bytes);
    const auto attention = forward();
    {
      const test::AllocationCount count(least);
      attention.output.backward(seed);
      bytes = count.bytes();
    }
    CHECK(bytes == backward_bytes);
  }
}

TEST_CASE_TEMPLATE("scaled_dot_product_attention takes memory linear in Q and K", T, float,
                   double) {
  if (!test::allocations_watched()) {
    MESSAGE("skipped: a sanitizer has the allocator");
    return;
  }
  constexpr std::size_t d = 4;
  const auto bytes = [](std::size_t n) {
    std::vector<Variable<T>> x;
    for (int i = 0; i < 3; ++i) x.push_back(xg::randn<T>({1, 1, n, d}, i).set_requires_grad());
    const Variable<T> seed = xg::ones<T>({1, 1, n, d});
    const test::AllocationCount count;
    xg::scaled_dot_product_attention(x[0], x[1], x[2], {}, {true}).backward(seed);
    return count.bytes();
  };
  const int threads = xg::num_threads();
  xg::set_num_threads(1);  // only this thread's requests are counted
  CHECK(bytes(4096) <= 2 * bytes(2048));
  xg::set_num_threads(threads);
}
