#include <functional>
#include <iterator>
#include <sstream>
#include <vector>

#include "fuzz.hpp"

// The input is a program: each step is an instruction's byte and the bytes of its arguments. The
// arguments are small variables made by earlier steps, and numbers that need not make sense.

namespace {

using xg::Mask;

constexpr std::size_t kVariables = 12;
constexpr std::size_t kMostElements = 256;
constexpr int kMostSteps = 48;

template <class T>
class Machine {
 public:
  using V = xg::Variable<T>;

  explicit Machine(fuzz::Bytes bytes) : bytes_(bytes), variables_(kVariables), masks_(4) {
    variables_[0] = V({{1, -2, 3}, {0.5, 5, -6}}, true);
    variables_[1] = V({0, 1, 2}, true);
    variables_[2] = V(T(0.25), true);
    masks_[0] = Mask({true, false, true});
  }

  void run() {
    for (int step = 0; step < kMostSteps && !bytes_.empty(); ++step) {
      fuzz::attempt([&] { instruction(); });
    }
    for (V& x : variables_) {
      if (!x.defined()) continue;
      if (x.grad().defined()) {
        fuzz::require(x.grad().shape() == x.shape(), "gradient of another shape");
      }
      // A gradient with a graph of its own holds its leaf, and the leaf it.
      x.set_grad(V());
    }
  }

 private:
  V& variable() { return variables_[bytes_.below(kVariables)]; }
  Mask& mask() { return masks_[bytes_.below(masks_.size())]; }
  T number() { return static_cast<T>(bytes_.number()); }
  std::int64_t integer() { return bytes_.integer(); }
  bool flip() { return bytes_.flip(); }

  std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> list(bytes_.below(5));
    for (std::int64_t& value : list) value = integer();
    return list;
  }
  /// A shape that is likely to exist, or anything.
  std::vector<std::int64_t> extents() {
    std::vector<std::int64_t> list = integers();
    if (flip()) return list;
    for (std::int64_t& extent : list) extent &= 3;
    return list;
  }
  xg::Sections sections() {
    if (flip()) return integer();
    return integers();
  }
  xg::Indices indices() {
    const std::vector<std::int64_t> shape = extents();
    std::vector<std::int64_t> values(bytes_.below(7));
    for (std::int64_t& value : values) value = integer();
    if (flip()) return values;
    return xg::Indices(shape, values);
  }
  std::vector<V> several() {
    std::vector<V> list(bytes_.below(4));
    for (V& x : list) x = variable();
    return list;
  }
  std::string equation() {
    constexpr char symbols[] = "ijkij,->... ";
    std::string text;
    const std::size_t length = bytes_.below(16);
    for (std::size_t i = 0; i < length; ++i) text += symbols[bytes_.below(std::size(symbols) - 1)];
    return text;
  }
  xg::GradFlags flags() { return static_cast<xg::GradFlags>(bytes_.below(8)); }

  /// A large result, such as a broadcast view, is not worked with.
  void put(V x) {
    if (x.defined() && x.size() > kMostElements) return;
    variable() = std::move(x);
  }
  void put(std::vector<V> list) {
    for (V& x : list) put(std::move(x));
  }
  void put(xg::Attention<T> result) {
    put(std::move(result.output));
    put(std::move(result.weights));
  }
  void put(Mask result) {
    if (!result.defined() || result.size() <= kMostElements) mask() = std::move(result);
  }

  // The operand lists: arguments of a call are evaluated in an order that compilers choose, and the
  // same input has to give the same program.
  template <class F>
  void unary(F f) {
    V x = variable();
    put(f(std::move(x)));
  }
  template <class F>
  void binary(F f) {
    V a = variable();
    V b = variable();
    put(f(std::move(a), std::move(b)));
  }
  template <class F>
  void reduction(F f) {
    V x = variable();
    const xg::Axes axes = integers();
    put(f(std::move(x), axes, flip()));
  }
  template <class F>
  void with_integer(F f) {
    V x = variable();
    put(f(std::move(x), integer()));
  }
  template <class F>
  void with_integers(F f) {
    V x = variable();
    put(f(std::move(x), integers()));
  }
  template <class F>
  void with_list(F f) {
    std::vector<V> list = several();
    put(f(std::move(list), integer()));
  }

  void instruction() {
    switch (bytes_.below(80)) {
      case 0:
        return binary([](V a, V b) { return a + b; });
      case 1:
        return binary([](V a, V b) { return a - b; });
      case 2:
        return binary([](V a, V b) { return a * b; });
      case 3:
        return binary([](V a, V b) { return a / b; });
      case 4:
        return binary([](V a, V b) { return pow(a, b); });
      case 5:
        return binary([](V a, V b) { return maximum(a, b); });
      case 6:
        return binary([](V a, V b) { return minimum(a, b); });
      case 7:
        return binary([](V a, V b) { return matmul(a, b); });
      case 8:
        return binary([](V a, V b) { return mse_loss(a, b); });
      case 9:
        return binary([](V a, V b) { return a < b; });
      case 10:
        return binary([](V a, V b) { return a >= b; });
      case 11:
        return binary([](V a, V b) { return a == b; });
      case 12:
        return binary([](V a, V b) { return a != b; });
      case 13:
        return unary([](V x) { return -x; });
      case 14:
        return unary([](V x) { return exp(x); });
      case 15:
        return unary([](V x) { return log(x); });
      case 16:
        return unary([](V x) { return sqrt(x); });
      case 17:
        return unary([](V x) { return square(x); });
      case 18:
        return unary([](V x) { return abs(x); });
      case 19:
        return unary([](V x) { return tanh(x); });
      case 20:
        return unary([](V x) { return sigmoid(x); });
      case 21:
        return unary([](V x) { return relu(x); });
      case 22:
        return unary([](V x) { return gelu(x); });
      case 23:
        return unary([](V x) { return erf(x); });
      case 24:
        return unary([](V x) { return sin(x); });
      case 25:
        return unary([](V x) { return cos(x); });
      case 26:
        return unary([](V x) { return flatten(x); });
      case 27:
        return unary([](V x) { return x.clone(); });
      case 28:
        return unary([](V x) { return x.detach(); });
      case 29:
        return reduction([](auto... a) { return xg::sum(a...); });
      case 30:
        return reduction([](auto... a) { return xg::mean(a...); });
      case 31:
        return reduction([](auto... a) { return xg::max(a...); });
      case 32:
        return reduction([](auto... a) { return xg::min(a...); });
      case 33:
        return reduction([](auto... a) { return xg::prod(a...); });
      case 34:
        return reduction([](auto... a) { return xg::logsumexp(a...); });
      case 35: {
        const std::int64_t ddof = integer();
        return reduction([&](auto... a) { return xg::var(a..., ddof); });
      }
      case 36:
        return with_integer([](V x, std::int64_t i) { return cumsum(x, i); });
      case 37:
        return with_integer([](V x, std::int64_t i) { return softmax(x, i); });
      case 38:
        return with_integer([](V x, std::int64_t i) { return log_softmax(x, i); });
      case 39:
        return with_integer([](V x, std::int64_t i) { return unsqueeze(x, i); });
      case 40:
        return with_integers([](V x, xg::Axes axes) { return transpose(x, axes); });
      case 41:
        return with_integers([](V x, xg::Axes axes) { return squeeze(x, axes); });
      case 42:
        return with_integers([](V x, xg::Axes axes) { return flip_axes(x, axes); });
      case 43:
        return with_list([](std::vector<V> x, std::int64_t i) { return xg::concat(x, i); });
      case 44:
        return with_list([](std::vector<V> x, std::int64_t i) { return xg::stack(x, i); });
      case 45:
        return reshaped([](V x, const xg::Dims& dims) { return reshape(x, dims); });
      case 46:
        return reshaped([](V x, const xg::Dims& dims) { return broadcast_to(x, dims); });
      case 47: {
        V x = variable();
        const std::int64_t i = integer();
        return put(swapaxes(x, i, integer()));
      }
      case 48:
      case 49: {
        V x = variable();
        const std::int64_t axis = integer();
        const std::int64_t start = integer();
        const std::int64_t stop = integer();
        return put(slice(x, axis, start, stop, integer()));
      }
      case 50: {
        V x = variable();
        const xg::Sections cuts = sections();
        return put(split(x, cuts, integer()));
      }
      case 51: {
        V x = variable();
        const xg::Indices which = indices();
        return put(take(x, which, integer()));
      }
      case 52: {
        V table = variable();
        return put(embedding(table, indices()));
      }
      case 53: {
        V logits = variable();
        return put(cross_entropy(logits, indices()));
      }
      case 54: {
        V x = variable();
        const T low = number();
        return put(clip(x, low, number()));
      }
      case 55: {
        V x = variable();
        const double p = bytes_.number();
        return put(dropout(x, p, static_cast<std::uint64_t>(integer())));
      }
      case 56: {
        const Mask m = mask();
        V a = variable();
        return put(where(m, a, variable()));
      }
      case 57: {
        V x = variable();
        const Mask m = mask();
        return put(masked_softmax(x, m, integer()));
      }
      case 58: {
        V x = variable();
        V weight = variable();
        V bias = variable();
        return put(layer_norm(x, weight, bias, bytes_.number()));
      }
      case 59: {
        const std::string text = equation();
        return put(xg::einsum(text, several()));
      }
      case 60: {
        V q = variable();
        V k = variable();
        V v = variable();
        if (flip()) return put(xg::attention_kernel(q, k, v, mask()));
        const bool causal = flip();
        return put(xg::scaled_dot_product_attention(q, k, v, mask(), {causal, bytes_.number()}));
      }
      case 61: {
        V x[7];
        for (V& one : x) one = variable();
        const std::int64_t heads = integer();
        if (flip()) {
          return put(xg::multi_head_attention_output(x[0], x[1], x[2], x[3], x[4], x[5], x[6], heads,
                                                     mask()));
        }
        return put(
            xg::multi_head_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6], heads, mask()));
      }
      case 62: {
        const std::int64_t queries = integer();
        const std::int64_t keys = integer();
        const auto align = flip() ? xg::CausalAlign::lower_right : xg::CausalAlign::upper_left;
        return put(xg::causal_mask(queries, keys, align));
      }
      case 63: {
        const auto lengths = integers();
        return put(xg::padding_mask(lengths, integer()));
      }
      case 64: {
        const Mask a = mask();
        const Mask b = mask();
        return put(flip() ? a & b : flip() ? a | b : ~a);
      }
      case 65: {
        const auto shape = extents();
        std::vector<bool> values(bytes_.below(13));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = flip();
        return put(Mask(shape, values));
      }
      case 66: {
        const auto shape = extents();
        return put(xg::randn<T>(shape, bytes_.byte()).set_requires_grad(flip()));
      }
      case 67: {
        const auto shape = extents();
        return put(xg::full<T>(shape, number()).set_requires_grad(flip()));
      }
      case 68: {
        // A tiny step makes an array as long as memory allows.
        const T start = number();
        const T stop = number();
        return put(xg::arange<T>(start, stop, number()));
      }
      case 69: {
        const auto shape = extents();
        const T low = number();
        return put(xg::uniform<T>(shape, low, number(), bytes_.byte()));
      }
      case 70:
        return variable().backward(flags());
      case 71: {
        const V y = variable();
        const V seed = variable();
        return y.backward(seed, flags());
      }
      case 72: {
        const auto outputs = several();
        const auto inputs = several();
        const auto seeds = several();
        return put(xg::grad(outputs, inputs, seeds, flags()));
      }
      case 73: {
        V& x = variable();
        if (flip()) return x.retain_grad();
        if (flip()) return x.zero_grad();
        if (flip()) return x.set_grad(variable());
        x.set_requires_grad(flip());
        return;
      }
      case 74: {
        // A hook keeps no handle: it would keep its own graph alive.
        const V factor = variable().detach();
        auto hook = variable().register_hook([factor](const V& g) { return g * factor; });
        if (flip()) hook.remove();
        return;
      }
      case 75:
        return variable().set_value(variable());
      case 76: {
        const V x = variable();
        const xg::Dims index = integers();
        x.at(index);
        x.item();
        return;
      }
      case 77: {
        const V x = variable();
        std::ostringstream out;
        out << x << mask() << xg::graph_dot(x) << xg::graph_text(x);
        return;
      }
      case 78: {
        variable().set_name(equation());
        return;
      }
      default:
        return guarded();
    }
  }

  template <class F>
  void reshaped(F f) {
    V x = variable();
    put(f(x, extents()));
  }
  static V flip_axes(const V& x, const xg::Axes& axes) { return xg::flip(x, axes); }

  void guarded() {
    if (depth_ == 4 || bytes_.empty()) return;
    ++depth_;
    fuzz::attempt([&] {
      if (flip()) {
        const xg::NoGrad guard;
        instruction();
      } else {
        const xg::AnomalyMode guard;
        instruction();
      }
    });
    --depth_;
  }

  fuzz::Bytes bytes_;
  std::vector<V> variables_;
  std::vector<Mask> masks_;
  int depth_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  if (bytes.flip()) {
    Machine<float>(bytes).run();
  } else {
    Machine<double>(bytes).run();
  }
  fuzz::require(xg::live_nodes() == 0, "nodes are left");
  return 0;
}
