// The catalogue against itself: every two mistakes differ on the inputs, and a submission that is
// the oracle with a mistake in it is given that mistake's name.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/grading.hpp>
#include <xgrad/grading/cases.hpp>
#include <xgrad/grading/catalogue.hpp>
#include <xgrad/grading/compare.hpp>

namespace {

using namespace xg::grading;
using V = xg::Variable<double>;

V variable(const Values& x) { return xg::from_data(x.data.data(), xg::Dims(x.shape)); }

/// The oracle with these choices as an operation; its output is both results behind each other.
class Oracle final : public xg::Op<double> {
 public:
  Oracle(Case c, const Choices& choices) : c_(std::move(c)), choices_(choices) {
    result_ = attend(c_, choices_, false);
  }
  const Outcome& result() const { return result_; }
  std::string name() const override { return "oracle"; }
  V forward(const std::vector<V>&) const override {
    std::vector<double> both = result_.output.data;
    both.insert(both.end(), result_.weights.data.begin(), result_.weights.data.end());
    return xg::from_data(both.data(), both.size());
  }
  std::vector<V> backward(const std::vector<V>&, const V&, V grad_output,
                          const std::vector<bool>&) const override {
    const std::vector<double> both = grad_output.to_vector();
    Case c = c_;
    const auto cut = both.begin() + static_cast<std::ptrdiff_t>(result_.output.data.size());
    c.output_cotangent.assign(both.begin(), cut);
    c.weights_cotangent.assign(cut, both.end());
    // What a mistake returns can be smaller than what is right, which the way back expects.
    c.output_cotangent.resize(c.n.B * c.n.Q * c.n.D);
    c.weights_cotangent.resize(c.n.B * c.n.H * c.n.Q * c.n.K);
    const Outcome outcome = attend(c, choices_, true);
    std::vector<V> gradients;
    for (std::size_t i = 0; i < kInputs; ++i) {
      if (outcome.gradients[i].empty()) {
        gradients.push_back(xg::zeros<double>(xg::Dims(c.shape(i))));
      } else {
        gradients.push_back(variable({c.shape(i), outcome.gradients[i]}));
      }
    }
    return gradients;
  }

 private:
  Case c_;
  Choices choices_;
  Outcome result_;
};

xg::AttentionFunction<double> submission(const Choices& choices) {
  return [choices](const V& query, const V& key, const V& value, const V& w_q, const V& w_k,
                   const V& w_v, const V& w_o, std::int64_t num_heads,
                   const xg::Mask& mask) -> xg::Attention<double> {
    const std::vector<V> inputs = {query, key, value, w_q, w_k, w_v, w_o};
    Case c;
    const auto D = static_cast<std::int64_t>(query.shape()[2]);
    if (num_heads <= 0 || D % num_heads != 0) throw std::invalid_argument("num_heads");
    c.n = {query.shape()[0], query.shape()[1], key.shape()[1], query.shape()[2],
           static_cast<std::size_t>(num_heads)};
    for (std::size_t i = 0; i < kInputs; ++i) c.inputs[i] = inputs[i].to_vector();
    // The grader hands in one variable three times by its gradient.
    if (mask.defined()) set_mask(c, mask.shape(), mask.to_vector());
    c.self = query.requires_grad() && c.inputs[0] == c.inputs[1] && c.inputs[1] == c.inputs[2];
    auto op = std::make_shared<Oracle>(c, choices);
    if (!op->result().specified) throw std::invalid_argument("does not fit");
    const auto& output = op->result().output;
    const auto size = static_cast<std::int64_t>(output.data.size());
    const V both = xg::apply(op, inputs);
    return {xg::reshape(xg::slice(both, 0, 0, size), xg::Dims(output.shape)),
            xg::reshape(xg::slice(both, 0, size, xg::end), xg::Dims(op->result().weights.shape))};
  };
}

std::string joined(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : " ") + id;
  return text;
}

struct Named {
  std::string id;
  Choices choices;
};

std::vector<Named> all_choices(const std::vector<Mistake>& mistakes) {
  std::vector<Named> all;
  for (const Mistake& one : mistakes) {
    for (Change change : one.variants) {
      all.push_back({one.id, {}});
      change(all.back().choices);
    }
  }
  return all;
}

bool differ(const Outcome& a, const Outcome& b) {
  if (!a.specified || !b.specified) return false;
  if (compare(a.output, b.output, 1e-8).differs) return true;
  if (compare_weights(a.weights, b.weights, 1e-8).differs) return true;
  for (std::size_t i = 0; i < kInputs; ++i) {
    const Values x{{a.gradients[i].size()}, a.gradients[i]};
    const Values y{{b.gradients[i].size()}, b.gradients[i]};
    if (compare(x, y, 1e-8).differs) return true;
  }
  return false;
}

void check_separate(const std::vector<Mistake>& mistakes, const std::vector<Graded>& cases,
                    bool gradients) {
  std::vector<Named> all = all_choices(mistakes);
  all.push_back({"right", {}});
  std::vector<std::vector<Outcome>> outcomes;
  for (const Named& one : all) {
    outcomes.emplace_back();
    for (const Graded& graded : cases) {
      outcomes.back().push_back(attend(graded.c, one.choices, gradients));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (all[i].id == all[j].id) continue;
      bool apart = false;
      for (std::size_t k = 0; k < cases.size() && !apart; ++k) {
        apart = differ(outcomes[i][k], outcomes[j][k]);
      }
      INFO(all[i].id << " and " << all[j].id);
      CHECK(apart);
    }
  }
}

}  // namespace

TEST_CASE("the oracle without a mistake passes") {
  const auto report = xg::grade<double>(submission({}));
  INFO(report.to_string());
  CHECK(report.passed());
  CHECK(report.mistakes().empty());
}

TEST_CASE("every two mistakes of the values differ on the inputs") {
  check_separate(forward_mistakes(), value_cases(1), false);
}

TEST_CASE("every two mistakes of the gradients differ on the inputs") {
  check_separate(gradient_mistakes(), gradient_cases(1), true);
}

TEST_CASE("the documentation lists each mistake") {
  std::ifstream file(XGRAD_GRADING_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const auto* mistakes : {&forward_mistakes(), &gradient_mistakes(), &law_mistakes()}) {
    for (const Mistake& one : *mistakes) {
      INFO(one.id);
      CHECK(page.find(std::string("| `") + one.id + "` | " + one.name + " |") != std::string::npos);
      CHECK(&mistake(one.id) == &one);
    }
  }
  CHECK_THROWS_AS(mistake("no-such-mistake"), xg::ArgumentError);
}

TEST_CASE("each mistake of the catalogue is given its name") {
  for (const auto* mistakes : {&forward_mistakes(), &gradient_mistakes()}) {
    for (const Named& one : all_choices(*mistakes)) {
      const auto report = xg::grade<double>(submission(one.choices));
      INFO(report.to_string());
      CHECK(joined(report.mistakes()) == one.id);
      CHECK_FALSE(report.passed());
    }
  }
}
