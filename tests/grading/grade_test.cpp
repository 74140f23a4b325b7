// grade(f) in this process: what it says, and that it survives what f does.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <xgrad/display.hpp>
#include <xgrad/grading.hpp>

namespace {

using V = xg::Variable<double>;
using Ids = std::vector<std::string>;

template <class T>
xg::Attention<T> right(const xg::Variable<T>& query, const xg::Variable<T>& key,
                       const xg::Variable<T>& value, const xg::Variable<T>& w_q,
                       const xg::Variable<T>& w_k, const xg::Variable<T>& w_v,
                       const xg::Variable<T>& w_o, std::int64_t num_heads, const xg::Mask& mask) {
  const auto D = static_cast<std::int64_t>(query.shape()[2]);
  if (num_heads <= 0 || D % num_heads != 0) throw std::invalid_argument("num_heads");
  const auto heads = [&](const xg::Variable<T>& x, const xg::Variable<T>& w) {
    const xg::Shape shape = x.shape();
    return transpose(reshape(matmul(x, w), {shape[0], shape[1], num_heads, D / num_heads}),
                     {0, 2, 1, 3});
  };
  auto [output, weights] =
      xg::attention_kernel(heads(query, w_q), heads(key, w_k), heads(value, w_v), mask);
  const auto joined = reshape(transpose(output, {0, 2, 1, 3}), query.shape());
  return {matmul(joined, w_o), weights};
}

xg::Attention<double> kernel(const V& q, const V& k, const V& v, const xg::Mask& mask,
                             std::int64_t axis) {
  const V scores = matmul(q, swapaxes(k, -1, -2)) / std::sqrt(static_cast<double>(q.shape()[3]));
  const V weights = masked_softmax(scores, mask, axis);
  return {matmul(weights, v), weights};
}

/// A submission that does something else first.
template <class F>
xg::AttentionFunction<double> first(F f) {
  return [f](const V& query, const V& key, const V& value, const V& w_q, const V& w_k, const V& w_v,
             const V& w_o, std::int64_t num_heads, const xg::Mask& mask) {
    f(query, num_heads);
    return right<double>(query, key, value, w_q, w_k, w_v, w_o, num_heads, mask);
  };
}

using Rule = V (*)(const V& y, const V& g);

class OwnSoftmax final : public xg::Op<double> {
 public:
  OwnSoftmax(xg::Mask mask, Rule rule) : mask_(std::move(mask)), rule_(rule) {}
  std::string name() const override { return "own_softmax"; }
  V forward(const std::vector<V>& in) const override { return masked_softmax(in[0], mask_); }
  std::vector<V> backward(const std::vector<V>&, const V& y, V g,
                          const std::vector<bool>&) const override {
    return {rule_(y, g)};
  }

 private:
  xg::Mask mask_;
  Rule rule_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::int64_t endless(std::int64_t depth) {
  volatile char frame[4096] = {};
  frame[depth % 4096] = 1;
  return depth < 0 ? 0 : endless(depth + 1) + frame[0];
}

int* volatile nowhere = nullptr;
volatile std::int64_t sink = 0;

}  // namespace

TEST_CASE("a right function passes in float and double, within a second") {
  const std::clock_t start = std::clock();  // of the processor: others may use the machine
  const xg::GradeReport report = xg::grade<double>(right<double>);
  const std::clock_t took = std::clock() - start;
  INFO(report.to_string());
  CHECK(report.passed());
  CHECK(report.mistakes().empty());
  CHECK(took < CLOCKS_PER_SEC);
  CHECK(xg::grade<float>(right<float>).passed());
  CHECK(contains(report.to_string(), "reference preview: passed"));
}

TEST_CASE("a report names the mistake, its evidence, its place and a hint") {
  const auto report = xg::grade_attention_kernel<double>(
      [](const V& q, const V& k, const V& v, const xg::Mask& mask) {
        return kernel(q, k, v, mask, 2);
      });
  CHECK_FALSE(report.passed());
  REQUIRE(report.mistakes() == Ids{"softmax-over-queries"});
  const xg::GradeFinding& finding = report.findings[0];
  CHECK(contains(finding.evidence, "B=1 Q=2 K=1 D=1 H=1: weights (0, 0, 0, 0): got 0.5"));
  CHECK(contains(finding.evidence, "instead of 1; the sums over the queries are 1"));
  CHECK(contains(finding.place, "softmax"));
  CHECK_FALSE(finding.hint.empty());
  CHECK(contains(report.to_string(), finding.evidence));
  CHECK(contains(report.to_html(), "softmax-over-queries"));
  CHECK_FALSE(contains(report.to_html(), "<script src"));
}

TEST_CASE("a report's picture has its verdict and its lines, and changes no style of the page") {
  const auto good = xg::grade<double>(right<double>);
  CHECK(picture(good).text + "\n" == good.to_string());
  CHECK(contains(picture(good).html, "\u2713 passed"));
  const auto bad = xg::grade_attention_kernel<double>(
      [](const V& q, const V& k, const V& v, const xg::Mask& mask) {
        return kernel(q, k, v, mask, 2);
      });
  const nlohmann::json bundle = mime_bundle_repr(bad);
  CHECK(bundle["text/plain"] == picture(bad).text);
  CHECK(bundle["text/html"] == picture(bad).html);
  CHECK(contains(bundle["text/html"], "\u2717 failed"));
  CHECK(contains(bundle["text/html"], "[softmax-over-queries]\n</div><div>    where     weights"));
  CHECK_FALSE(contains(bundle["text/html"], "<style"));
}

TEST_CASE("the library's own functions are recognised, also where a gradient flows") {
  const auto own = xg::grade<double>(xg::multi_head_attention<double>);
  CHECK_FALSE(own.passed());
  CHECK(own.mistakes().empty());
  CHECK(contains(own.to_string(), "it calls the library's own attention"));
  CHECK_FALSE(xg::grade_attention_kernel<float>(xg::attention_kernel<float>).passed());
  // The fused forms give no weights; these are someone's who wrote half of it.
  const auto fused = xg::grade<double>([](const V& query, const V& key, const V& value,
                                          const V& w_q, const V& w_k, const V& w_v, const V& w_o,
                                          std::int64_t num_heads, const xg::Mask& mask) {
    const V output =
        xg::multi_head_attention_output(query, key, value, w_q, w_k, w_v, w_o, num_heads, mask);
    return xg::Attention<double>{
        output, right<double>(query, key, value, w_q, w_k, w_v, w_o, num_heads, mask).weights};
  });
  CHECK_FALSE(fused.passed());
  CHECK(contains(fused.to_string(), "it calls the library's own attention"));
  CHECK_FALSE(xg::grade_attention_kernel<double>([](const V& q, const V& k, const V& v,
                                                    const xg::Mask& mask) {
                return xg::Attention<double>{xg::scaled_dot_product_attention(q, k, v, mask),
                                             kernel(q, k, v, mask, -1).weights};
              }).passed());
  CHECK(xg::grade_attention_kernel<double>([](const V& q, const V& k, const V& v,
                                              const xg::Mask& mask) {
          return kernel(q, k, v, mask, -1);
        }).passed());
}

TEST_CASE("what a submission throws goes no further") {
  const auto report = xg::grade<double>(
      first([](const V&, std::int64_t) { throw std::runtime_error("not today"); }));
  CHECK_FALSE(report.passed());
  CHECK(contains(report.to_string(), "threw: not today"));
  CHECK_FALSE(xg::grade<double>(first([](const V&, std::int64_t) { throw 42; })).passed());
  CHECK_FALSE(xg::grade<double>(xg::AttentionFunction<double>()).passed());
}

TEST_CASE("a crash inside a submission ends its grading, not the process") {
  const auto pointer = xg::grade<double>(first([](const V&, std::int64_t) { *nowhere = 1; }));
  CHECK(contains(pointer.to_string(), "crashed: a bad pointer"));
  CHECK(pointer.checks.size() == 1);
  const auto deep = xg::grade<double>(first([](const V&, std::int64_t) { sink = endless(0); }));
  CHECK(contains(deep.to_string(), "endless recursion"));
  CHECK(xg::grade<double>(right<double>).passed());
}

TEST_CASE("a number of heads that is used before it is checked is named") {
  const auto report = xg::grade<double>(first([](const V& query, std::int64_t num_heads) {
    const auto D = static_cast<std::int64_t>(query.shape()[2]);
    sink = D / num_heads;
  }));
  CHECK(report.mistakes() == Ids{"heads-unchecked"});
  CHECK(contains(report.to_string(), "D=6 H=0: it crashed: integer division by zero"));
}

TEST_CASE("where no mistake fits, the report says what is known and names nothing") {
  const auto report = xg::grade<double>([](const V& query, const V& key, const V& value,
                                           const V& w_q, const V& w_k, const V& w_v, const V& w_o,
                                           std::int64_t num_heads, const xg::Mask& mask) {
    auto result = right<double>(query, key, value, w_q, w_k, w_v, w_o, num_heads, mask);
    result.output = sin(result.output) * 3.0;
    return result;
  });
  CHECK_FALSE(report.passed());
  CHECK(report.mistakes().empty());
  const std::string text = report.to_string();
  CHECK(contains(text, "No known mistake explains"));
  CHECK(contains(text,
                 "WRONG doubling w_o doubles the output\n          then output at (0, 0, 0): got"));
  CHECK(contains(text, "want -0.651814 (48 of 48 elements differ)\n    WRONG cross-attention"));
  CHECK(contains(text, "    ... and 5 more\n"));
  CHECK_FALSE(contains(text, "WRONG each row of the weights"));
}

TEST_CASE("lines that fail alike are shown three times, the same words once") {
  xg::GradeReport report;
  for (int i = 0; i < 6; ++i) {
    const std::string number = std::to_string(i);
    report.checks.push_back({"T2", "case " + number, false, "output at (" + number + "): wrong"});
    report.checks.push_back({"T2", "shape " + number, false, "threw: no room"});
  }
  report.checks.push_back({"T2", "law", false, "the rows do not sum to one"});
  CHECK(contains(report.to_string(),
                 "    WRONG case 0\n          output at (0): wrong\n"
                 "    WRONG shape 0 and 5 more\n          threw: no room\n"
                 "    WRONG case 1\n          output at (1): wrong\n"
                 "    WRONG case 2\n          output at (2): wrong\n"
                 "    WRONG law\n          the rows do not sum to one\n"
                 "    ... and 3 more\n"));
}

TEST_CASE("queries that are scaled before attention_kernel scales them are divided by d") {
  const auto report = xg::grade<double>([](const V& query, const V& key, const V& value,
                                           const V& w_q, const V& w_k, const V& w_v, const V& w_o,
                                           std::int64_t num_heads, const xg::Mask& mask) {
    const auto width = static_cast<double>(query.shape()[2]) / static_cast<double>(num_heads);
    return right<double>(query / std::sqrt(width), key, value, w_q, w_k, w_v, w_o, num_heads, mask);
  });
  REQUIRE(report.mistakes() == Ids{"scale-by-d"});
  CHECK(contains(report.findings[0].name, "twice by its root"));
}

TEST_CASE("a softmax rule of somebody's own is told which part of the Jacobian it lacks") {
  const auto mistakes = [](Rule rule) {
    return xg::grade_masked_softmax_rule<double>(
               [rule](const xg::Mask& mask) { return std::make_shared<OwnSoftmax>(mask, rule); })
        .mistakes();
  };
  CHECK(mistakes([](const V& y, const V& g) { return y * g - y * sum(y * g, -1, true); }).empty());
  CHECK(mistakes([](const V& y, const V& g) { return g * y * (1 - y); }) ==
        Ids{"grad-softmax-diagonal"});
  CHECK(mistakes([](const V& y, const V& g) { return y * g - y * sum(y * g); }) ==
        Ids{"grad-softmax-wrong-axis"});
}

TEST_CASE("a row of 0/0 is told as NaN, without a sign") {
  const auto report = xg::grade_attention_kernel<double>(
      [](const V& q, const V& k, const V& v, const xg::Mask& mask) {
        V scores = matmul(q, swapaxes(k, -1, -2)) / std::sqrt(static_cast<double>(q.shape()[3]));
        if (mask.defined()) scores = where(mask, scores, -1e9);
        V e = exp(scores - max(scores, -1, true).detach());
        if (mask.defined()) e = where(mask, e, 0.0);
        const V weights = e / sum(e, -1, true);
        return xg::Attention<double>{matmul(weights, v), weights};
      });
  REQUIRE(report.mistakes() == Ids{"mask-fill-inf"});
  CHECK(contains(report.findings[0].name, "is NaN (0/0,"));
  CHECK(contains(report.to_string(), "got nan"));
  CHECK_FALSE(contains(report.to_string(), "-nan"));
}

TEST_CASE("several threads may grade at once") {
  std::vector<std::thread> threads;
  std::vector<int> passed(4);
  for (std::size_t i = 0; i < passed.size(); ++i) {
    threads.emplace_back(
        [&passed, i] { passed[i] = static_cast<int>(xg::grade<double>(right<double>).passed()); });
  }
  for (std::thread& one : threads) one.join();
  CHECK(passed == std::vector<int>{1, 1, 1, 1});
}
