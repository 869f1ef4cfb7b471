// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cuts a failing kernel down while it still fails.

use super::kernel::{Kernel, Stmt};

/// A list of statements, by where it lies in the tree.
type Path = Vec<usize>;

/// The statements under a path: first which list (body, epilogue, functions), then by turns a
/// statement and one of its lists.
fn list<'a>(kernel: &'a mut Kernel, path: &[usize]) -> Option<&'a mut Vec<Stmt>> {
    let (&root, rest) = path.split_first()?;
    let mut at = match root {
        0 => &mut kernel.body,
        1 => &mut kernel.epilogue,
        n => kernel.functions.get_mut(n - 2)?,
    };
    for step in rest.chunks(2) {
        at = lists(at.get_mut(step[0])?).into_iter().nth(step[1])?;
    }
    Some(at)
}

fn lists(stmt: &mut Stmt) -> Vec<&mut Vec<Stmt>> {
    match stmt {
        Stmt::Lines(_) => Vec::new(),
        Stmt::If { then, els, .. } => vec![then, els],
        Stmt::Loop { body, .. } => vec![body],
        Stmt::Switch { arms, .. } => arms.iter_mut().collect(),
    }
}

/// Every list of statements of a kernel.
fn paths(kernel: &mut Kernel) -> Vec<Path> {
    let mut found: Vec<Path> = (0..2 + kernel.functions.len()).map(|n| vec![n]).collect();
    let mut next = 0;
    while next < found.len() {
        let path = found[next].clone();
        next += 1;
        let Some(stmts) = list(kernel, &path) else { continue };
        let more: Vec<(usize, usize)> = stmts
            .iter_mut()
            .enumerate()
            .flat_map(|(i, s)| (0..lists(s).len()).map(move |l| (i, l)))
            .collect();
        found.extend(more.into_iter().map(|(i, l)| [path.clone(), vec![i, l]].concat()));
    }
    found
}

/// Smaller kernels of the same kind, the greatest cuts first.
fn cuts(kernel: &Kernel) -> Vec<Kernel> {
    let mut cuts = Vec::new();
    let mut copy = kernel.clone();
    let paths = paths(&mut copy);
    for parts in [2, 4, 8] {
        for path in &paths {
            let Some(n) = list(&mut copy, path).map(|l| l.len()) else { continue };
            if n < parts {
                continue;
            }
            for part in 0..parts {
                let mut smaller = kernel.clone();
                if let Some(stmts) = list(&mut smaller, path) {
                    stmts.drain(n * part / parts..n * (part + 1) / parts);
                    cuts.push(smaller);
                }
            }
        }
    }
    for path in &paths {
        let Some(stmts) = list(&mut copy, path).map(|l| l.clone()) else { continue };
        for (i, stmt) in stmts.iter().enumerate().rev() {
            let mut put = |new: Vec<Stmt>| {
                let mut smaller = kernel.clone();
                if let Some(stmts) = list(&mut smaller, path) {
                    stmts.splice(i..=i, new);
                    cuts.push(smaller);
                }
            };
            put(Vec::new());
            match stmt {
                Stmt::Lines(lines) if lines.len() > 1 => {
                    for l in 0..lines.len() {
                        let mut fewer = lines.clone();
                        fewer.remove(l);
                        put(vec![Stmt::Lines(fewer)]);
                    }
                }
                Stmt::Lines(lines) => {
                    // Without its guard.
                    if let Some((guard, rest)) = lines[0].split_once(' ')
                        && guard.starts_with('@')
                    {
                        put(vec![Stmt::Lines(vec![rest.to_owned()])]);
                    }
                }
                Stmt::If { then, els, .. } => {
                    put(then.clone());
                    put(els.clone());
                }
                Stmt::Loop { init, counter, side_entry, body, .. } => {
                    put(body.clone());
                    if side_entry.is_some() {
                        put(vec![Stmt::Loop {
                            init: init.clone(),
                            counter: counter.clone(),
                            test_first: true,
                            side_entry: None,
                            body: body.clone(),
                        }]);
                    }
                    put(vec![Stmt::Loop {
                        init: vec![format!("mov.u32 {counter}, 2;")],
                        counter: counter.clone(),
                        test_first: true,
                        side_entry: side_entry.clone(),
                        body: body.clone(),
                    }]);
                }
                Stmt::Switch { arms, .. } => arms.iter().for_each(|arm| put(arm.clone())),
            }
        }
    }
    cuts
}

/// Whether a cut makes a kernel simpler: the last ones may leave it as it is.
fn weight(kernel: &Kernel) -> (usize, usize, u32) {
    let text: usize = kernel.text().len();
    (kernel.size(), text, kernel.all_threads())
}

/// The smallest kernel found for which `fails` holds, within so many tries.
pub fn minimise(
    kernel: &Kernel,
    mut tries: usize,
    fails: &mut dyn FnMut(&Kernel) -> bool,
) -> Kernel {
    let mut best = kernel.clone();
    let mut test = |k: &Kernel, tries: &mut usize| {
        *tries = tries.saturating_sub(1);
        *tries > 0 && fails(k)
    };
    // Fewer threads, where that is still a failure.
    for (grid, block) in
        [([1, 1, 1], kernel.block), ([1, 1, 1], [32, 1, 1]), (kernel.grid, [32, 1, 1])]
    {
        let mut smaller = best.clone();
        (smaller.grid, smaller.block) = (grid, block);
        if smaller.all_threads() < best.all_threads() && test(&smaller, &mut tries) {
            smaller.out_bytes = smaller.all_threads() * super::generate::SLOT;
            best = smaller;
        }
    }
    loop {
        let now = weight(&best);
        let mut better = None;
        for smaller in cuts(&best) {
            if weight(&smaller) < now && test(&smaller, &mut tries) {
                better = Some(smaller);
                break;
            }
            if tries == 0 {
                return best;
            }
        }
        match better {
            Some(smaller) => best = smaller,
            None => break,
        }
    }
    // Zeros instead of numbers.
    let mut step = best.input.len();
    while step >= 16 && tries > 0 {
        for from in (0..best.input.len()).step_by(step) {
            let mut smaller = best.clone();
            let end = (from + step).min(best.input.len());
            if smaller.input[from..end].iter().all(|&w| w == 0) {
                continue;
            }
            smaller.input[from..end].fill(0);
            if test(&smaller, &mut tries) {
                best = smaller;
            }
        }
        step /= 2;
    }
    for change in [
        |k: &mut Kernel| k.number = 0,
        |k: &mut Kernel| k.wide = 0,
        |k: &mut Kernel| k.constants.fill(0),
    ] {
        let mut smaller = best.clone();
        change(&mut smaller);
        if smaller != best && test(&smaller, &mut tries) {
            best = smaller;
        }
    }
    best
}
