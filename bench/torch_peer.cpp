#include <map>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "peers.hpp"

namespace bench {
namespace {

Run make(const std::string& op, std::int64_t n, at::ScalarType type) {
  at::set_num_threads(1);
  const std::int64_t rows = n / kColumns;
  at::Tensor a = at::empty({n}, at::kDouble);
  at::Tensor b = at::empty({n}, at::kDouble);
  for (std::int64_t i = 0; i < n; ++i) {
    a.data_ptr<double>()[i] = first_value(i);
    b.data_ptr<double>()[i] = second_value(i);
  }
  a = a.to(type);
  b = b.to(type);
  const at::Tensor m = a.view({rows, kColumns});
  const at::Tensor other = b.view({kColumns, rows}).t();
  const at::Tensor row = b.narrow(0, 0, kColumns);
  const at::Tensor mask = a < b;
  const at::Tensor column = b.narrow(0, 0, rows).view({rows, 1});

  std::map<std::string, std::function<at::Tensor()>> runs;
  runs["add"] = [=] { return a + b; };
  runs["sub"] = [=] { return a - b; };
  runs["mul"] = [=] { return a * b; };
  runs["div"] = [=] { return a / b; };
  runs["add scalar"] = [=] { return a + 3; };
  runs["mul scalar"] = [=] { return a * 3; };
  runs["add row"] = [=] { return m + row; };
  runs["mul column"] = [=] { return m * column; };
  runs["add transposed"] = [=] { return m + other; };
  runs["neg"] = [=] { return -a; };
  runs["abs"] = [=] { return at::abs(a); };
  runs["square"] = [=] { return at::square(a); };
  runs["sqrt"] = [=] { return at::sqrt(b); };
  runs["exp"] = [=] { return at::exp(a); };
  runs["log"] = [=] { return at::log(b); };
  runs["sin"] = [=] { return at::sin(a); };
  runs["cos"] = [=] { return at::cos(a); };
  runs["tanh"] = [=] { return at::tanh(a); };
  runs["sigmoid"] = [=] { return at::sigmoid(a); };
  runs["erf"] = [=] { return at::erf(a); };
  runs["gelu"] = [=] { return at::gelu(a); };
  runs["relu"] = [=] { return at::relu(a); };
  runs["pow"] = [=] { return at::pow(b, a); };
  runs["pow 3"] = [=] { return at::pow(b, 3); };
  runs["maximum"] = [=] { return at::maximum(a, b); };
  runs["clip"] = [=] { return at::clamp(a, -1, 1); };
  runs["where"] = [=] { return at::where(mask, a, b); };
  runs["less"] = [=] { return a < b; };
  runs["sum"] = [=] { return a.sum(); };
  runs["mean"] = [=] { return a.mean(); };
  runs["max"] = [=] { return a.max(); };
  runs["prod"] = [=] { return a.prod(); };
  runs["var"] = [=] { return a.var(); };
  runs["sum rows"] = [=] { return m.sum(1); };
  runs["sum columns"] = [=] { return m.sum(0); };
  runs["max rows"] = [=] { return m.amax(1); };
  runs["max columns"] = [=] { return m.amax(0); };
  runs["cumsum"] = [=] { return a.cumsum(0); };
  runs["softmax"] = [=] { return m.softmax(1); };
  runs["softmax columns"] = [=] { return m.softmax(0); };
  runs["log_softmax"] = [=] { return m.log_softmax(1); };
  runs["logsumexp"] = [=] { return m.logsumexp(1); };
  runs["layer_norm"] = [=] { return at::layer_norm(m, {kColumns}, row, row); };
  const auto found = runs.find(op);
  if (found == runs.end()) return Run();
  return [run = found->second] {
    const c10::InferenceMode guard;
    asm volatile("" : : "r"(run().data_ptr()) : "memory");
  };
}

}  // namespace

Run torch_run(const std::string& op, std::int64_t n, float) { return make(op, n, at::kFloat); }
Run torch_run(const std::string& op, std::int64_t n, double) { return make(op, n, at::kDouble); }

}  // namespace bench
