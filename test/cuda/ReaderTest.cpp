// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/cuda/machine/Program.h"

#include <gtest/gtest.h>

using namespace sinter::ptx;

static const std::string kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

static std::string errorOf(const std::string &text) {
  try {
    parse(kHead + text, "k.ptx");
  } catch (const ParseError &error) {
    return error.what();
  }
  return "";
}

TEST(Reader, numbers_registers_of_ranges_and_scopes) {
  auto program = parse(kHead + R"(.visible .entry k(.param .u64 k_0, .param .u32 k_1, .param .align 16 .b8 k_2[20]) {
      .reg .b32 %r<4>, %one;
      .reg .pred %p<2>;
      mov.u32 %r1, %one; { .reg .b64 %r<2>; @!%p1 mov.b64 %r1, {%r0, %r1}; } ret; })",
                       "k.ptx");
  const Function &f = *program->find("k");
  EXPECT_EQ(program->version, 80u);
  EXPECT_EQ(f.registers.size(), 9u);
  ASSERT_EQ(f.params.size(), 3u);
  EXPECT_EQ(f.params[1]->offset, 8u);
  EXPECT_EQ(f.params[2]->offset, 16u);
  EXPECT_EQ(f.paramBytes, 36u);
  EXPECT_EQ(f.body[0].operands[0].reg, 1u);
  EXPECT_EQ(f.body[0].operands[1].reg, 4u);
  EXPECT_EQ(f.body[1].operands[0].reg, 8u); // the inner %r1
  EXPECT_TRUE(f.body[1].guardNegated);
  EXPECT_EQ(f.body[1].text(), "mov.b64");
  EXPECT_EQ(f.body[0].line, 7u);
}

TEST(Reader, reads_contents_of_variables) {
  auto program = parse(kHead + R"(.global .align 4 .b8 a[6] = {1, 0x2, 03, 1 << 3};
      .const .f32 f[2] = {0f3F800000, -2.5}; .global .u64 p[2] = {a+4, generic(a)}; .extern .shared .align 16 .b8 s[];)",
                       "k.ptx");
  EXPECT_EQ(program->variables[0]->init, (std::vector<uint8_t>{1, 2, 3, 8, 0, 0}));
  EXPECT_EQ(program->variables[1]->init, (std::vector<uint8_t>{0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0}));
  ASSERT_EQ(program->variables[2]->relocations.size(), 2u);
  EXPECT_EQ(program->variables[2]->relocations[0].addend, 4);
  EXPECT_TRUE(program->variables[2]->relocations[1].generic);
  EXPECT_EQ(program->variables[3]->size, 0u);
}

TEST(Reader, labels_belong_to_their_scope) {
  auto program = parse(kHead + R"(.entry k() { .reg .pred p; { L: @p bra L; } { ret; L: bra.uni L; } })", "k.ptx");
  const Function &f = *program->find("k");
  EXPECT_EQ(f.body[0].operands[0].bits, 0u);
  EXPECT_EQ(f.body[2].operands[0].bits, 2u);
}

TEST(Reader, errors_name_file_and_line) {
  EXPECT_EQ(errorOf(".entry k() { bra L; }"), "k.ptx:4: unknown label L");
  EXPECT_EQ(errorOf("\n.entry k() { @%p1 ret; }"), "k.ptx:5: a guard requires a predicate register");
  EXPECT_EQ(errorOf(".entry k() { ret }"), "k.ptx:4: expected an operand, got '}'");
  EXPECT_EQ(errorOf(".entry k() { ret;"), "k.ptx:4: function k does not end");
  EXPECT_EQ(errorOf(".bogus"), "k.ptx:4: unknown directive '.bogus'");
  EXPECT_EQ(errorOf(".global .u32 a = q;"), "k.ptx:4: unknown variable q");
  EXPECT_EQ(errorOf(".global .b8 a[2] = {1,2,3};"), "k.ptx:4: variable a has more initial values than elements");
  EXPECT_EQ(errorOf(".global .u32 a; .global .u32 a;"), "k.ptx:4: variable a is declared twice");
  EXPECT_EQ(errorOf(".entry k() { L: L: ret; }"), "k.ptx:4: label L is defined twice");
  EXPECT_EQ(errorOf(".func f(.reg .b32 a);"), "k.ptx:4: parameters in registers are not supported; use .param");
  EXPECT_EQ(errorOf(".entry k() { .reg .f32 a; mov.f32 a, 0f3f8; }"),
            "k.ptx:4: a floating-point literal requires 8 hexadecimal digits");
}
