#ifndef XGRAD_GRADING_LAWS_HPP
#define XGRAD_GRADING_LAWS_HPP

// Private: what holds of every right attention, whatever its inputs, and mistakes that show in the
// form of the numbers rather than in their values.

#include <string>
#include <vector>

#include <xgrad/grading/naming.hpp>

namespace xg::grading {

/// Each law that needs no reference, checked on the submission.
std::vector<GradeCheck> check_laws(const std::vector<Judged>& values, const Runner& run,
                                   const Tolerances& t, std::uint64_t seed);

/// "output-not-merged", "layer-norm-added", "dropout-added" or nothing.
std::string law_of_values(const std::vector<const Judged*>& plain, const Runner& run,
                          const Tolerances& t);
/// The constant in the softmax's denominator if there is one, else 0; sets the choices.
double fitted_epsilon(const std::vector<const Judged*>& plain, const Tolerances& t,
                      Choices& choices);
/// Whether hidden scores hold a finite number whose weight shows; sets the choices.
bool fitted_fill(const std::vector<const Judged*>& masked, const Tolerances& t, Choices& choices);

/// Whether results lose what double holds: tiny changes of the inputs do not come through as the
/// choices predict.
bool loses_small_changes(const Judged& one, const Choices& choices, const Runner& run);
/// Whether gradients are right to float's precision only, and lose small changes.
bool gradients_in_float(const std::vector<const Judged*>& plain, const Runner& run,
                        const Tolerances& t);
/// How gradients that are right for a small cotangent stop growing for a large one, or nothing.
std::string clipped(const std::vector<const Judged*>& plain, const Runner& run,
                    const Tolerances& t);
/// Whether an item's results change when another item does.
bool items_depend(const Judged& one, const Runner& run, const Tolerances& t);
/// Each item of an unmasked case, alone.
std::vector<Case> items_of(const Case& c);

}  // namespace xg::grading

#endif
