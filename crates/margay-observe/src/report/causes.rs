// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why an access costs more than it must, in one sentence, and what helps, in another.
//!
//! A cause is read off the pattern that costs most; the gain of a cure is counted on all of them.

use margay_arch::{Generation, MemoryModel, Space};

use super::build::{exists, in_sectors, weight};
use super::cures::{Change, cost, total};
use super::schema::{Cure, Finding, Kernel, Variable};
use super::shape::Shape;
use crate::profile::raw::{Home, RawKernel, RawPattern, RawSite, Sums, VariableKind};

/// Cures that gain less than this part of the cost are not worth a change.
const LEAST_GAIN: f64 = 0.05;
/// Fewer reads of constants than this mostly fill the cache for the first time.
const LEAST_LOOKUPS: u64 = 1000;

/// The pattern whose executions together cost most above what they must.
pub fn worst<'a>(site: &'a RawSite, model: &MemoryModel) -> Option<&'a RawPattern> {
    site.patterns.iter().max_by_key(|p| {
        let (weight, excess) = weight(&site.space, &cost(model, site, p, None));
        (excess * p.count, weight * p.count)
    })
}

/// Fills in the findings of a kernel's accesses, which are in the order of the sites.
pub fn find(kernel: &mut Kernel, raw: &RawKernel, models: &[MemoryModel]) {
    for (n, site) in raw.sites.iter().enumerate() {
        for (g, model) in models.iter().enumerate() {
            let variable = &kernel.variables[site.variable as usize];
            if !exists(site, model) {
                continue;
            }
            if let Some(form) = &site.texture {
                let finding = super::textures::find(site, form, variable);
                kernel.accesses[n].gpus[g].finding = finding;
                continue;
            }
            let Some(pattern) = worst(site, model) else { continue };
            let case = Case {
                raw,
                site,
                pattern,
                shape: Shape::of(pattern),
                one: cost(model, site, pattern, None),
                total: site.counts.get(g).copied().unwrap_or_default(),
                model,
                variable,
                g,
            };
            let finding = case.find();
            kernel.accesses[n].gpus[g].finding = finding;
        }
    }
}

/// An access on one GPU.
struct Case<'a> {
    raw: &'a RawKernel,
    site: &'a RawSite,
    pattern: &'a RawPattern,
    shape: Shape,
    /// One execution of the pattern.
    one: Sums,
    /// All executions.
    total: Sums,
    model: &'a MemoryModel,
    variable: &'a Variable,
    /// Number of the GPU.
    g: usize,
}

/// A number with its thousands apart.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

fn bytes(n: i64) -> String {
    match n.abs() {
        1 => "1 byte".into(),
        n => format!("{} bytes", number(n as u64)),
    }
}

fn plural(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {one}s", number(n)) }
}

impl Case<'_> {
    fn find(&self) -> Option<Finding> {
        match (&*self.site.space, &*self.site.kind) {
            ("shared", "atomic" | "reduction") => self.shared_atomic(),
            ("shared", _) => self.shared(),
            ("global", "atomic" | "reduction") => self.global_atomic(),
            ("global", _) => self.global(),
            ("local", _) => self.local(),
            ("constant" | "parameter", _) => self.constant(),
            // Textures and surfaces have no patterns.
            (_, _) => None,
        }
    }

    fn lanes(&self) -> u64 {
        u64::from(self.pattern.mask.count_ones())
    }

    fn width(&self) -> i64 {
        i64::from(self.site.width)
    }

    /// The variable's name, or words for what has none.
    fn name(&self) -> String {
        match self.variable.kind {
            VariableKind::Variable
            | VariableKind::DynamicShared
            | VariableKind::Allocation
            | VariableKind::Texture
            | VariableKind::Unknown => format!("`{}`", self.variable.name),
            VariableKind::Stack => "the stack".into(),
            VariableKind::Parameters => "the parameters".into(),
        }
    }

    /// Most lanes at one address.
    fn most_equal(&self) -> u64 {
        let mut distances = self.pattern.distances.clone();
        distances.sort_unstable();
        let runs = distances.chunk_by(|a, b| a == b);
        runs.map(|run| run.len() as u64).max().unwrap_or(0)
    }

    /// Sites that a change to the variable's layout touches.
    fn siblings(&self) -> impl Iterator<Item = &RawSite> {
        let (space, variable) = (&self.site.space, self.site.variable);
        self.raw.sites.iter().filter(move |s| s.variable == variable && s.space == *space)
    }

    /// A cure with its gain, if it has one. `unit` picks what is counted.
    fn cure(
        &self,
        kind: &str,
        text: String,
        unit: &str,
        change: Change,
        all: bool,
    ) -> Option<Cure> {
        let pick = |s: &Sums| match unit {
            "wavefronts" => s.wavefronts,
            "sectors" => s.sectors,
            "transactions" => s.transactions,
            _ => s.requests,
        };
        let sites: Vec<&RawSite> = match all {
            true => self.siblings().collect(),
            false => vec![self.site],
        };
        let exact: u64 = sites.iter().filter_map(|s| s.counts.get(self.g)).map(pick).sum();
        let kept = pick(&total(self.model, sites.iter().copied(), None));
        let after = total(self.model, sites.iter().copied(), Some(change));
        // In another space another thing is counted.
        let after = match change {
            Change::Move(Space::Shared) => after.wavefronts,
            Change::Move(Space::Constant) => after.requests,
            Change::Move(Space::Global) if in_sectors(self.model) => after.sectors,
            Change::Move(_) => after.transactions,
            _ => pick(&after),
        };
        let cure = self.told(kind, text, unit, (exact, kept, after), all)?;
        Some(Cure { change: Some(change), ..cure })
    }

    fn told(
        &self,
        kind: &str,
        text: String,
        unit: &str,
        (exact, kept, after): (u64, u64, u64),
        whole_variable: bool,
    ) -> Option<Cure> {
        if kept == 0 || after as f64 > kept as f64 * (1.0 - LEAST_GAIN) {
            return None;
        }
        let after = if exact == kept {
            after
        } else {
            (after as f64 * exact as f64 / kept as f64).round() as u64
        };
        Some(Cure {
            kind: kind.into(),
            text,
            unit: unit.into(),
            before: exact,
            after,
            whole_variable,
            change: None,
            picture: None,
            coverage: kept as f64 / exact.max(1) as f64,
        })
    }

    /// The best of several; of equals the first.
    fn best(cures: impl IntoIterator<Item = Option<Cure>>) -> Option<Cure> {
        cures.into_iter().flatten().min_by_key(|c| c.after)
    }

    fn shared(&self) -> Option<Finding> {
        let ways = self.one.wavefronts;
        if self.total.conflicts() == 0 || self.one.conflicts() == 0 {
            return None;
        }
        let (name, w) = (self.name(), self.width());
        let tesla = self.model.generation.is_tesla();
        let banks = if tesla { 16 } else { 32 };
        let mut hit: Vec<i64> = self
            .pattern
            .distances
            .iter()
            .map(|d| (d + i64::from(self.pattern.alignment)).div_euclid(4).rem_euclid(banks))
            .collect();
        hit.sort_unstable();
        hit.dedup();
        let where_ = match &*hit {
            [_] => "one bank".into(),
            several => format!("{} of {banks} banks", several.len()),
        };
        let least = self.one.wavefronts_ideal;
        let head =
            format!("{} lanes hit {where_} in {ways} passes where {least} would do", self.lanes());
        let cause = match self.shape {
            Shape::Stride(s) if tesla && w == 8 && s == 8 => format!(
                "{head}: 8-byte words go as two 4-byte requests, whose lanes are two banks apart"
            ),
            Shape::Stride(s) if w < 4 && s.abs() < 4 => format!(
                "{head}: {} lanes share each 4-byte word of {name}, and a bank gives one word to one lane",
                4 / s.abs().max(1)
            ),
            Shape::Stride(s) if s.abs() >= 4 * banks => {
                format!("{head}: column access of {name}, whose rows are {} apart", bytes(s))
            }
            Shape::Stride(s) => {
                format!("{head}: neighbouring lanes are {} apart in {name}", bytes(s))
            }
            Shape::Rows { lanes, stride, row } => format!(
                "{head}: groups of {lanes} lanes with {} between lanes and {} between groups in {name}",
                bytes(stride),
                bytes(row)
            ),
            Shape::Uniform | Shape::Single => format!("{head}: wide words of {name}"),
            Shape::Scattered => {
                format!("{head}: the lanes' places in {name} follow from data")
            }
        };
        let mut cures = Vec::new();
        let mut pitches: Vec<i64> = match self.shape {
            Shape::Stride(s) => vec![s.abs()],
            Shape::Rows { stride, row, .. } => vec![row.abs(), stride.abs()],
            Shape::Single | Shape::Uniform | Shape::Scattered => Vec::new(),
        };
        pitches.push(4 * banks);
        let by = w.max(4);
        if w == 8 && tesla {
            let text = format!(
                "keep the high and the low words of {name} in two arrays of 4-byte words, and put them together after loading"
            );
            cures.push(self.cure("split-words", text, "wavefronts", Change::SplitWords, true));
        }
        if w < 4 {
            let text = format!("give each element of {name} a 4-byte word of its own");
            let change = Change::WordEach { width: w };
            cures.push(self.cure("word-each", text, "wavefronts", change, true));
        }
        for pitch in pitches {
            if pitch < 2 * w || pitch % w != 0 || pitch % 4 != 0 {
                continue;
            }
            let change = Change::Pad { pitch, by };
            cures.push(self.cure("pad", self.pad_text(pitch, by), "wavefronts", change, true));
            if pitch <= 64 && pitch < 4 * banks {
                let text = format!(
                    "make an array for each member of the {}-byte structures in {name}",
                    number(pitch as u64)
                );
                let change = Change::MemberArrays { size: pitch, width: w };
                cures.push(self.cure("member-arrays", text, "wavefronts", change, true));
            }
            if (pitch / w).count_ones() == 1 && pitch >= 4 * banks {
                let text = format!(
                    "store column c of row r of {name} at column c ^ r, which takes no more memory"
                );
                let change = Change::Swizzle { pitch, width: w };
                cures.push(self.cure("swizzle", text, "wavefronts", change, true));
            }
        }
        Some(Finding { rule: "bank-conflict".into(), cause, cure: Self::best(cures) })
    }

    fn pad_text(&self, pitch: i64, by: i64) -> String {
        let (name, w) = (self.name(), self.width());
        let size = self.variable.size as i64;
        let columns = pitch / w;
        if self.variable.kind == VariableKind::Variable && size > pitch && size % pitch == 0 {
            let rows = size / pitch;
            return format!(
                "pad each row of {name} by {}: [{rows}][{}] instead of [{rows}][{columns}]",
                bytes(by),
                columns + by / w
            );
        }
        format!("leave {} free after every {} of {name}", bytes(by), bytes(pitch))
    }

    fn shared_atomic(&self) -> Option<Finding> {
        let equal = self.most_equal();
        let ideal = self.one.wavefronts_ideal;
        if self.one.wavefronts <= ideal {
            return None;
        }
        let name = self.name();
        let locks = match self.model.generation {
            Generation::Tesla10 | Generation::Tesla12 | Generation::Fermi | Generation::Kepler => {
                true
            }
            Generation::Maxwell | Generation::Pascal | Generation::Volta => false,
        };
        let how = match locks {
            true => "one lock is held at a time, and the others try again",
            false => "they take turns",
        };
        let cause = if equal > 1 {
            format!(
                "{} of {} lanes update one word of {name}: {how}, {} passes in all",
                equal,
                self.lanes(),
                self.one.wavefronts
            )
        } else if locks {
            format!(
                "{} lanes update words of {name} that share locks (there are 256, and words 1 KB apart have the same): {} passes",
                self.lanes(),
                self.one.wavefronts
            )
        } else {
            format!(
                "{} lanes update different words of {name} in the same banks: {} passes",
                self.lanes(),
                self.one.wavefronts
            )
        };
        let cure = if equal > 1 {
            let text = format!(
                "combine what the lanes of a warp have for the same word of {name} (shuffles, __match_any_sync, __reduce_add_sync), and let one lane update it"
            );
            self.cure("aggregate", text, "wavefronts", Change::OneLaneEach, false)
        } else {
            let change = Change::Pad { pitch: if locks { 1024 } else { 128 }, by: 4 };
            let text = self.pad_text(if locks { 1024 } else { 128 }, 4);
            self.cure("pad", text, "wavefronts", change, true)
        };
        Some(Finding { rule: "shared-atomic-contention".into(), cause, cure })
    }

    /// What global traffic is counted in.
    fn unit(&self) -> &'static str {
        if in_sectors(self.model) { "sectors" } else { "transactions" }
    }

    fn in_unit(&self, sums: &Sums) -> u64 {
        if in_sectors(self.model) { sums.sectors } else { sums.transactions }
    }

    fn global(&self) -> Option<Finding> {
        let (name, w, unit) = (self.name(), self.width(), self.unit());
        let now = self.in_unit(&self.one);
        let ordered = cost(self.model, self.site, self.pattern, Some(Change::InOrder));
        let (least, moved) = (self.in_unit(&ordered), ordered.bytes_moved);
        let worse = now > least || self.one.bytes_moved > moved;
        // Lanes that read one word need no more than it.
        if !worse || (self.shape == Shape::Uniform && now <= 1) {
            return None;
        }
        let head = format!("{} lanes touch {now} {unit} where {least} would do", self.lanes());
        let (rule, cause, cure) = match self.shape {
            Shape::Uniform => {
                let text = format!(
                    "put {name} into constant memory, which broadcasts, or let one lane read it and share it"
                );
                let change = Change::Move(Space::Constant);
                let cause = format!("{head}: all lanes ask for the same word of {name}");
                ("uniform-access", cause, self.cure("to-constant", text, unit, change, false))
            }
            Shape::Stride(s) if s == w => {
                let past = self.pattern.alignment % 128;
                let cause = format!(
                    "{head}: the lanes go in order, from {} past a multiple of 128",
                    bytes(i64::from(past))
                );
                let text = format!(
                    "begin each row of {name} at a multiple of 128 bytes (cudaMallocPitch, a padded row, an index that starts aligned)"
                );
                ("misaligned", cause, self.cure("align", text, unit, Change::Align, false))
            }
            Shape::Stride(s) if s == -w => {
                let cause = format!("{head}: the lanes go through {name} backwards");
                let text = format!("let lane k take element k of {name}, and reverse in registers");
                ("order", cause, self.cure("in-order", text, unit, Change::InOrder, false))
            }
            Shape::Stride(s) if s > w && s <= 128 && s % w == 0 => {
                let cause = format!(
                    "{head}: each lane takes {} of every {} of {name}, and the rest of a segment is moved for nothing",
                    bytes(w),
                    bytes(s)
                );
                let text = format!(
                    "keep the members of the {}-byte structures of {name} in arrays of their own",
                    number(s as u64)
                );
                let change = Change::MemberArrays { size: s, width: w };
                ("strided", cause, self.members(text, unit, change, s))
            }
            Shape::Stride(s) => {
                let cause = format!(
                    "{head}: neighbouring lanes are {} apart in {name}, each in a segment of its own",
                    bytes(s)
                );
                ("strided", cause, self.transposed(unit))
            }
            Shape::Rows { lanes, stride, row } if stride == w || stride == 0 => {
                let cause = format!(
                    "{head}: only {lanes} neighbouring lanes are neighbours in {name}; the next {lanes} are {} away",
                    bytes(row)
                );
                let text = format!(
                    "give a block's rows in x 32 threads, so that a warp takes one piece of {name}"
                );
                ("short-rows", cause, self.cure("wider-rows", text, unit, Change::InOrder, false))
            }
            Shape::Rows { lanes, stride, row } => {
                let cause = format!(
                    "{head}: {} between lanes, {} after every {lanes} in {name}",
                    bytes(stride),
                    bytes(row)
                );
                ("strided", cause, self.transposed(unit))
            }
            Shape::Single => return None,
            Shape::Scattered => {
                let cause = format!("{head}: the lanes' places in {name} follow from data");
                ("scattered", cause, None)
            }
        };
        Some(Finding { rule: rule.into(), cause, cure })
    }

    fn transposed(&self, unit: &str) -> Option<Cure> {
        let name = self.name();
        let text = format!(
            "let neighbouring lanes take neighbouring elements of {name}: exchange the roles of x and y here, or read rows and turn them in a tile of shared memory"
        );
        self.cure("transpose-index", text, unit, Change::InOrder, false)
    }

    /// Arrays for members: counted on all accesses with that stride.
    fn members(&self, text: String, unit: &str, change: Change, stride: i64) -> Option<Cure> {
        let like = |s: &&RawSite| {
            let first = s.patterns.first();
            s.width == self.site.width && first.map(Shape::of) == Some(Shape::Stride(stride))
        };
        let sites: Vec<&RawSite> = self.siblings().filter(like).collect();
        let exact: u64 =
            sites.iter().filter_map(|s| s.counts.get(self.g)).map(|s| self.in_unit(s)).sum();
        let kept = self.in_unit(&total(self.model, sites.iter().copied(), None));
        let after = self.in_unit(&total(self.model, sites.iter().copied(), Some(change)));
        self.told("member-arrays", text, unit, (exact, kept, after), true)
    }

    /// Atomic for this device only.
    fn atomic_elsewhere(&self) -> Option<Finding> {
        let (place, other) = match self.variable.home {
            Home::Device => return None,
            Home::Host => ("the host's memory", "the host and other devices"),
            Home::Peer => ("another device's memory", "that device and the host"),
        };
        let cause = format!(
            "{} lies in {place}: this atomic is one for the threads of this device, not for {other}",
            self.name()
        );
        Some(Finding { rule: "atomic-elsewhere".into(), cause, cure: None })
    }

    fn global_atomic(&self) -> Option<Finding> {
        if let Some(finding) = self.atomic_elsewhere() {
            return Some(finding);
        }
        let equal = self.most_equal();
        if equal < 2 {
            return None;
        }
        let (name, unit) = (self.name(), self.unit());
        let cause = format!(
            "{equal} of {} lanes update one word of {name}: they take turns, {} {unit}",
            self.lanes(),
            self.in_unit(&self.one)
        );
        let text = format!(
            "combine what the lanes of a warp have for the same word of {name} (shuffles, __reduce_add_sync), or of a block in shared memory, and let one lane update it"
        );
        let cure = self.cure("aggregate", text, unit, Change::OneLaneEach, false);
        Some(Finding { rule: "atomic-contention".into(), cause, cure })
    }

    fn local(&self) -> Option<Finding> {
        let unit = self.unit();
        let (executions, all) = (self.site.executions, self.in_unit(&self.total));
        let cause = match self.shape {
            Shape::Uniform | Shape::Single => format!(
                "a thread's array or spilled register lives in local memory: {} of {unit} in {}",
                number(all),
                plural(executions, "access").replace("accesss", "accesses")
            ),
            Shape::Stride(_) | Shape::Rows { .. } | Shape::Scattered => format!(
                "the lanes index their local arrays differently: {} {unit} for {} lanes",
                self.in_unit(&self.one),
                self.lanes()
            ),
        };
        let cure = Cure {
            kind: "registers".into(),
            text: "index the array with constants (unroll the loop), or give the kernel more registers, so that it stays in registers".into(),
            unit: unit.into(),
            before: all,
            after: 0,
            whole_variable: false,
            change: None,
            picture: None,
            coverage: 1.0,
        };
        Some(Finding { rule: "local-memory".into(), cause, cure: Some(cure) })
    }

    /// More constants in use than the cache holds, by its model.
    fn constant_misses(&self) -> Option<Finding> {
        let (mut hits, mut misses) = (0, 0);
        for site in self.siblings() {
            hits += site.caches.constant_hits;
            misses += site.caches.constant_misses;
        }
        let lookups = hits + misses;
        if self.g != 0 || lookups < LEAST_LOOKUPS || misses * 10 < lookups {
            return None;
        }
        let cause = format!(
            "{} of {} reads of {} ({}) miss the constant cache (modelled): what does not fit it is better off in read-only global memory, behind a const __restrict__ pointer",
            number(misses),
            number(lookups),
            self.name(),
            bytes(self.variable.size as i64)
        );
        Some(Finding { rule: "constant-misses".into(), cause, cure: None })
    }

    fn constant(&self) -> Option<Finding> {
        if self.total.replays == 0 || self.one.replays == 0 {
            return self.constant_misses();
        }
        let name = self.name();
        let mut distinct = self.pattern.distances.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let cause = format!(
            "{} lanes read {} different addresses of {name}: constant memory serves one at a time, {} requests",
            self.lanes(),
            distinct.len(),
            self.one.requests
        );
        let text = |how: &str| format!("keep {name} in {how}, where lanes may differ");
        let global = text("global memory behind a const __restrict__ pointer");
        let shared = text("shared memory, copied there once a block");
        let cure = Self::best([
            self.cure("to-global", global, "requests", Change::Move(Space::Global), false),
            self.cure("to-shared", shared, "requests", Change::Move(Space::Shared), false),
        ]);
        Some(Finding { rule: "constant-serialisation".into(), cause, cure })
    }
}
