// SPDX-License-Identifier: MIT OR Apache-2.0
//! Branches, returns, exits, traps. Guards on these become conditional branches.

use margay_ptx::ast::{
    FunctionKind, Instruction, ModifierCursor, Name, OperandKind, ScalarType, Span,
};

use super::function::Lower;
use super::names::Entity;
use super::{Lowered, Stop};
use crate::inst::*;
use crate::ops::Op;
use crate::types::Ty;

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    // A promise that helps an assembler; whether lanes agree is seen when they run.
    m.take("uni");
    match inst.opcode() {
        "bra" => {
            let to = l.label(l.operand(inst, 0)?)?;
            match l.guard.take() {
                None => l.end_with(Term::Br(to)),
                Some(guard) => {
                    let els = l.new_block();
                    let (pred, negated) = (guard.pred, guard.negated);
                    l.terminate(Term::CondBr { pred, negated, then: to, els });
                    l.start_block(els);
                }
            }
            Ok(())
        }
        "brx.idx" | "brx" => {
            m.take("idx");
            let index = l.src_at(inst, 0, ScalarType::U32)?;
            let targets = l.targets(inst)?;
            l.branch_if_guarded(|l| l.end_with(Term::BrTable { index, targets }));
            Ok(())
        }
        "ret" => {
            let term = match l.ast.kind {
                FunctionKind::Entry => Term::Exit,
                FunctionKind::Func => Term::Ret,
            };
            l.branch_if_guarded(|l| l.end_with(term));
            Ok(())
        }
        "exit" => {
            l.branch_if_guarded(|l| l.end_with(Term::Exit));
            Ok(())
        }
        "trap" => {
            l.branch_if_guarded(|l| {
                l.emit(Op::Trap, Ty::Pred, &[], &[], Attr::None);
                // Nothing runs after a trap.
                l.end_with(Term::Exit);
            });
            Ok(())
        }
        "brkpt" => {
            l.emit(Op::Brkpt, Ty::Pred, &[], &[], Attr::None);
            Ok(())
        }
        other => Err(Stop::unsupported(format!("the engine has no `{other}` yet"))),
    }
}

impl Lower<'_, '_> {
    /// The labels of a `.branchtargets` list.
    fn targets(&mut self, inst: &Instruction) -> Lowered<Vec<BlockId>> {
        let list = self.operand(inst, 1)?;
        let span = list.span;
        let names = match &list.kind {
            OperandKind::Name(name) => match self.find(*name) {
                Some(Entity::BranchTargets(names)) => names,
                Some(_) => return Err(Stop::error(span, "a `.branchtargets` label is needed")),
                None => return Err(self.undeclared(*name, span)),
            },
            _ => return Err(Stop::error(span, "a `.branchtargets` label is needed")),
        };
        let mut blocks = Vec::new();
        for (name, range) in names {
            match range {
                None => blocks.push(self.target(name.symbol, name)?),
                Some(count) => {
                    let prefix = self.name(name.symbol);
                    for i in 0..count {
                        let text = format!("{prefix}{i}");
                        let Some(symbol) = self.cx.ast.symbols.lookup(&text) else {
                            return Err(Stop::error(span, format!("`{text}` is not declared")));
                        };
                        blocks.push(self.target(symbol, name)?);
                    }
                }
            }
        }
        if blocks.is_empty() {
            return Err(Stop::error(span, "the list of targets is empty"));
        }
        Ok(blocks)
    }

    fn target(&mut self, symbol: margay_ptx::ast::Symbol, name: Name) -> Lowered<BlockId> {
        let span: Span = name.span;
        match self.find(symbol) {
            Some(Entity::Label(id)) => Ok(id),
            Some(_) => Err(Stop::error(span, "a label is needed here")),
            None => Err(self.undeclared(symbol, span)),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::lower::testing::{check, errors};

    #[test]
    fn branches_fall_through_to_the_next_block() {
        check(
            "L: @%p0 bra M; mov.u32 %r0, 1; bra L; M: @!%p1 ret; mov.u32 %r0, 2; exit;",
            expect![[r#"
                b0:
                  br b1
                b1 "L":
                  condbr %0, b3, b2
                b2:
                  %1 = mov.i32 0x1
                  br b1
                b3 "M":
                  condbr !%2, b5, b4
                b4:
                  %1 = mov.i32 0x2
                  exit
                b5:
                  exit
            "#]],
        );
    }

    #[test]
    fn tables() {
        check(
            "brx.idx %r0, T; T: .branchtargets A, B, A; A: ret; B: trap;",
            expect![[r#"
            b0:
              brtable %0, [b2, b1, b2]
            b1 "B":
              trap
              exit
            b2 "A":
              exit
        "#]],
        );
    }

    #[test]
    fn labels_have_scopes() {
        check(
            "{ L: @%p0 bra L; } { L: @%p1 bra L; } ret;",
            expect![[r#"
            b0:
              br b1
            b1 "L":
              condbr %0, b1, b2
            b2:
              br b3
            b3 "L":
              condbr %1, b3, b4
            b4:
              exit
        "#]],
        );
    }

    #[test]
    fn code_that_nothing_reaches_is_gone_with_its_gaps() {
        check(
            "bra END; tex.1d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [%d0, {%r0}]; END: ret;",
            expect![[r#"
                b0:
                  br b1
                b1 "END":
                  exit
            "#]],
        );
    }

    #[test]
    fn guarded_traps_branch() {
        check(
            "@%p0 trap; @%p1 brkpt;",
            expect![[r#"
            b0:
              condbr %0, b2, b1
            b1:
              brkpt @%1
              exit
            b2:
              trap
              exit
        "#]],
        );
    }

    #[test]
    fn labels_must_exist() {
        expect![[r#"
            PTX 4:18: `nowhere` is not declared
            PTX 6:5: `IN` is not declared
        "#]]
        .assert_eq(&errors(".entry k() { bra nowhere;\n{ IN: }\nbra IN; }"));
    }
}
