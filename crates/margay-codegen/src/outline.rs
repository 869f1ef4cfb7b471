// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the engine must know of compiled code to enter and to leave it, also as bytes: they are kept with the object, so that
//! who finds that needs no text.

use std::collections::HashMap;
use std::sync::Arc;

use margay_ir::Class;

use crate::shape::{LANES, Pattern, Steps};
use crate::{Entry, Exit, Reason, RoomGroup, RoomSite, Root, Stored, WatchedAccess, WatchedMember};

/// See [`crate::Code`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    pub entries: Vec<Entry>,
    pub exits: Vec<Exit>,
    /// Local memory lies word by word: word `w` of lane `l` at `w * 128 + l * 4` from the warp's part.
    pub private: bool,
    pub groups: Vec<RoomGroup>,
    /// What [`crate::Io::rooms`] must hold.
    pub rooms: Vec<RoomSite>,
    /// Accesses that are reported by their number here.
    pub watched: Vec<WatchedAccess>,
}

impl Outline {
    /// The bytes that [`Outline::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Each field by its name, here and below: none is forgotten.
        let Outline { entries, exits, private, groups, rooms, watched } = self;
        let mut out = Out::default();
        out.list(entries, Out::entry);
        out.list(exits, Out::exit);
        out.flag(*private);
        out.list(groups, Out::group);
        out.list(rooms, Out::room);
        out.list(watched, Out::watched);
        let Out { bytes: body, patterns, .. } = out;
        // Many registers have the same few patterns.
        let mut all = Out::default();
        all.list(&patterns, |out, Pattern { pat, q }| {
            out.steps(pat);
            out.option(q.as_ref(), Out::steps);
        });
        all.bytes.extend(body);
        all.bytes
    }

    /// `None` if that is not what the bytes are.
    pub fn from_bytes(bytes: &[u8]) -> Option<Outline> {
        let mut from = In { bytes, patterns: Vec::new() };
        from.patterns = from.list(|from| {
            Some(Arc::new(Pattern { pat: from.steps()?, q: from.option(|from| from.steps())? }))
        })?;
        let outline = Outline {
            entries: from.list(In::entry)?,
            exits: from.list(In::exit)?,
            private: from.flag()?,
            groups: from.list(In::group)?,
            rooms: from.list(In::room)?,
            watched: from.list(In::watched)?,
        };
        from.bytes.is_empty().then_some(outline)
    }
}

#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
    patterns: Vec<Pattern>,
    numbers: HashMap<Pattern, u32>,
}

impl Out {
    fn word(&mut self, n: u32) {
        self.bytes.extend(n.to_le_bytes());
    }

    fn long(&mut self, n: u64) {
        self.bytes.extend(n.to_le_bytes());
    }

    fn byte(&mut self, n: u8) {
        self.bytes.push(n);
    }

    fn flag(&mut self, on: bool) {
        self.byte(u8::from(on));
    }

    fn steps(&mut self, steps: &Steps) {
        steps.iter().for_each(|&n| self.long(n as u64));
    }

    fn list<T>(&mut self, items: &[T], one: impl Fn(&mut Out, &T)) {
        self.word(items.len() as u32);
        items.iter().for_each(|item| one(self, item));
    }

    fn option<T>(&mut self, item: Option<&T>, one: impl Fn(&mut Out, &T)) {
        self.flag(item.is_some());
        if let Some(item) = item {
            one(self, item);
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        let number = self.numbers.get(pattern).copied().unwrap_or_else(|| {
            let number = self.patterns.len() as u32;
            self.patterns.push(pattern.clone());
            self.numbers.insert(pattern.clone(), number);
            number
        });
        self.word(number);
    }

    fn stored(&mut self, stored: &Stored) {
        let Stored { reg, plane, class, lin } = stored;
        self.word(*reg);
        self.word(*plane);
        self.byte(match class {
            Class::P => 0,
            Class::W => 1,
            Class::D => 2,
        });
        self.option(lin.as_deref(), Out::pattern);
    }

    fn entry(&mut self, entry: &Entry) {
        let Entry { pc, live, inside, apart } = entry;
        self.word(*pc);
        self.list(live, Out::stored);
        self.flag(*inside);
        self.flag(*apart);
    }

    fn exit(&mut self, exit: &Exit) {
        let Exit { reason, pc, live, resume, pending, apart } = exit;
        match reason {
            Reason::Barrier { id } => {
                self.byte(0);
                self.byte(*id);
            }
            Reason::Interpret => self.byte(1),
            Reason::Never => self.byte(2),
            Reason::Fuel => self.byte(3),
            Reason::Hold => self.byte(4),
        }
        self.word(*pc);
        self.list(live, Out::stored);
        self.option(resume.as_ref(), |out, &n| out.word(n));
        self.list(pending, |out, &n| out.word(n));
        self.flag(*apart);
    }

    fn group(&mut self, group: &RoomGroup) {
        let RoomGroup { root, accesses } = group;
        self.option(root.as_ref(), |out, root| match *root {
            Root::Param(n) => {
                out.byte(0);
                out.word(n);
            }
            Root::Variable(n) => {
                out.byte(1);
                out.word(n);
            }
        });
        self.list(accesses, |out, &(pc, slot)| {
            out.word(pc);
            out.word(slot);
        });
    }

    fn room(&mut self, room: &RoomSite) {
        let RoomSite { group, write, constant, less } = room;
        self.word(*group);
        self.flag(*write);
        self.flag(*constant);
        self.long(*less);
    }

    fn watched(&mut self, access: &WatchedAccess) {
        let WatchedAccess { pc, form, cells, grain, members, apart } = access;
        self.word(*pc);
        self.pattern(form);
        self.flag(*cells);
        self.word(*grain);
        self.list(members, |out, &WatchedMember { number, more }| {
            out.word(number);
            out.long(more as u64);
        });
        self.flag(*apart);
    }
}

struct In<'a> {
    bytes: &'a [u8],
    patterns: Vec<Arc<Pattern>>,
}

impl In<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*first)
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take()?))
    }

    fn byte(&mut self) -> Option<u8> {
        Some(u8::from_le_bytes(self.take()?))
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn steps(&mut self) -> Option<Steps> {
        let mut steps = [0; LANES];
        for step in &mut steps {
            *step = self.long()? as i64;
        }
        Some(steps)
    }

    fn list<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.word()?;
        (0..count).map(|_| one(self)).collect()
    }

    fn option<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Option<T>> {
        Some(if self.flag()? { Some(one(self)?) } else { None })
    }

    fn pattern(&mut self) -> Option<Arc<Pattern>> {
        let number = self.word()?;
        self.patterns.get(number as usize).cloned()
    }

    fn stored(&mut self) -> Option<Stored> {
        Some(Stored {
            reg: self.word()?,
            plane: self.word()?,
            class: match self.byte()? {
                0 => Class::P,
                1 => Class::W,
                2 => Class::D,
                _ => return None,
            },
            lin: self.option(Self::pattern)?,
        })
    }

    fn entry(&mut self) -> Option<Entry> {
        Some(Entry {
            pc: self.word()?,
            live: self.list(Self::stored)?,
            inside: self.flag()?,
            apart: self.flag()?,
        })
    }

    fn exit(&mut self) -> Option<Exit> {
        Some(Exit {
            reason: match self.byte()? {
                0 => Reason::Barrier { id: self.byte()? },
                1 => Reason::Interpret,
                2 => Reason::Never,
                3 => Reason::Fuel,
                4 => Reason::Hold,
                _ => return None,
            },
            pc: self.word()?,
            live: self.list(Self::stored)?,
            resume: self.option(Self::word)?,
            pending: self.list(Self::word)?,
            apart: self.flag()?,
        })
    }

    fn group(&mut self) -> Option<RoomGroup> {
        Some(RoomGroup {
            root: self.option(|from| match from.byte()? {
                0 => Some(Root::Param(from.word()?)),
                1 => Some(Root::Variable(from.word()?)),
                _ => None,
            })?,
            accesses: self.list(|from| Some((from.word()?, from.word()?)))?,
        })
    }

    fn room(&mut self) -> Option<RoomSite> {
        Some(RoomSite {
            group: self.word()?,
            write: self.flag()?,
            constant: self.flag()?,
            less: self.long()?,
        })
    }

    fn watched(&mut self) -> Option<WatchedAccess> {
        Some(WatchedAccess {
            pc: self.word()?,
            form: self.pattern()?.as_ref().clone(),
            cells: self.flag()?,
            grain: self.word()?,
            members: self.list(|from| {
                Some(WatchedMember { number: from.word()?, more: from.long()? as i64 })
            })?,
            apart: self.flag()?,
        })
    }
}
