// SPDX-License-Identifier: MIT OR Apache-2.0
//! The learned part of the estimate: boosted trees over the figures of a function.
//!
//! `trees.txt` has them as `tools/register-model.py` writes them. Its first line names the figures that it
//! uses, the second what all trees start from, each other line is a tree, parents before children, the left
//! one first: `figure:threshold` goes left where the figure is at most the threshold, a bare number is a leaf.
//! Leaves add up to the natural logarithm of the registers, in ten thousandths.

use std::sync::OnceLock;

use super::features::Features;

#[derive(Clone, Copy, Debug)]
enum Node {
    Leaf(i32),
    /// The right child's place; the left one follows.
    Split {
        figure: u16,
        most: u32,
        right: u32,
    },
}

#[derive(Debug)]
pub struct Trees {
    start: i32,
    nodes: Vec<Node>,
    roots: Vec<u32>,
}

impl Trees {
    /// The trees of this build.
    pub fn built_in() -> &'static Trees {
        static TREES: OnceLock<Trees> = OnceLock::new();
        TREES.get_or_init(|| {
            Trees::parse(include_str!("trees.txt")).expect("a test parses the file")
        })
    }

    fn parse(text: &str) -> Option<Trees> {
        let mut lines = text.lines().filter(|l| !l.starts_with('#'));
        let figures: Option<Vec<u16>> = lines
            .next()?
            .split_whitespace()
            .map(|name| Features::NAMES.iter().position(|n| *n == name).map(|i| i as u16))
            .collect();
        let figures = figures?;
        let mut trees =
            Trees { start: lines.next()?.trim().parse().ok()?, nodes: vec![], roots: vec![] };
        for line in lines {
            trees.roots.push(trees.nodes.len() as u32);
            // Splits whose right child is still to come.
            let mut open: Vec<usize> = Vec::new();
            let mut complete = false;
            for word in line.split_whitespace() {
                if complete {
                    return None;
                }
                match word.split_once(':') {
                    Some((figure, most)) => {
                        let figure = *figures.get(figure.parse::<usize>().ok()?)?;
                        open.push(trees.nodes.len());
                        trees.nodes.push(Node::Split {
                            figure,
                            most: most.parse().ok()?,
                            right: 0,
                        });
                    }
                    None => {
                        trees.nodes.push(Node::Leaf(word.parse().ok()?));
                        let next = trees.nodes.len() as u32;
                        // A leaf ends its own subtree and those that it is the last of.
                        loop {
                            let Some(&parent) = open.last() else {
                                complete = true;
                                break;
                            };
                            let Node::Split { right, .. } = &mut trees.nodes[parent] else {
                                return None;
                            };
                            if *right == 0 {
                                *right = next;
                                break;
                            }
                            open.pop();
                        }
                    }
                }
            }
            if !complete {
                return None;
            }
        }
        Some(trees)
    }

    /// Registers for these figures, by their order in [`Features::NAMES`], not yet rounded.
    pub fn registers(&self, figures: &[u32]) -> f64 {
        let mut sum = i64::from(self.start);
        for &root in &self.roots {
            let mut at = root;
            loop {
                match self.nodes[at as usize] {
                    Node::Leaf(value) => {
                        sum += i64::from(value);
                        break;
                    }
                    Node::Split { figure, most, right } => {
                        at = if figures[usize::from(figure)] <= most { at + 1 } else { right };
                    }
                }
            }
        }
        (sum as f64 / 10_000.0).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_three_leaves() {
        let text = "# A remark.\nloops stores\n10000\n0:2 100 1:5 -200 300\n7\n";
        let trees = Trees::parse(text).unwrap();
        let place = |name| Features::NAMES.iter().position(|n| *n == name).unwrap();
        let registers = |loops, stores| {
            let mut figures = vec![0; Features::NAMES.len()];
            (figures[place("loops")], figures[place("stores")]) = (loops, stores);
            (trees.registers(&figures).ln() * 10_000.0).round() as i32
        };
        assert_eq!(registers(2, 9), 10_107);
        assert_eq!(registers(3, 5), 9_807);
        assert_eq!(registers(3, 6), 10_307);
    }

    #[test]
    fn files_that_are_no_trees() {
        assert!(Trees::parse("").is_none());
        assert!(Trees::parse("no_such_figure\n1\n").is_none());
        for tree in ["0:1 5", "0:1 5 6 7", "3:1 5 6", "0:x 5 6"] {
            assert!(Trees::parse(&format!("loops\n1\n{tree}\n")).is_none(), "{tree}");
        }
        assert!(Trees::parse(include_str!("trees.txt")).is_some());
    }
}
