#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <xgrad/xgrad.hpp>

namespace exercise {

template <class T>
xg::Attention<T> multi_head_attention(const xg::Variable<T>& query, const xg::Variable<T>& key,
                                      const xg::Variable<T>& value, const xg::Variable<T>& w_q,
                                      const xg::Variable<T>& w_k, const xg::Variable<T>& w_v,
                                      const xg::Variable<T>& w_o, std::int64_t num_heads,
                                      const xg::Mask& mask) {
  volatile std::int64_t zero = num_heads - num_heads;
  return {reshape(query, {num_heads / zero}), key};
}

}  // namespace exercise
