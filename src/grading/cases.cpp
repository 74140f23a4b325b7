#include <xgrad/grading/cases.hpp>

#include <algorithm>
#include <utility>

namespace xg::grading {
namespace {

/// splitmix64
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// A multiple of 1/64 in [-limit/64, limit/64], never 0.
  double number(std::uint64_t limit) {
    const auto size = static_cast<double>(next() % limit + 1) / 64;
    return next() % 2 == 0 ? size : -size;
  }

 private:
  std::uint64_t state_;
};

std::vector<double> numbers(std::size_t size, std::uint64_t limit, Random& random) {
  std::vector<double> x(size);
  for (double& value : x) value = random.number(limit);
  return x;
}

std::size_t product(const Shape& shape) {
  std::size_t size = 1;
  for (std::size_t extent : shape) size *= extent;
  return size;
}

/// Each item's last keys are hidden, at least one.
Case padded(const Sizes& n, std::uint64_t seed) {
  Case c = generic_case("padding", n, seed);
  std::vector<bool> mask;
  for (std::size_t b = 0; b < c.n.B; ++b) {
    for (std::size_t k = 0; k < c.n.K; ++k) mask.push_back(k + 1 + b % 2 < c.n.K);
  }
  set_mask(c, {c.n.B, 1, 1, c.n.K}, std::move(mask));
  return c;
}

void set_causal(Case& c) {
  std::vector<bool> mask;
  for (std::size_t q = 0; q < c.n.Q; ++q) {
    for (std::size_t k = 0; k < c.n.K; ++k) mask.push_back(k + c.n.Q <= q + c.n.K);
  }
  set_mask(c, {c.n.Q, c.n.K}, std::move(mask));
}

/// A full mask in which some queries, and in the last item all, see no key in any head.
Case with_hidden_rows(const Sizes& n, std::uint64_t seed) {
  Case c = generic_case("queries that see no key", n, seed);
  set_random_mask(c, {c.n.B, c.n.H, c.n.Q, c.n.K}, seed);
  for (std::size_t i = 0; i < c.mask.size(); ++i) {
    const std::size_t q = i / c.n.K % c.n.Q;
    const std::size_t h = i / (c.n.K * c.n.Q) % c.n.H;
    const std::size_t b = i / (c.n.K * c.n.Q * c.n.H);
    if (q == 1 || (q == 0 && h == 0) || (c.n.B > 1 && b + 1 == c.n.B)) c.mask[i] = false;
  }
  return c;
}

Case all_hidden(Case c) {
  set_mask(c, {1, 1, 1, 1}, {false});
  return c;
}

/// Scores that are whole multiples of 1024, exactly so in float: D = 8, two heads, sqrt(d) = 2.
Case large_case(bool masked) {
  Case c = generic_case(masked ? "large scores under a mask" : "large scores", {2, 3, 4, 8, 2}, 0);
  const auto identity = [](double value) {
    std::vector<double> w(64);
    for (std::size_t i = 0; i < 8; ++i) w[i * 9] = value;
    return w;
  };
  for (std::size_t i = 3; i < 6; ++i) c.inputs[i] = identity(1);
  // A query of 64 in one feature of each head meets keys whose products are all different.
  for (std::size_t i = 0; i < c.inputs[0].size(); ++i) {
    const std::size_t row = i / 8;
    c.inputs[0][i] = i % 4 == row % 4 ? 64 : 0;
  }
  for (std::size_t i = 0; i < c.inputs[1].size(); ++i) {
    const std::size_t row = i / 8;
    const auto step = static_cast<double>((row * 3 + i % 8 * 5) % 7 + row % 4 * 7);
    c.inputs[1][i] = masked ? -1024 - 64 * step : 32 * (step - 12);
  }
  if (masked) {
    std::vector<bool> mask;
    for (std::size_t i = 0; i < 24; ++i) mask.push_back(i % 4 != (i / 4) % 4);
    set_mask(c, {2, 1, 3, 4}, std::move(mask));
  }
  return c;
}

Case with_random_mask(Case c, const Shape& shape, std::uint64_t seed) {
  set_random_mask(c, shape, seed);
  return c;
}

}  // namespace

Case generic_case(std::string name, const Sizes& n, std::uint64_t seed) {
  Random random(seed * 1000003 + n.B * 31 + n.Q * 37 + n.K * 41 + n.D * 43 + n.H * 47);
  Case c;
  c.name = std::move(name);
  c.n = n;
  for (std::size_t i = 0; i < kInputs; ++i) {
    c.inputs[i] = numbers(product(c.shape(i)), i < 3 ? 96 : 48, random);
  }
  return c;
}

void set_mask(Case& c, Shape shape, std::vector<bool> mask) {
  c.mask_shape = std::move(shape);
  c.mask = std::move(mask);
}

void set_random_mask(Case& c, const Shape& shape, std::uint64_t seed) {
  Random random(seed + 77);
  std::vector<bool> mask(product(shape));
  const std::size_t K = shape.back();
  for (std::size_t row = 0; row < mask.size() / K; ++row) {
    bool any = false;
    bool all = true;
    for (std::size_t k = 0; k < K; ++k) {
      const bool see = random.next() % 5 < 3;
      mask[row * K + k] = see;
      any = any || see;
      all = all && see;
    }
    if (!any) mask[row * K + random.next() % K] = true;
    if (all && K > 1) mask[row * K + random.next() % K] = false;
  }
  set_mask(c, shape, std::move(mask));
}

void set_cotangents(Case& c, std::uint64_t seed) {
  Random random(seed + 4242);
  c.output_cotangent = numbers(c.n.B * c.n.Q * c.n.D, 96, random);
  c.weights_cotangent = numbers(c.n.B * c.n.H * c.n.Q * c.n.K, 96, random);
}

std::vector<Graded> value_cases(std::uint64_t seed) {
  std::vector<Graded> all;
  const auto add = [&](Kind kind, Case c, Layout layout = Layout::contiguous) {
    all.push_back({kind, std::move(c), layout});
  };
  // The square case first: there every mistake is specified.
  const Sizes square = {2, 4, 4, 6, 3};
  const Sizes cross = {3, 4, 5, 6, 2};
  const Sizes equal = {2, 3, 3, 6, 2};  // B = H
  add(Kind::plain, generic_case("as many keys as queries", square, seed));
  add(Kind::plain, generic_case("cross-attention", cross, seed));
  add(Kind::plain, generic_case("fewer keys than queries", {2, 5, 3, 12, 4}, seed));
  add(Kind::plain, generic_case("one head", {2, 3, 4, 4, 1}, seed));
  add(Kind::plain, generic_case("heads of width 1", {1, 2, 3, 3, 3}, seed));
  add(Kind::plain, generic_case("one query", {2, 1, 4, 6, 2}, seed));
  add(Kind::plain, generic_case("one key", {2, 3, 1, 6, 2}, seed));
  add(Kind::plain, generic_case("as many items as heads", equal, seed));

  const auto masked = [&](std::string name, const Sizes& n, const Shape& shape) {
    add(Kind::masked, with_random_mask(generic_case(std::move(name), n, seed), shape, seed));
  };
  masked("a mask for each item, head and query", square, {2, 3, 4, 4});
  masked("a mask for each item, head and query of cross-attention", cross, {3, 2, 4, 5});
  masked("a mask for each head", cross, {1, 2, 1, 5});
  masked("a mask for each item and query", cross, {3, 1, 4, 5});
  masked("a mask for each item where there are as many heads", equal, {2, 1, 3, 3});
  masked("a mask [H,Q,K]", {3, 4, 5, 6, 2}, {2, 4, 5});
  masked("a mask [H,Q,K] where there are as many items", equal, {2, 3, 3});
  masked("a mask [K]", cross, {5});
  add(Kind::masked, padded(cross, seed));
  Case causal = generic_case("a causal mask", square, seed);
  set_causal(causal);
  add(Kind::masked, causal);

  add(Kind::hidden, with_hidden_rows(cross, seed));
  add(Kind::hidden, all_hidden(generic_case("no visible key at all", square, seed)));

  add(Kind::large, large_case(false));
  add(Kind::large, large_case(true));

  for (Layout layout :
       {Layout::transposed, Layout::stepped, Layout::reversed, Layout::offset, Layout::repeated}) {
    Case c = with_random_mask(generic_case("inputs that are not contiguous", cross, seed),
                              {3, 2, 4, 5}, seed);
    if (layout == Layout::repeated) {
      c.name = "items that share memory";
      for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t item = c.inputs[i].size() / c.n.B;
        for (std::size_t j = item; j < c.inputs[i].size(); ++j) {
          c.inputs[i][j] = c.inputs[i][j % item];
        }
      }
    }
    add(Kind::strided, std::move(c), layout);
  }
  return all;
}

std::vector<Graded> gradient_cases(std::uint64_t seed) {
  std::vector<Graded> all;
  const auto add = [&](Kind kind, Case c, Layout layout = Layout::contiguous) {
    set_cotangents(c, seed + all.size());
    all.push_back({kind, std::move(c), layout});
  };
  const Sizes square = {2, 4, 4, 6, 3};
  const Sizes cross = {3, 4, 5, 6, 2};
  add(Kind::plain, generic_case("as many keys as queries", square, seed));
  add(Kind::plain, generic_case("cross-attention", cross, seed));
  add(Kind::plain, generic_case("one head", {2, 3, 4, 4, 1}, seed));
  add(Kind::plain, generic_case("one key", {2, 3, 1, 6, 2}, seed));
  Case self = generic_case("one variable as query, key and value", square, seed);
  self.self = true;
  self.inputs[1] = self.inputs[2] = self.inputs[0];
  add(Kind::plain, self);

  add(Kind::masked, padded(cross, seed));
  add(Kind::masked,
      with_random_mask(generic_case("a mask for each item, head and query", cross, seed),
                       {3, 2, 4, 5}, seed));
  add(Kind::hidden, with_hidden_rows(cross, seed));
  add(Kind::hidden, all_hidden(generic_case("no visible key at all", square, seed)));
  add(Kind::strided,
      with_random_mask(generic_case("inputs that are not contiguous", cross, seed), {3, 2, 4, 5},
                       seed),
      Layout::transposed);
  return all;
}

std::vector<Case> ladder(bool gradients) {
  std::vector<Sizes> sizes;
  for (std::size_t B : {1, 2}) {
    for (std::size_t Q : {1, 2, 3}) {
      for (std::size_t K : {1, 2, 3}) {
        for (std::size_t D : {1, 2, 3, 4, 6}) {
          for (std::size_t H : {1, 2, 3}) {
            if (D % H == 0) sizes.push_back({B, Q, K, D, H});
          }
        }
      }
    }
  }
  const auto cost = [](const Sizes& n) { return n.B * (n.Q + 2 * n.K) * n.D + n.D * n.D + n.H; };
  std::sort(sizes.begin(), sizes.end(), [&](const Sizes& a, const Sizes& b) {
    return std::make_pair(cost(a), a.H) < std::make_pair(cost(b), b.H);
  });
  std::vector<Case> all;
  for (const Sizes& n : sizes) {
    Case plain = generic_case({}, n, 5);
    if (gradients) set_cotangents(plain, 5);
    Case masked = with_random_mask(plain, {n.B, n.H, n.Q, n.K}, 5);
    Case nothing = all_hidden(plain);
    all.push_back(std::move(plain));
    if (n.K > 1) all.push_back(std::move(masked));
    all.push_back(std::move(nothing));
  }
  return all;
}

}  // namespace xg::grading
