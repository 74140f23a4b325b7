// What a node costs: chains of one operation on one scalar or [2,4] array are built, differentiated
// and freed, and compared with libtorch's chain of scalar additions. Then a chain of additions at
// several lengths, against 1000 nodes as often as it takes.
//
// Names: node/OPERATION/SHAPE, chain/NODES.

#include <map>
#include <string>
#include <vector>

#include <xgrad/xgrad.hpp>

#include "timing.hpp"
#include "torch_graphs.hpp"

namespace {

using V = xg::Variable<float>;
using Step = V (*)(const V& y, const V& operand, int i);

class Chain {
 public:
  Chain(const std::string& op, const std::string& shape, int n) : step_(steps().at(op)), n_(n) {
    const xg::Dims dims = shape == "scalar" ? xg::Dims{} : xg::Dims{2, 4};
    x_ = xg::full<float>(dims, 0.5F);
    x_.set_requires_grad();
    operand_ = op == "matmul" ? xg::full<float>({4, 4}, 0.25F) : xg::full<float>(dims, 0.999F);
    operand_.set_requires_grad();
    seed_ = xg::ones<float>(dims).clone();
  }
  void run() {
    x_.set_grad({});
    operand_.set_grad({});
    const double start = now();
    V y = x_;
    for (int i = 0; i < n_; ++i) y = step_(y, operand_, i);
    const double built = now();
    y.backward(seed_);
    const double differentiated = now();
    y = V();
    build_ += built - start;
    backward_ += differentiated - built;
    free_ += now() - differentiated;
    ++runs_;
  }
  /// Nanoseconds for each node.
  void report(benchmark::State& state) const {
    const double nanoseconds = 1e9 / (static_cast<double>(runs_) * n_);
    state.counters["build_ns"] = build_ * nanoseconds;
    state.counters["backward_ns"] = backward_ * nanoseconds;
    state.counters["free_ns"] = free_ * nanoseconds;
  }

  static const std::map<std::string, Step>& steps() {
    static const std::map<std::string, Step> all = {
        {"add", [](const V& y, const V& a, int) { return y + a; }},
        {"mul", [](const V& y, const V& a, int) { return y * a; }},
        {"neg", [](const V& y, const V&, int) { return -y; }},
        // exp alone would leave the range of float after four nodes.
        {"exp", [](const V& y, const V&, int i) { return i % 2 == 0 ? -y : exp(y); }},
        {"matmul", [](const V& y, const V& a, int) { return matmul(y, a); }},
        {"reshape",
         [](const V& y, const V&, int i) {
           if (y.size() > 1) return i % 2 == 0 ? reshape(y, {4, 2}) : reshape(y, {2, 4});
           return i % 2 == 0 ? reshape(y, {1}) : reshape(y, xg::Dims{});
         }},
    };
    return all;
  }

 private:
  static double now() { return bench::seconds(bench::Clock::processor); }

  Step step_;
  int n_;
  V x_, operand_, seed_;
  double build_ = 0, backward_ = 0, free_ = 0;
  long runs_ = 0;
};

void add_node(const std::string& op, const std::string& shape) {
  bench::add("node/" + op + "/" + shape, [=](benchmark::State& state) {
    constexpr int kNodes = 1000;
    Chain chain(op, shape, kNodes);
    std::vector<bench::Contender> contenders = {{"xgrad", [&] { chain.run(); }}};
#if XGRAD_BENCH_TORCH
    bench::Contender same = bench::libtorch_chain(op, shape, kNodes);
    same.name = "libtorch_same";
    contenders.push_back(same);
    contenders.push_back(bench::libtorch_chain("add", "scalar", kNodes));
    contenders.back().name = "libtorch_add";
#endif
    bench::in_turn(state, bench::Clock::processor, contenders);
    chain.report(state);
  });
}

void add_chain(int n) {
  bench::add("chain/" + std::to_string(n), [=](benchmark::State& state) {
    constexpr int kNodes = 1000;
    Chain chain("add", "scalar", n);
    Chain thousand("add", "scalar", kNodes);
    bench::in_turn(state, bench::Clock::processor,
                   {{"xgrad", [&] { chain.run(); }}, {"thousands", [&] {
                                                        for (int i = 0; i < n / kNodes; ++i)
                                                          thousand.run();
                                                      }}});
    chain.report(state);
  });
}

}  // namespace

int main(int argc, char** argv) {
  for (const auto& [op, step] : Chain::steps()) {
    if (op != "matmul") add_node(op, "scalar");
    add_node(op, "2x4");
  }
  for (const int n : {1000, 10000, 100000, 1000000}) add_chain(n);
  return bench::run(argc, argv);
}
