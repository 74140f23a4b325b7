#include <xgrad/grading/oracle.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace xg::grading {
namespace {

using Numbers = std::vector<double>;

/// A four-dimensional array [B,H,N,d].
struct Heads4 {
  Heads4(std::size_t b, std::size_t h, std::size_t n, std::size_t d)
      : B(b), H(h), N(n), d(d), data(b * h * n * d) {}
  double& at(std::size_t b, std::size_t h, std::size_t n, std::size_t i) {
    return data[((b * H + h) * N + n) * d + i];
  }
  double at(std::size_t b, std::size_t h, std::size_t n, std::size_t i) const {
    return data[((b * H + h) * N + n) * d + i];
  }
  std::size_t B, H, N, d;
  Numbers data;
};

/// y[r] = x[r] w for each row, or x[r] w^T.
Numbers times(const Numbers& x, const Numbers& w, std::size_t D, bool transposed) {
  Numbers y(x.size());
  for (std::size_t r = 0; r < x.size() / D; ++r) {
    for (std::size_t j = 0; j < D; ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < D; ++i) {
        sum += x[r * D + i] * (transposed ? w[j * D + i] : w[i * D + j]);
      }
      y[r * D + j] = sum;
    }
  }
  return y;
}

/// [B,N,D] with its first two axes confused.
Numbers mix(const Numbers& x, std::size_t B, std::size_t N, std::size_t D, Mixed mixed) {
  if (mixed == Mixed::no) return x;
  Numbers y(x.size());
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t n = 0; n < N; ++n) {
      const std::size_t flat = b * N + n;
      const std::size_t from = mixed == Mixed::position_major ? n * B + b : flat % B * N + flat / B;
      for (std::size_t i = 0; i < D; ++i) y[flat * D + i] = x[from * D + i];
    }
  }
  return y;
}

/// Where feature i of head h of row n lies in an item's [N,D].
std::size_t feature(Features how, std::size_t h, std::size_t n, std::size_t i, std::size_t H,
                    std::size_t N, std::size_t d) {
  switch (how) {
    case Features::slices:
      return n * H * d + h * d + i;
    case Features::reshape:
      return (h * N + n) * d + i;
    case Features::interleaved:
      return n * H * d + i * H + h;
    case Features::reversed:
      return n * H * d + (H - 1 - h) * d + i;
  }
  return 0;
}

Heads4 split(const Numbers& x, std::size_t B, std::size_t N, std::size_t D, std::size_t H,
             Features how) {
  Heads4 y(B, H, N, D / H);
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t h = 0; h < H; ++h) {
      for (std::size_t n = 0; n < N; ++n) {
        for (std::size_t i = 0; i < y.d; ++i) {
          y.at(b, h, n, i) = x[b * N * D + feature(how, h, n, i, H, N, y.d)];
        }
      }
    }
  }
  return y;
}

Numbers merge(const Heads4& x, Features how) {
  Numbers y(x.data.size());
  for (std::size_t b = 0; b < x.B; ++b) {
    for (std::size_t h = 0; h < x.H; ++h) {
      for (std::size_t n = 0; n < x.N; ++n) {
        for (std::size_t i = 0; i < x.d; ++i) {
          y[b * x.N * x.H * x.d + feature(how, h, n, i, x.H, x.N, x.d)] = x.at(b, h, n, i);
        }
      }
    }
  }
  return y;
}

void add(Numbers& x, const Numbers& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

double activate(After after, double x) {
  constexpr double root_2 = 1.41421356237309504880;
  constexpr double root_2_over_pi = 0.79788456080286535588;
  switch (after) {
    case After::nothing:
      return x;
    case After::relu:
      return std::max(x, 0.0);
    case After::leaky_relu:
      return x > 0 ? x : 0.01 * x;
    case After::silu:
      return x / (1 + std::exp(-x));
    case After::gelu:
      return x / 2 * (1 + std::erf(x / root_2));
    case After::gelu_tanh:
      return x / 2 * (1 + std::tanh(root_2_over_pi * (x + 0.044715 * x * x * x)));
    case After::tanh:
      return std::tanh(x);
    case After::sigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return x;
}

/// One call, step by step.
class Call {
 public:
  Call(const Case& c, const Choices& choices)
      : c_(c), o_(choices), n_(c.n), K_(keys()), H_(heads()), d_(H_ == 0 ? 0 : n_.D / H_) {}

  Outcome run(bool gradients) {
    Outcome out;
    if (!specified(gradients)) {
      out.specified = false;
      return out;
    }
    const Heads4 q = project(0);
    const Heads4 k = project(1);
    const Heads4 v = project(2);
    const double scale = o_.scale == nullptr ? 1 / std::sqrt(static_cast<double>(d_))
                                             : o_.scale(static_cast<double>(d_), n_);
    const Heads4 raw = product(q, k);
    Heads4 scores = raw;
    for (double& s : scores.data) s *= scale;

    const Hide hide = o_.hide == Hide::in_output ? Hide::exactly : o_.hide;
    Heads4 weights = normalise(scores, hide);
    Heads4 shown = o_.hide == Hide::in_output ? normalise(scores, Hide::nowhere) : weights;
    if (o_.heads == Heads::first_weights || o_.heads == Heads::first_weights_in_output) {
      weights = first_head(weights);
    }
    if (o_.heads == Heads::first_weights || o_.heads == Heads::first_weights_returned) {
      shown = first_head(shown);
    }

    Heads4 heads = o_.mean_of_values ? mean(v) : apply(weights, v);
    if (o_.scale_after_in_output) {
      for (double& x : heads.data) x *= o_.scale_after(static_cast<double>(d_));
    }
    combine(heads);
    const Numbers joined = mix(merge(heads, o_.merge), n_.B, n_.Q, n_.D, o_.mixed[3]);
    out.output = {{n_.B, n_.Q, n_.D}, finish(joined)};
    out.weights = returned(shown, scores, raw);
    if (o_.results_swapped) std::swap(out.output, out.weights);
    if (gradients) differentiate(q, k, v, weights, joined, scale, out);
    return out;
  }

 private:
  std::size_t keys() const {
    switch (o_.keys) {
      case Keys::all:
        return n_.K;
      case Keys::as_many_as_queries:
        return std::min(n_.Q, n_.K);
      case Keys::without_last:
        return n_.K - 1;
    }
    return n_.K;
  }
  std::size_t heads() const {
    switch (o_.head_count) {
      case HeadCount::given:
        return n_.H;
      case HeadCount::one:
        return 1;
      case HeadCount::two:
        return 2;
      case HeadCount::swapped:
        return n_.D / n_.H;
    }
    return n_.H;
  }

  /// Where an implementation of the mistake would run into an error, or could do either.
  bool specified(bool gradients) const {
    const bool square = n_.Q == n_.K;
    if (n_.D % H_ != 0 || K_ == 0) return false;
    const bool lengths = o_.source[0] == 0 && o_.source[1] != 0 && o_.source[2] != 0;
    if (!lengths && !square) return false;
    const bool confused = o_.value_not_transposed || o_.query_from_query || o_.key_from_key;
    if (gradients && confused && !square) return false;
    if (gradients && (K_ != n_.K || H_ != n_.H)) return false;  // no way back is written for these
    if (!c_.masked()) return true;
    if (o_.keys != Keys::all && K_ != n_.K) return false;
    if (H_ != n_.H) return false;
    if (o_.mask_part == MaskPart::transposed && !square) return false;
    if (o_.mask_part == MaskPart::items_as_heads || o_.mask_part == MaskPart::heads_as_items ||
        o_.mask_part == MaskPart::items_and_heads_swapped) {
      return n_.B == n_.H;
    }
    return true;
  }

  const Numbers& matrix(std::size_t which) const { return c_.inputs[3 + which]; }

  Heads4 project(std::size_t part) const {
    const int source = o_.source[part];
    const std::size_t length = source == 0 ? n_.Q : n_.K;
    Numbers x = c_.inputs[static_cast<std::size_t>(source)];
    if ((part == 1 && o_.first_items_keys) || (part == 2 && o_.first_items_values)) {
      for (std::size_t b = 1; b < n_.B; ++b) {
        std::copy_n(x.begin(), length * n_.D,
                    x.begin() + static_cast<std::ptrdiff_t>(b * length * n_.D));
      }
    }
    if (o_.matrix[part] >= 0) {
      x = times(x, matrix(static_cast<std::size_t>(o_.matrix[part])), n_.D, o_.transposed[part]);
    }
    x = mix(x, n_.B, length, n_.D, o_.mixed[part]);
    if (part != 0 && K_ != length) {
      Numbers cut;
      for (std::size_t b = 0; b < n_.B; ++b) {
        const auto first = x.begin() + static_cast<std::ptrdiff_t>(b * length * n_.D);
        cut.insert(cut.end(), first, first + static_cast<std::ptrdiff_t>(K_ * n_.D));
      }
      return split(cut, n_.B, K_, n_.D, H_, o_.split);
    }
    return split(x, n_.B, length, n_.D, H_, o_.split);
  }

  Heads4 product(const Heads4& q, const Heads4& k) const {
    Heads4 scores(n_.B, H_, q.N, k.N);
    for (std::size_t b = 0; b < n_.B; ++b) {
      for (std::size_t h = 0; h < H_; ++h) {
        for (std::size_t i = 0; i < q.N; ++i) {
          for (std::size_t j = 0; j < k.N; ++j) {
            double sum = 0;
            for (std::size_t f = 0; f < d_; ++f) sum += q.at(b, h, i, f) * k.at(b, h, j, f);
            scores.at(b, h, i, j) = sum;
          }
        }
      }
    }
    return scores;
  }

  bool mask_at(std::size_t b, std::size_t h, std::size_t q, std::size_t k) const {
    switch (o_.mask_part) {
      case MaskPart::all:
        return c_.visible(b, h, q, k);
      case MaskPart::transposed:
        return c_.visible(b, h, k, q);
      case MaskPart::first_item:
        return c_.visible(0, h, q, k);
      case MaskPart::first_head:
        return c_.visible(b, 0, q, k);
      case MaskPart::first_query:
        return c_.visible(b, h, 0, k);
      case MaskPart::items_as_heads:
        return c_.mask_shape.size() == 4 && c_.mask_shape[1] == 1 ? c_.visible(h, h, q, k)
                                                                  : c_.visible(b, h, q, k);
      case MaskPart::heads_as_items:
        return c_.mask_shape.size() == 3 ? c_.visible(b, b, q, k) : c_.visible(b, h, q, k);
      case MaskPart::items_and_heads_swapped:
        return c_.visible(h, b, q, k);
      case MaskPart::heads_merged:
        for (std::size_t other = 0; other < n_.H; ++other) {
          if (c_.visible(b, other, q, k)) return true;
        }
        return false;
    }
    return true;
  }

  bool visible(std::size_t b, std::size_t h, std::size_t q, std::size_t k) const {
    if (o_.causal == Causal::upper_left && k > q) return false;
    if (o_.causal == Causal::lower_right && k + n_.Q > q + n_.K) return false;
    return !c_.masked() || mask_at(b, h, q, k);
  }

  /// The weights of all scores; normalises along the chosen axis.
  Heads4 normalise(const Heads4& scores, Hide hide) const {
    const Heads4& s = scores;
    Heads4 weights(s.B, s.H, s.N, s.d);
    Heads4 x = s;
    std::vector<char> seen(s.data.size(), 1);
    std::size_t at = 0;
    for (std::size_t b = 0; b < s.B; ++b) {
      for (std::size_t h = 0; h < s.H; ++h) {
        for (std::size_t q = 0; q < s.N; ++q) {
          for (std::size_t k = 0; k < s.d; ++k, ++at) {
            const bool see = visible(b, h, q, k);
            double& value = x.data[at];
            switch (hide) {
              case Hide::exactly:
                seen[at] = see;
                break;
              case Hide::inverted:
                if (c_.masked()) seen[at] = !see;
                break;
              case Hide::add_number:
                if (c_.masked()) value += see ? 1 : 0;
                break;
              case Hide::multiply:
                if (!see) value = 0;
                break;
              case Hide::fill:
                if (!see) value = o_.fill;
                break;
              case Hide::fill_added:
                if (!see) value += o_.fill;
                break;
              case Hide::afterwards:
              case Hide::in_output:
              case Hide::nowhere:
                break;
            }
          }
        }
      }
    }
    for (int round = 0; round < o_.softmaxes; ++round) {
      normalise_lines(x, seen, weights);
      x = weights;
    }
    at = 0;
    for (std::size_t b = 0; b < s.B; ++b) {
      for (std::size_t h = 0; h < s.H; ++h) {
        for (std::size_t q = 0; q < s.N; ++q) {
          for (std::size_t k = 0; k < s.d; ++k, ++at) {
            if (hide == Hide::afterwards && !visible(b, h, q, k)) weights.data[at] = 0;
            if (o_.scale_after != nullptr && !o_.scale_after_in_output) {
              weights.data[at] *= o_.scale_after(static_cast<double>(d_));
            }
          }
        }
      }
    }
    return weights;
  }

  void normalise_lines(const Heads4& x, const std::vector<char>& seen, Heads4& weights) const {
    if (o_.normalise != Normalise::softmax) {
      for (std::size_t i = 0; i < x.data.size(); ++i) {
        const double value = x.data[i];
        weights.data[i] = seen[i] == 0                         ? 0
                          : o_.normalise == Normalise::nothing ? value
                                                               : 1 / (1 + std::exp(-value));
      }
      return;
    }
    const std::array<std::size_t, 4> extents = {x.B, x.H, x.N, x.d};
    const std::size_t axis = o_.axis == Axis::keys      ? 3
                             : o_.axis == Axis::queries ? 2
                             : o_.axis == Axis::heads   ? 1
                                                        : 0;
    std::size_t step = 1;
    for (std::size_t i = axis + 1; i < 4; ++i) step *= extents[i];
    const std::size_t length = extents[axis];
    for (std::size_t start = 0; start < x.data.size(); ++start) {
      if (start / step % length == 0) softmax(x.data, seen, weights.data, start, step, length);
    }
  }

  void softmax(const Numbers& x, const std::vector<char>& seen, Numbers& weights, std::size_t start,
               std::size_t step, std::size_t length) const {
    double largest = -std::numeric_limits<double>::infinity();
    bool any = false;
    for (std::size_t i = 0; i < length; ++i) {
      if (seen[start + i * step] == 0) continue;
      any = true;
      largest = std::max(largest, x[start + i * step]);
    }
    if (!o_.subtract_maximum) largest = 0;
    double sum = o_.epsilon;
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t at = start + i * step;
      const double e = x[at] - largest;
      weights[at] = seen[at] == 0 ? 0 : o_.base == 0 ? std::exp(e) : std::pow(o_.base, e);
      sum += weights[at];
    }
    for (std::size_t i = 0; any && i < length; ++i) weights[start + i * step] /= sum;
  }

  static Heads4 first_head(const Heads4& x) {
    Heads4 y = x;
    for (std::size_t i = 0; i < y.data.size(); ++i) {
      y.data[i] = x.data[i / (x.H * x.N * x.d) * x.H * x.N * x.d + i % (x.N * x.d)];
    }
    return y;
  }

  Heads4 mean(const Heads4& v) const {
    Heads4 y(v.B, v.H, n_.Q, v.d);
    for (std::size_t b = 0; b < v.B; ++b) {
      for (std::size_t h = 0; h < v.H; ++h) {
        for (std::size_t q = 0; q < n_.Q; ++q) {
          for (std::size_t k = 0; k < v.N; ++k) {
            for (std::size_t i = 0; i < v.d; ++i) {
              y.at(b, h, q, i) += v.at(b, h, k, i) / static_cast<double>(v.N);
            }
          }
        }
      }
    }
    return y;
  }

  Heads4 apply(const Heads4& weights, const Heads4& v) const {
    Heads4 y(v.B, v.H, n_.Q, v.d);
    for (std::size_t b = 0; b < v.B; ++b) {
      for (std::size_t h = 0; h < v.H; ++h) {
        for (std::size_t q = 0; q < n_.Q; ++q) {
          for (std::size_t k = 0; k < v.N; ++k) {
            const double w = weights.at(b, h, q, k);
            for (std::size_t i = 0; i < v.d; ++i) y.at(b, h, q, i) += w * v.at(b, h, k, i);
          }
        }
      }
    }
    return y;
  }

  void combine(Heads4& heads) const {
    if (o_.heads == Heads::first_output) heads = first_head(heads);
    if (o_.heads != Heads::summed && o_.heads != Heads::averaged) return;
    const double share = o_.heads == Heads::averaged ? 1 / static_cast<double>(H_) : 1;
    for (std::size_t b = 0; b < heads.B; ++b) {
      for (std::size_t q = 0; q < heads.N; ++q) {
        for (std::size_t i = 0; i < heads.d; ++i) {
          double sum = 0;
          for (std::size_t h = 0; h < H_; ++h) sum += heads.at(b, h, q, i);
          for (std::size_t h = 0; h < H_; ++h) heads.at(b, h, q, i) = sum * share;
        }
      }
    }
  }

  Numbers finish(const Numbers& joined) const {
    const Numbers& query = c_.inputs[0];
    Numbers y = joined;
    for (double& value : y) value = activate(o_.after_joining, value);
    if (o_.residual == Residual::query_before_projection) add(y, query);
    if (o_.matrix[3] >= 0 && o_.output_matrix != OutputMatrix::none) {
      const Numbers& w = matrix(static_cast<std::size_t>(o_.matrix[3]));
      if (o_.output_matrix == OutputMatrix::full || o_.output_matrix == OutputMatrix::twice) {
        const int rounds = o_.output_matrix == OutputMatrix::twice ? 2 : 1;
        for (int i = 0; i < rounds; ++i) y = times(y, w, n_.D, o_.transposed[3]);
      } else {
        for (std::size_t at = 0; at < y.size(); ++at) {
          const std::size_t column = at % n_.D;
          const std::size_t block = column / d_ * d_;
          const bool any_row = o_.output_matrix == OutputMatrix::diagonal_blocks ||
                               o_.output_matrix == OutputMatrix::first_columns;
          const bool any_column = o_.output_matrix == OutputMatrix::diagonal_blocks ||
                                  o_.output_matrix == OutputMatrix::first_rows;
          y[at] = 0;
          for (std::size_t i = 0; i < d_; ++i) {
            const std::size_t r = (any_row ? block : 0) + i;
            const std::size_t s = (any_column ? block : 0) + column - block;
            y[at] += joined[at - column + block + i] *
                     (o_.transposed[3] ? w[s * n_.D + r] : w[r * n_.D + s]);
          }
        }
      }
    }
    if (o_.residual == Residual::query) add(y, query);
    if (o_.residual == Residual::projected_query) add(y, times(query, matrix(0), n_.D, false));
    for (double& value : y) value = activate(o_.after, value);
    return y;
  }

  /// The second result.
  Values returned(const Heads4& weights, const Heads4& scores, const Heads4& raw) const {
    const Heads4& w = o_.returned == Returned::scores       ? scores
                      : o_.returned == Returned::raw_scores ? raw
                                                            : weights;
    const std::size_t Q = w.N;
    const std::size_t K = o_.pad_weights ? n_.K : w.d;
    const std::size_t H = o_.repeat_weights ? n_.H : w.H;
    const auto at = [&](std::size_t b, std::size_t h, std::size_t q, std::size_t k) {
      const double value = k < w.d ? w.at(b, o_.repeat_weights ? h % w.H : h, q, k) : 0;
      return o_.returned == Returned::logarithm ? std::log(value) : value;
    };
    const auto averaged = [&](std::size_t b, std::size_t q, std::size_t k) {
      double sum = 0;
      for (std::size_t h = 0; h < H; ++h) sum += at(b, h, q, k);
      return sum / static_cast<double>(H);
    };
    Values y;
    const auto fill = [&](Shape shape, const auto& f) {
      y.shape = std::move(shape);
      const std::size_t H4 = y.shape[1];
      for (std::size_t b = 0; b < y.shape[0]; ++b) {
        for (std::size_t i = 0; i < H4; ++i) {
          for (std::size_t j = 0; j < y.shape[2]; ++j) {
            for (std::size_t l = 0; l < y.shape[3]; ++l) y.data.push_back(f(b, i, j, l));
          }
        }
      }
    };
    switch (o_.returned) {
      case Returned::transposed:
        fill({n_.B, H, K, Q}, [&](auto b, auto h, auto k, auto q) { return at(b, h, q, k); });
        break;
      case Returned::queries_first:
        fill({n_.B, Q, H, K}, [&](auto b, auto q, auto h, auto k) { return at(b, h, q, k); });
        break;
      case Returned::averaged:
        fill({n_.B, 1, Q, K}, [&](auto b, auto, auto q, auto k) { return averaged(b, q, k); });
        y.shape = {n_.B, Q, K};
        break;
      case Returned::averaged_kept:
        fill({n_.B, 1, Q, K}, [&](auto b, auto, auto q, auto k) { return averaged(b, q, k); });
        break;
      case Returned::averaged_repeated:
        fill({n_.B, H, Q, K}, [&](auto b, auto, auto q, auto k) { return averaged(b, q, k); });
        break;
      case Returned::weights:
      case Returned::scores:
      case Returned::raw_scores:
      case Returned::logarithm:
        fill({n_.B, H, Q, K}, at);
        break;
    }
    return y;
  }

  /// Of <output_cotangent, output> + <weights_cotangent, weights>.
  void differentiate(const Heads4& q, const Heads4& k, const Heads4& v, const Heads4& weights,
                     const Numbers& joined, double scale, Outcome& out) const {
    const std::size_t B = n_.B;
    const std::size_t D = n_.D;
    Numbers seed = c_.output_cotangent;
    if (o_.output_cotangent_ones) std::fill(seed.begin(), seed.end(), 1.0);

    // output = joined w_o
    out.gradients[6] = parameter(joined, seed, n_.Q, 3);
    Heads4 heads = split(times(seed, matrix(3), D, !o_.input_not_transposed[3]), B, n_.Q, D, H_,
                         Features::slices);
    if (o_.first_head_gradient) only_first(heads);
    if (o_.heads_averaged_first) average(heads);

    // heads = weights v
    Heads4 dv(B, H_, n_.K, d_);
    Heads4 dw(B, H_, n_.Q, n_.K);
    for (std::size_t b = 0; b < B; ++b) {
      for (std::size_t h = 0; h < H_; ++h) {
        for (std::size_t i = 0; i < n_.Q; ++i) {
          for (std::size_t j = 0; j < n_.K; ++j) {
            const double w =
                o_.value_not_transposed ? weights.at(b, h, j, i) : weights.at(b, h, i, j);
            double sum = 0;
            for (std::size_t f = 0; f < d_; ++f) {
              dv.at(b, h, j, f) += w * heads.at(b, h, i, f);
              sum += heads.at(b, h, i, f) * v.at(b, h, j, f);
            }
            if (o_.weights_detached_in_product) sum = 0;
            if (!o_.weights_cotangent_ignored) {
              sum += c_.weights_cotangent[((b * H_ + h) * n_.Q + i) * n_.K + j];
            }
            dw.at(b, h, i, j) = o_.weights_detached ? 0 : sum;
          }
        }
      }
    }

    // weights = softmax(scale q k^T)
    if (o_.heads_averaged_weights) average(dw);
    if (o_.first_head_weights) only_first(dw);
    Heads4 ds = softmax_rule(weights, dw);
    if (o_.heads_averaged_scores) average(ds);
    double back = 1;
    for (int i = 0; i < o_.backward_scales; ++i) back *= scale;
    Heads4 dq(B, H_, n_.Q, d_);
    Heads4 dk(B, H_, n_.K, d_);
    for (std::size_t b = 0; b < B; ++b) {
      for (std::size_t h = 0; h < H_; ++h) {
        for (std::size_t i = 0; i < n_.Q; ++i) {
          for (std::size_t j = 0; j < n_.K; ++j) {
            const double g = back * ds.at(b, h, i, j);
            for (std::size_t f = 0; f < d_; ++f) {
              dq.at(b, h, i, f) += g * (o_.query_from_query ? q.at(b, h, j, f) : k.at(b, h, j, f));
              dk.at(b, h, j, f) += g * (o_.key_from_key ? k.at(b, h, i, f) : q.at(b, h, i, f));
            }
          }
        }
      }
    }

    std::array<Heads4*, 3> parts = {&dq, &dk, &dv};
    for (std::size_t part = 0; part < 3; ++part) {
      if (o_.first_head_projections) only_first(*parts[part]);
      if (o_.heads_averaged_gradient) average(*parts[part]);
      const Numbers g = merge(*parts[part], Features::slices);
      out.gradients[part] = times(g, matrix(part), D, !o_.input_not_transposed[part]);
      out.gradients[3 + part] = parameter(c_.inputs[part], g, part == 0 ? n_.Q : n_.K, part);
    }
    for (std::size_t i = 0; i < kInputs; ++i) {
      for (double& g : out.gradients[i]) g *= o_.missing[i] ? 0 : o_.factor;
    }
    if (c_.self) {
      Numbers& one = out.gradients[0];
      for (std::size_t i = 0; i < one.size(); ++i) {
        const std::array<double, 3> of = {one[i], out.gradients[1][i], out.gradients[2][i]};
        one[i] =
            o_.self_keeps < 0 ? of[0] + of[1] + of[2] : of[static_cast<std::size_t>(o_.self_keeps)];
      }
      out.gradients[1].clear();
      out.gradients[2].clear();
    }
  }

  static void only_first(Heads4& x) {
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      if (i / (x.N * x.d) % x.H != 0) x.data[i] = 0;
    }
  }

  static void average(Heads4& x) {
    for (std::size_t b = 0; b < x.B; ++b) {
      for (std::size_t n = 0; n < x.N; ++n) {
        for (std::size_t i = 0; i < x.d; ++i) {
          double sum = 0;
          for (std::size_t h = 0; h < x.H; ++h) sum += x.at(b, h, n, i);
          for (std::size_t h = 0; h < x.H; ++h) {
            x.at(b, h, n, i) = sum / static_cast<double>(x.H);
          }
        }
      }
    }
  }

  Heads4 softmax_rule(const Heads4& weights, const Heads4& dw) const {
    Heads4 ds = dw;
    const std::array<std::size_t, 4> extents = {dw.B, dw.H, dw.N, dw.d};
    const std::size_t axis = o_.row_sum == RowSum::queries ? 2
                             : o_.row_sum == RowSum::heads ? 1
                             : o_.row_sum == RowSum::batch ? 0
                                                           : 3;
    std::size_t step = 1;
    for (std::size_t i = axis + 1; i < 4; ++i) step *= extents[i];
    const std::size_t length = o_.row_sum == RowSum::everything ? dw.data.size()
                               : o_.row_sum == RowSum::itself   ? 1
                                                                : extents[axis];
    for (std::size_t start = 0; start < dw.data.size(); ++start) {
      if (start / step % length != 0) continue;
      double sum = 0;
      for (std::size_t i = 0; i < length; ++i) {
        sum += weights.data[start + i * step] * dw.data[start + i * step];
      }
      if (o_.row_sum == RowSum::none) sum = 0;
      for (std::size_t i = 0; i < length; ++i) {
        const std::size_t at = start + i * step;
        ds.data[at] = weights.data[at] * (dw.data[at] - sum);
      }
    }
    return ds;
  }

  /// x^T g over all items.
  Numbers parameter(const Numbers& x, const Numbers& g, std::size_t N, std::size_t which) const {
    const std::size_t D = n_.D;
    const Parameter how = o_.parameter[which];
    const std::size_t first = how == Parameter::last_item ? n_.B - 1 : 0;
    const std::size_t last = how == Parameter::first_item ? 1 : n_.B;
    const std::size_t among = how == Parameter::averaged        ? n_.B
                              : how == Parameter::averaged_rows ? n_.B * N
                                                                : 1;
    const double share = 1 / static_cast<double>(among);
    const std::size_t rows = how == Parameter::first_head ? d_ : D;
    Numbers w(D * D);
    for (std::size_t r = first * N; r < last * N; ++r) {
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < D; ++j) {
          const std::size_t at = o_.parameter_transposed[which] ? j * D + i : i * D + j;
          w[at] += share * x[r * D + i] * g[r * D + j];
        }
      }
    }
    return w;
  }

  const Case& c_;
  const Choices& o_;
  const Sizes n_;
  const std::size_t K_;
  const std::size_t H_;
  const std::size_t d_;
};

}  // namespace

Shape Case::shape(std::size_t input) const {
  if (input == 0) return {n.B, n.Q, n.D};
  if (input < 3) return {n.B, n.K, n.D};
  return {n.D, n.D};
}

bool Case::visible(std::size_t b, std::size_t h, std::size_t q, std::size_t k) const {
  if (mask.empty()) return true;
  const std::array<std::size_t, 4> index = {b, h, q, k};
  std::size_t at = 0;
  const std::size_t missing = 4 - mask_shape.size();
  for (std::size_t i = 0; i < mask_shape.size(); ++i) {
    at = at * mask_shape[i] + (mask_shape[i] == 1 ? 0 : index[missing + i]);
  }
  return mask[at];
}

Outcome attend(const Case& c, const Choices& choices, bool gradients) {
  return Call(c, choices).run(gradients);
}

}  // namespace xg::grading
