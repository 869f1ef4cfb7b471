// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why an access through the texture unit moves more than it must, and what an array in tiles would bring.
//!
//! Limit: *modelled*, as every count of a texture. A cure is told only where the same texels were counted in the
//! other layout.

use super::schema::{Cure, Finding, Variable};
use crate::profile::raw::{RawSite, RawTexel, RawTexture};
use crate::words::Words;

/// Sectors that move at least this often what the texels need are worth a finding. A row of an array moves twice as
/// much, and the warps of the rows beside it find the rest in the cache.
const MOST_SECTORS: [(&str, f64); 2] = [("tiles", 2.5), ("rows", 1.5)];
/// Cures that gain less than this part of the cost are not worth a change.
const LEAST_GAIN: f64 = 0.05;

/// How neighbouring lanes' texels go.
enum Way {
    Row,
    Column,
    Depth,
    Layers,
    Apart,
}

/// The way of most steps from a lane to the next.
fn way(texels: &[RawTexel]) -> Way {
    // The first texel of each lane.
    let mut firsts: Vec<&RawTexel> = Vec::new();
    for t in texels {
        if firsts.last().is_none_or(|last| last.lane != t.lane) {
            firsts.push(t);
        }
    }
    let (mut ways, mut steps) = ([0usize; 4], 0);
    for pair in firsts.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let step = |n: usize| a.at[n].abs_diff(b.at[n]);
        steps += 1;
        match [step(0), step(1), step(2), a.layer.abs_diff(b.layer)] {
            [1, 0, 0, 0] => ways[0] += 1,
            [0, y, 0, 0] if y > 0 => ways[1] += 1,
            [0, 0, z, 0] if z > 0 => ways[2] += 1,
            [0, 0, 0, layer] if layer > 0 => ways[3] += 1,
            _ => {}
        }
    }
    // A warp of several rows or columns steps from one to the next now and then.
    let mostly = |n: usize| ways[n] * 4 >= steps * 3 && steps > 0;
    match [mostly(0), mostly(1), mostly(2), mostly(3)] {
        [true, ..] => Way::Row,
        [_, true, ..] => Way::Column,
        [_, _, true, _] => Way::Depth,
        [.., true] => Way::Layers,
        [..] => Way::Apart,
    }
}

/// What is wrong with the accesses of an instruction to a texture, if anything is.
pub fn find(
    site: &RawSite,
    form: &RawTexture,
    variable: &Variable,
    words: Words,
) -> Option<Finding> {
    let total = site.counts.first()?;
    let name = &variable.name;
    if total.sectors == 0 {
        return None;
    }
    let most = MOST_SECTORS.iter().find(|(layout, _)| *layout == form.used.layout)?.1;
    if (total.sectors as f64) < total.sectors_ideal as f64 * most {
        return None;
    }
    let each = total.sectors as f64 / site.executions.max(1) as f64;
    let least = total.sectors_ideal as f64 / site.executions.max(1) as f64;
    let how = match (way(&form.texels), &*form.used.layout) {
        (Way::Row, _) => "lanes take parts of rows",
        (Way::Column, "tiles") => "neighbouring lanes take texels above one another",
        (Way::Column, _) => {
            "neighbouring lanes take texels above one another, whose rows lie one behind the other in memory"
        }
        (Way::Depth, _) => "neighbouring lanes take texels of different slices",
        (Way::Layers, _) => "neighbouring lanes take texels of different layers",
        (Way::Apart, _) => "neighbouring lanes take texels that are not neighbours",
    };
    let cause = format!(
        "a warp's texels of `{name}` lie in {each:.1} sectors on average where {least:.1} would hold them: {how}"
    );
    let cure = form.used.sectors_in_array.and_then(|after| {
        let worth = after as f64 <= total.sectors as f64 * (1.0 - LEAST_GAIN);
        worth.then(|| Cure {
            kind: "to-array".into(),
            text: format!(
                "keep `{name}` in {}: its tiles hold neighbours of both directions together",
                words.say(
                    "an array (`cudaMallocArray`)",
                    "an image of its own (`clCreateImage` without a buffer)"
                )
            ),
            unit: "sectors".into(),
            before: total.sectors,
            after,
            whole_variable: false,
            change: None,
            picture: None,
            coverage: 1.0,
        })
    });
    Some(Finding { rule: "texture-scattered".into(), cause, cure })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::raw::{Sums, TextureUse};

    fn texel(lane: u32, x: u32, y: u32) -> RawTexel {
        RawTexel { lane, at: [x, y, 0], bytes: 4, ..RawTexel::default() }
    }

    fn found(layout: &str, in_array: Option<u64>, texels: Vec<RawTexel>) -> Option<Finding> {
        let counts = vec![Sums { sectors: 3200, sectors_ideal: 400, ..Sums::default() }];
        let used = TextureUse {
            layout: layout.into(),
            sectors_in_array: in_array,
            ..TextureUse::default()
        };
        let form = RawTexture { used, texels, ..RawTexture::default() };
        let site = RawSite { counts, executions: 100, ..RawSite::default() };
        let variable = Variable { name: "image".into(), ..Variable::default() };
        find(&site, &form, &variable, Words::Cuda)
    }

    #[test]
    fn a_column_of_rows_asks_for_an_array() {
        let column: Vec<RawTexel> = (0..32).map(|l| texel(l, 3, l)).collect();
        let finding = found("rows", Some(1600), column.clone()).unwrap();
        assert!(finding.cause.contains("32.0 sectors on average where 4.0"), "{}", finding.cause);
        assert!(finding.cause.contains("above one another, whose rows"), "{}", finding.cause);
        let cure = finding.cure.unwrap();
        assert_eq!((cure.before, cure.after), (3200, 1600));
        assert_eq!(found("rows", Some(3199), column.clone()).unwrap().cure, None);
        assert_eq!(found("tiles", None, column).unwrap().cure, None);
        let apart: Vec<RawTexel> = (0..32).map(|l| texel(l, 7 * l % 19, 5 * l % 23)).collect();
        assert!(found("tiles", None, apart).unwrap().cause.contains("not neighbours"));
    }

    #[test]
    fn what_moves_little_is_not_told() {
        let counts = vec![Sums { sectors: 500, sectors_ideal: 400, ..Sums::default() }];
        let site = RawSite { counts, executions: 100, ..RawSite::default() };
        let of = |layout: &str| RawTexture {
            used: TextureUse { layout: layout.into(), ..TextureUse::default() },
            ..RawTexture::default()
        };
        let rows = of("rows");
        assert_eq!(find(&site, &rows, &Variable::default(), Words::Cuda), None);
        let nothing =
            RawSite { counts: vec![Sums::default()], executions: 1, ..RawSite::default() };
        assert_eq!(find(&nothing, &rows, &Variable::default(), Words::Cuda), None, "all outside");
        // Half of each sector belongs to the row beside it.
        let counts = vec![Sums { sectors: 800, sectors_ideal: 400, ..Sums::default() }];
        let site = RawSite { counts, executions: 100, ..RawSite::default() };
        let tiles = of("tiles");
        assert_eq!(find(&site, &tiles, &Variable::default(), Words::Cuda), None);
        assert!(find(&site, &rows, &Variable::default(), Words::Cuda).is_some());
    }
}
