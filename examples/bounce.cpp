// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Physics with contacts that is differentiated: a ball bounces off the floor and a wall and shall be at a given place
// two seconds after it is thrown. Contacts are branches, of which only the one that is taken computes anything, and the
// gradient follows the same ones. Writes an object for bounce_main.c:
//
//   bounce throwing.o throwing.h

#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;
using sn::Tensor;

static constexpr double kStep = 1. / 100, kGravity = 9.81, kWall = 3;
static constexpr int64_t kSteps = 200;

struct Ball {
  Tensor place, speed; // {x, y} each
};

/// Free flight for a time.
static Ball fly(Ball ball, Tensor time) {
  Tensor gravity = Tensor({0., -kGravity});
  return {ball.place + ball.speed * time + 0.5 * gravity * time * time, ball.speed + gravity * time};
}

static Ball step(Ball ball) {
  Ball next = fly(ball, sn::scalar(kStep));
  return sn::cond(
      next.place[1] < 0,
      [&] { // the floor: up to the moment of contact, then up again with less speed
        Tensor v = ball.speed[1], y = sn::maximum(ball.place[1], 0);
        Tensor contact = (v + sn::sqrt(v * v + 2 * kGravity * y)) / kGravity;
        Ball low = fly(ball, contact);
        return fly({low.place, low.speed * Tensor({0.9, -0.8})}, kStep - contact);
      },
      [&] {
        return sn::cond(
            next.place[0] > kWall,
            [&] {
              Tensor contact = (kWall - ball.place[0]) / ball.speed[0];
              Ball beside = fly(ball, contact);
              return fly({beside.place, beside.speed * Tensor({-0.7, 1.})}, kStep - contact);
            },
            [&] { return next; });
      });
}

/// The square of the distance from `target` after kSteps, and the place where the ball is then.
static std::pair<Tensor, Tensor> miss(Tensor speed, Tensor target) {
  Ball ball{Tensor({0., 1.}), speed};
  ball = sn::for_loop(0, kSteps, [](Tensor, Ball ball) { return step(ball); }, ball);
  return {sn::sum(sn::square(ball.place - target)), ball.place};
}

int main(int argc, char **argv) {
  if (argc != 3)
    return std::puts("usage: bounce throwing.o throwing.h"), 1;
  sn::Spec two = sn::spec<double>({2});
  return sn::compile(sn::value_and_grad(miss), {two, two}, {.output = argv[1], .header = argv[2], .name = "throwing"})
             ? 0
             : 1;
}
