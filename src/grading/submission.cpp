#include <xgrad/grading/submission.hpp>

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <exception>
#include <mutex>

#include <xgrad/autograd/message.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/join.hpp>
#include <xgrad/ops/views.hpp>

namespace xg::grading {
namespace {

constexpr std::array<int, 4> kSignals = {SIGFPE, SIGSEGV, SIGBUS, SIGILL};

thread_local sigjmp_buf* way_out = nullptr;

extern "C" void leave(int signal) {
  if (way_out != nullptr) siglongjmp(*way_out, signal);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

const char* signal_text(int signal) {
  switch (signal) {
    case SIGFPE:
      return "crashed: integer division by zero";
    case SIGILL:
      return "crashed: illegal instruction (a function that returns nothing?)";
    default:
      return "crashed: a bad pointer, an index out of range, or endless recursion";
  }
}

/// Handlers for the signals of a broken program, for as long as any thread needs them.
class Handlers {
 public:
  Handlers() {
    const std::lock_guard<std::mutex> lock(mutex());
    if (users()++ > 0) return;
    struct sigaction action = {};
    action.sa_handler = leave;
    action.sa_flags = SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &outer()[i]);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;
  ~Handlers() {
    const std::lock_guard<std::mutex> lock(mutex());
    if (--users() > 0) return;
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &outer()[i], nullptr);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static int& users() {
    static int count = 0;
    return count;
  }
  static std::array<struct sigaction, kSignals.size()>& outer() {
    static std::array<struct sigaction, kSignals.size()> actions = {};
    return actions;
  }
};

/// This thread's stack for them: its own may be what ran out.
class SignalStack {
 public:
  SignalStack() : memory_(std::size_t{1} << 16) {
    stack_t own = {};
    own.ss_sp = memory_.data();
    own.ss_size = memory_.size();
    sigaltstack(&own, &outer_);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;
  ~SignalStack() { sigaltstack(&outer_, nullptr); }

 private:
  std::vector<char> memory_;
  stack_t outer_ = {};
};

template <class T>
Variable<T> variable(const std::vector<double>& values, const Shape& shape) {
  const std::vector<T> cast(values.begin(), values.end());
  return from_data(cast.data(), Dims(shape));
}

/// The same values, laid out otherwise; what lies between them is large.
template <class T>
Variable<T> lay_out(const Variable<T>& x, Layout layout) {
  const auto last = static_cast<std::int64_t>(x.dim()) - 1;
  switch (layout) {
    case Layout::contiguous:
      return x;
    case Layout::transposed:
      return swapaxes(swapaxes(x, -1, -2).clone(), -1, -2);
    case Layout::stepped: {
      const Variable<T> gap = full<T>(Dims(x.shape()), T{1000});
      Shape wide = x.shape();
      wide.back() *= 2;
      return slice(reshape(stack<T>({x, gap}, last + 1), Dims(wide)), last, 0, end, 2);
    }
    case Layout::reversed:
      return flip(flip(x, {-1, -2}).clone(), {-1, -2});
    case Layout::offset: {
      const Variable<T> gap = full<T>(Dims(x.shape()), T{1000});
      return slice(concat<T>({gap, x, gap}, last), last, x.shape().back(), 2 * x.shape().back());
    }
    case Layout::repeated:
      return x.dim() == 3 ? broadcast_to(slice(x, 0, 0, 1).clone(), Dims(x.shape())) : x;
  }
  return x;
}

template <class T>
Values values(const Variable<T>& x) {
  const std::vector<T> elements = x.to_vector();
  return {x.shape(), {elements.begin(), elements.end()}};
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
void differentiate(const Case& c, const std::vector<Variable<T>>& inputs,
                   const Attention<T>& result, Observed& seen) {
  std::vector<Variable<T>> outputs;
  std::vector<Variable<T>> seeds;
  if (result.output.requires_grad() && result.output.size() == c.output_cotangent.size()) {
    outputs.push_back(result.output);
    seeds.push_back(variable<T>(c.output_cotangent, result.output.shape()));
  }
  if (result.weights.requires_grad() && result.weights.size() == c.weights_cotangent.size()) {
    outputs.push_back(result.weights);
    seeds.push_back(variable<T>(c.weights_cotangent, result.weights.shape()));
  }
  if (outputs.empty()) return;
  std::vector<Variable<T>> wanted;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < kInputs; ++i) {
    if (c.self && (i == 1 || i == 2)) continue;
    wanted.push_back(inputs[i]);
    positions.push_back(i);
  }
  const auto gradients = grad(outputs, wanted, seeds, allow_unused);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    seen.has_gradient[positions[i]] = true;
    seen.gradients[positions[i]] = values(gradients[i]).data;
  }
}

template <class T>
Observed observe(const AttentionFunction<T>& f, const std::vector<detail::Called>& forbidden,
                 const Case& c, Layout layout) {
  const bool gradients = !c.output_cotangent.empty();
  std::vector<Variable<T>> inputs;
  std::vector<std::vector<T>> before;
  for (std::size_t i = 0; i < kInputs; ++i) {
    if (c.self && (i == 1 || i == 2)) {
      inputs.push_back(inputs[0]);
    } else {
      inputs.push_back(lay_out(variable<T>(c.inputs[i], c.shape(i)), layout));
      if (gradients) inputs.back().set_requires_grad();
    }
    before.push_back(inputs[i].to_vector());
  }
  const Mask mask = c.masked() ? Mask(Dims(c.mask_shape), c.mask) : Mask();

  Observed seen;
  std::uint64_t calls_before = 0;
  for (detail::Called what : forbidden) calls_before += detail::calls(what);
  Attention<T> result;
  seen.thrown = attempt(
      [&] {
        result = f(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], inputs[5], inputs[6],
                   static_cast<std::int64_t>(c.n.H), mask);
      },
      seen.crashed);
  std::uint64_t calls_after = 0;
  for (detail::Called what : forbidden) calls_after += detail::calls(what);
  seen.reference = calls_after != calls_before;
  if (seen.crashed) return seen;
  for (std::size_t i = 0; i < kInputs && seen.changed.empty(); ++i) {
    if (!same_bytes(before[i], inputs[i].to_vector())) seen.changed = kInputNames[i];
  }
  if (!seen.thrown.empty()) return seen;
  if (!result.output.defined()) {
    seen.undefined = "output";
  } else if (!result.weights.defined()) {
    seen.undefined = "weights";
  }
  if (!seen.undefined.empty()) return seen;
  seen.output = values(result.output);
  seen.weights = values(result.weights);
  if (gradients) {
    seen.gradient_error = attempt([&] { differentiate(c, inputs, result, seen); }, seen.crashed);
  }
  return seen;
}

}  // namespace

std::string survive(const std::function<void()>& f) {
  const Handlers handlers;
  const SignalStack stack;
  sigjmp_buf here;
  sigjmp_buf* const outer = way_out;
  const int signal = sigsetjmp(here, 1);
  if (signal != 0) {
    way_out = outer;
    return signal_text(signal);
  }
  way_out = &here;
  try {
    f();
  } catch (...) {
    way_out = outer;
    throw;
  }
  way_out = outer;
  return {};
}

std::string attempt(const std::function<void()>& f, bool& crashed) {
  try {
    std::string signal = survive(f);
    crashed = !signal.empty();
    return signal;
  } catch (const std::exception& error) {
    // A message may be of any length.
    return "threw: " + std::string(error.what()).substr(0, 500);
  } catch (...) {
    return "threw something that is not a std::exception";
  }
}

template <class T>
Runner make_runner(AttentionFunction<T> f, std::vector<detail::Called> forbidden) {
  return [f = std::move(f), forbidden = std::move(forbidden)](const Case& c, Layout layout) {
    return observe<T>(f, forbidden, c, layout);
  };
}

template Runner make_runner(AttentionFunction<float> f, std::vector<detail::Called> forbidden);
template Runner make_runner(AttentionFunction<double> f, std::vector<detail::Called> forbidden);

}  // namespace xg::grading
