// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beam search over a small recurrent model: at each step the best `Beams` of all extended sentences stay, until each of
// them has ended. The model knows a cycle of letters and, ever more surely, the end.

#include <algorithm>
#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;
using sn::Tensor;

constexpr int64_t Beams = 4, Letters = 27, Hidden = 32, MaxSteps = 20, End = 26;

struct Model {
  Tensor embedding, input, hidden, output,
      bias; // [Letters, Hidden], 2 x [3 Hidden, Hidden], [Letters, Hidden], [Letters]
};
struct Search {
  Tensor step, scores, tokens, state; // i64, [Beams], i64 [Beams, MaxSteps], [Beams, Hidden]
};

static Search search(Model m, Tensor first) {
  Tensor scores = sn::where(sn::arange(Beams) == 0, 0.f, -1e9f); // only one of the equal starts counts
  Tensor tokens = sn::full({Beams, MaxSteps}, End, sn::DType::i64).at(sn::slice(), 0).set(first);
  Search start{sn::scalar(int64_t(1)), scores, tokens, sn::zeros({Beams, Hidden})};
  return sn::while_loop(
      [](Search s) {
        Tensor last = sn::take(s.tokens, s.step - 1, 1);
        return (s.step < MaxSteps) & sn::any(last != End);
      },
      [&](Search s) {
        Tensor last = sn::take(s.tokens, s.step - 1, 1), ended = sn::expand_dims(last == End, 1);
        Tensor state = sn::gru_cell(sn::take(m.embedding, last), s.state, m.input, m.hidden);
        Tensor surer = sn::where(sn::arange(Letters) == End, 0.3f * sn::astype(s.step, sn::DType::f32), 0.f);
        Tensor next = sn::log_softmax(sn::matmul(state, sn::transpose(m.output)) + m.bias + surer);
        // a sentence that has ended can only stay as it is
        next = sn::where(ended, sn::where(sn::arange(Letters) == End, 0.f, -1e9f), next);
        auto [best, place] = sn::top_k(sn::ravel(sn::expand_dims(s.scores, 1) + next), Beams);
        Tensor parent = place / Letters, letter = place % Letters;
        Tensor grown = sn::take(s.tokens, parent).at(sn::slice(), s.step).set(letter);
        return Search{s.step + 1, best, grown, sn::take(state, parent)};
      },
      start);
}

int main() {
  auto keys = sn::key(7).split<4>();
  Tensor letters = sn::random::normal(keys[0], {Letters, Hidden});
  Model m{letters, sn::random::normal(keys[1], {3 * Hidden, Hidden}) * 0.1f,
          sn::random::normal(keys[2], {3 * Hidden, Hidden}) * 0.1f, sn::roll(letters, -1),
          sn::random::normal(keys[3], {Letters})};
  auto compiled = sn::jit(search);
  bool same = true;
  for (int64_t first : {0, 7, 19}) {
    Search found = compiled(m, sn::scalar(first)), eager = search(m, sn::scalar(first));
    std::vector<int64_t> tokens = found.tokens.to_vector<int64_t>();
    std::vector<float> scores = found.scores.to_vector<float>();
    for (int64_t beam = 0; beam < Beams; ++beam) {
      std::string text;
      for (int64_t k = 0; k < MaxSteps && tokens[size_t(beam * MaxSteps + k)] != End; ++k)
        text += char('a' + tokens[size_t(beam * MaxSteps + k)]);
      std::printf("%8.3f  %s\n", double(scores[size_t(beam)]), text.c_str());
    }
    same &= tokens == eager.tokens.to_vector<int64_t>() && std::is_sorted(scores.rbegin(), scores.rend());
  }
  return same ? 0 : 1;
}
