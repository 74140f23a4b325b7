#include "first_parts.hpp"

namespace mutants {

const std::vector<Mutant>& first_forward() {
  static const std::vector<Mutant> all = [] {
    std::vector<Mutant> out;
    for (const auto* family :
         {&first::forward_scale_softmax(), &first::forward_mask(), &first::forward_heads(),
          &first::forward_projections(), &first::forward_results()}) {
      out.insert(out.end(), family->begin(), family->end());
    }
    return out;
  }();
  return all;
}

const std::vector<Mutant>& first_gradient() { return first::gradient(); }

const std::vector<Mutant>& correct_but_unusual() { return first::correct(); }

}  // namespace mutants
