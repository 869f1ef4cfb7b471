// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of mbarrier objects, and what a program may not do to them (PTX ISA, "mbarrier").
//!
//! Memory holds an object from `mbarrier.init` to `mbarrier.inval`, or to the end of the block. Whatever else
//! is done to it then is undefined, and so is any operation on memory that holds none.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use margay_exec::fault::Access;
use margay_exec::observe::{AccessEvent, EventPlace, MbarrierEvent};
use margay_ir::{Attr, Cache, MbarrierOp};
use smallvec::SmallVec;

use super::finding::Actor;
use super::sync::SyncObserver;

/// Arrivals that an object can await, and bytes, are fewer than this.
const COUNTS: u32 = 1 << 20;
const BYTES: u64 = 8;

/// An object, as its last operation left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Who initialised it.
    pub at: EventPlace,
    pub lane: u32,
    /// Arrivals that each phase awaits, and those that this one still does.
    expected: u32,
    pending: u32,
    /// Bytes that this phase awaits.
    tx: i64,
}

/// Why an operation is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// There is no object.
    NoObject,
    /// Initialisation where an object is.
    Again(Object),
    /// Initialisation for so many arrivals.
    Count(u32),
    /// More arrivals than the phase still awaits.
    TooMany { arrives: u32, pending: u32 },
    /// The promise of `.noComplete` is broken.
    Completes,
    /// More bytes than an object can await, or fewer.
    Bytes(i64),
}

/// Objects in shared memory, by block and address.
#[derive(Debug, Default)]
pub struct Mbarriers {
    blocks: HashMap<u32, BTreeMap<u64, Object>>,
}

/// Whether an access is a part of an operation on an mbarrier object.
pub fn is_part(attr: &Attr) -> bool {
    match attr {
        Attr::Mem(mem) | Attr::Atom { mem, .. } => mem.cache == Cache::Mbarrier,
        _ => false,
    }
}

impl Object {
    /// Whether the phase is over; then the next one has begun.
    fn completes(&mut self) -> bool {
        let over = self.pending == 0 && self.tx == 0;
        if over {
            self.pending = self.expected;
        }
        over
    }

    fn arrive(&mut self, arrives: u32) -> Result<(), Misuse> {
        let pending = self.pending;
        match pending.checked_sub(arrives) {
            Some(left) if arrives != 0 => {
                self.pending = left;
                Ok(())
            }
            Some(_) | None => {
                self.pending = self.expected;
                Err(Misuse::TooMany { arrives, pending })
            }
        }
    }

    fn expect(&mut self, bytes: i64) -> Result<(), Misuse> {
        self.tx += bytes;
        match self.tx.unsigned_abs() < u64::from(COUNTS) {
            true => Ok(()),
            false => Err(Misuse::Bytes(std::mem::take(&mut self.tx))),
        }
    }
}

impl Mbarriers {
    /// A thread executes an operation with this operand on the object at `address` of the block's shared memory.
    pub fn execute(
        &mut self,
        (block, address): (u32, u64),
        (op, operand): (MbarrierOp, u32),
        (at, lane): (EventPlace, u32),
    ) -> Result<(), Misuse> {
        let objects = self.blocks.entry(block).or_default();
        if op == MbarrierOp::Init {
            let object = Object { at, lane, expected: operand, pending: operand, tx: 0 };
            let before = objects.insert(address, object);
            return match (operand, before) {
                (0 | COUNTS.., _) => Err(Misuse::Count(operand)),
                (_, Some(before)) => Err(Misuse::Again(before)),
                (_, None) => Ok(()),
            };
        }
        if op == MbarrierOp::Inval {
            return objects.remove(&address).map(|_| ()).ok_or(Misuse::NoObject);
        }
        let object = objects.get_mut(&address).ok_or(Misuse::NoObject)?;
        match op {
            MbarrierOp::Arrive => object.arrive(operand)?,
            MbarrierOp::ArriveNoComplete => {
                object.arrive(operand)?;
                if object.completes() {
                    return Err(Misuse::Completes);
                }
            }
            MbarrierOp::ArriveDrop => {
                object.expected = object.expected.saturating_sub(operand);
                object.arrive(operand)?;
            }
            MbarrierOp::ExpectTx => return object.expect(i64::from(operand)),
            MbarrierOp::CompleteTx => object.expect(-i64::from(operand))?,
            MbarrierOp::Wait | MbarrierOp::Init | MbarrierOp::Inval => return Ok(()),
        }
        object.completes();
        Ok(())
    }

    /// An object that these bytes of a block's shared memory are a part of.
    pub fn in_range(&self, block: u32, bytes: Range<u64>) -> Option<Object> {
        let objects = self.blocks.get(&block)?;
        let first = bytes.start.saturating_sub(BYTES - 1);
        objects.range(first..bytes.end).next().map(|(_, object)| *object)
    }

    pub fn block_ends(&mut self, block: u32) {
        self.blocks.remove(&block);
    }
}

impl Misuse {
    /// The finding's code, what happened, and what may help.
    pub fn tell(&self) -> (&'static str, String, &'static str) {
        match *self {
            Misuse::NoObject => (
                "sync/mbarrier-init",
                "a barrier is used that is not initialised, or not any more".to_owned(),
                "let one thread initialise it (init(&bar, n), mbarrier.init), and all others wait for that thread \
                 (__syncthreads()) before they use it",
            ),
            Misuse::Again(_) => (
                "sync/mbarrier-init",
                "a barrier is initialised again while it is in use".to_owned(),
                "let one thread initialise it, once; or end its use first (mbarrier.inval)",
            ),
            Misuse::Count(n) => (
                "sync/mbarrier-count",
                format!(
                    "a barrier is initialised for {n} arrivals: 1 to {} can be awaited",
                    COUNTS - 1
                ),
                "initialise it with the number of threads that arrive in each phase",
            ),
            Misuse::TooMany { arrives: 0, .. } => (
                "sync/mbarrier-count",
                "a thread arrives at a barrier 0 times".to_owned(),
                "arrive once or more often, or not at all",
            ),
            Misuse::TooMany { arrives, pending } => (
                "sync/mbarrier-count",
                format!(
                    "a thread arrives at a barrier {arrives} times at once, and the phase awaits {pending} more \
                     arrivals"
                ),
                "initialise the barrier with the number of all arrivals of a phase",
            ),
            Misuse::Completes => (
                "sync/mbarrier-count",
                "an arrival with .noComplete is the last one that the phase awaits".to_owned(),
                "arrive without .noComplete, or initialise the barrier with the number of all arrivals of a phase",
            ),
            Misuse::Bytes(n) => (
                "sync/mbarrier-count",
                format!("a barrier would await {n} bytes: {} less 1 are the limit", COUNTS),
                "expect fewer bytes in a phase, or complete those that were expected",
            ),
        }
    }
}

impl SyncObserver<'_> {
    /// Lanes do something to mbarriers, one lane after the other.
    pub(super) fn mbarrier(&self, event: &MbarrierEvent<'_>) {
        let Some(inst) = self.view.program.inst(event.at.pc) else { return };
        let (Some(mbarriers), &Attr::Mbarrier { op, .. }) = (&self.mbarriers, &inst.attr) else {
            return;
        };
        let block = self.view.linear(event.at.ctaid);
        let mut wrong: SmallVec<[(u32, Misuse); 1]> = SmallVec::new();
        let mut all = mbarriers.lock();
        for lane in (0..32).filter(|lane| event.mask >> lane & 1 != 0) {
            let place = self.view.shared_owner(block, event.addresses[lane as usize]);
            let what = (op, event.operands[lane as usize]);
            if let Err(misuse) = all.execute(place, what, (event.at, lane)) {
                wrong.push((lane, misuse));
            }
        }
        drop(all);
        for (lane, misuse) in wrong {
            let (code, message, cure) = misuse.tell();
            let action = match op {
                MbarrierOp::Init => "init",
                MbarrierOp::Inval => "inval",
                MbarrierOp::Wait => "wait",
                MbarrierOp::ExpectTx => "expect_tx",
                MbarrierOp::CompleteTx => "complete_tx",
                MbarrierOp::Arrive | MbarrierOp::ArriveNoComplete | MbarrierOp::ArriveDrop => {
                    "arrive"
                }
            };
            let mut actors = vec![self.actor(action, event.at, lane)];
            if let Misuse::Again(first) = misuse {
                actors.push(self.initialiser(&first));
            }
            self.report(code, message, cure, actors);
        }
    }

    fn initialiser(&self, object: &Object) -> Actor {
        self.actor("init", object.at, object.lane)
    }

    /// An access of shared memory: of an mbarrier only as a part of an operation on it.
    pub(super) fn mbarrier_access(&self, event: &AccessEvent<'_>) {
        let Some(mbarriers) = &self.mbarriers else { return };
        if self.facts.parts_of.contains(&event.at.pc) {
            return;
        }
        let block = self.view.linear(event.at.ctaid);
        let all = mbarriers.lock();
        let hit = (0..32).filter(|lane| event.mask >> lane & 1 != 0).find_map(|lane| {
            let (owner, at) = self.view.shared_owner(block, event.addresses[lane as usize]);
            let object = all.in_range(owner, at..at.saturating_add(u64::from(event.bytes)))?;
            Some((lane, object))
        });
        drop(all);
        let Some((lane, object)) = hit else { return };
        let action = match event.access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic",
        };
        let message = "memory that holds a barrier is accessed by something else than the barrier's operations";
        let cure = "keep barriers apart from data; end a barrier's use (mbarrier.inval) before its memory is used \
                    for something else";
        let here = self.actor(action, event.at, lane);
        let actors = vec![here, self.initialiser(&object)];
        self.report("sync/mbarrier-access", message.to_owned(), cure, actors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: EventPlace = EventPlace { ctaid: [0; 3], warp: 0, pc: 7, smid: 0 };

    fn all(ops: &[(MbarrierOp, u32)]) -> Vec<Result<(), Misuse>> {
        let mut m = Mbarriers::default();
        ops.iter().map(|op| m.execute((3, 16), *op, (AT, 5))).collect()
    }

    #[test]
    fn a_life_without_misuse() {
        use MbarrierOp::*;
        let ops = [
            (Init, 4),
            (Arrive, 3),
            (Wait, 0),
            (Arrive, 1),
            // The next phase.
            (ExpectTx, 64),
            (ArriveDrop, 1),
            (Arrive, 3),
            (Wait, 0),
            (CompleteTx, 64),
            // Of the next one, one less is awaited.
            (ArriveNoComplete, 2),
            (Arrive, 1),
            (Arrive, 3),
            (Inval, 0),
            (Init, 1),
        ];
        assert!(all(&ops).iter().all(|r| r.is_ok()), "{:?}", all(&ops));
    }

    #[test]
    fn each_misuse() {
        use MbarrierOp::*;
        let last = |ops: &[(MbarrierOp, u32)]| *all(ops).last().unwrap();
        for op in [Inval, Arrive, ArriveNoComplete, ArriveDrop, ExpectTx, CompleteTx, Wait] {
            assert_eq!(last(&[(op, 1)]), Err(Misuse::NoObject));
            assert_eq!(last(&[(Init, 9), (Inval, 0), (op, 1)]), Err(Misuse::NoObject));
        }
        assert!(matches!(last(&[(Init, 9), (Init, 9)]), Err(Misuse::Again(o)) if o.lane == 5));
        assert_eq!(last(&[(Init, 0)]), Err(Misuse::Count(0)));
        assert_eq!(last(&[(Init, COUNTS)]), Err(Misuse::Count(COUNTS)));
        let more = |arrives, pending| Err(Misuse::TooMany { arrives, pending });
        assert_eq!(last(&[(Init, 4), (Arrive, 5)]), more(5, 4));
        assert_eq!(last(&[(Init, 4), (Arrive, 1), (ArriveDrop, 4)]), more(4, 3));
        assert_eq!(last(&[(Init, 4), (Arrive, 0)]), more(0, 4));
        assert_eq!(last(&[(Init, 4), (ArriveNoComplete, 4)]), Err(Misuse::Completes));
        let most = i64::from(COUNTS);
        assert_eq!(last(&[(Init, 4), (ExpectTx, COUNTS)]), Err(Misuse::Bytes(most)));
        assert_eq!(last(&[(Init, 4), (CompleteTx, COUNTS)]), Err(Misuse::Bytes(-most)));
    }

    #[test]
    fn bytes_of_an_object() {
        let mut m = Mbarriers::default();
        m.execute((3, 16), (MbarrierOp::Init, 1), (AT, 5)).unwrap();
        for (bytes, hit) in [(0..16, false), (12..17, true), (23..24, true), (24..40, false)] {
            assert_eq!(m.in_range(3, bytes.clone()).is_some(), hit, "{bytes:?}");
        }
        assert_eq!(m.in_range(2, 16..24), None);
        m.block_ends(3);
        assert_eq!(m.in_range(3, 16..24), None);
    }
}
