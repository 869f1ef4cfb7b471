// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model against every access that an H200 counted.

use std::io::Read;

use margay_arch::{
    AtomicOp, CacheOperator, ComputeCapability, Counts, Kind, MemoryModel, Space, WarpAccess,
};
use serde_json::Value;

struct Row {
    id: u64,
    space: Space,
    kind: Kind,
    op: String,
    width: u32,
    mask: u32,
    addresses: [u64; 32],
    counters: Value,
}

impl Row {
    fn of(line: &str) -> Row {
        let row: Value = serde_json::from_str(line).unwrap();
        let op = row["op"].as_str().unwrap().to_owned();
        let base = row["base"].as_u64().unwrap();
        let offsets = row["offsets"].as_array().unwrap();
        Row {
            id: row["id"].as_u64().unwrap(),
            space: match row["space"].as_str().unwrap() {
                "shared" => Space::Shared,
                "global" => Space::Global,
                "local" => Space::Local,
                "const" => Space::Constant,
                other => panic!("{other}"),
            },
            kind: match op.as_str() {
                "ld" => Kind::Load,
                "st" => Kind::Store,
                "atom" => Kind::Atomic(AtomicOp::Add),
                "red" => Kind::Reduction(AtomicOp::Add),
                other => panic!("{other}"),
            },
            op,
            width: row["width"].as_u64().unwrap() as u32,
            mask: u32::from_str_radix(row["active"].as_str().unwrap(), 16).unwrap(),
            addresses: std::array::from_fn(|lane| base + offsets[lane].as_u64().unwrap()),
            counters: row["counters"].clone(),
        }
    }

    fn counter(&self, name: &str) -> u32 {
        self.counters[name].as_u64().unwrap_or_else(|| panic!("{}: no {name}", self.id)) as u32
    }

    fn predicted(&self) -> Counts {
        let limits = ComputeCapability::new(9, 0).limits().unwrap();
        MemoryModel::new(limits).count(&WarpAccess {
            space: self.space,
            kind: self.kind,
            width: self.width,
            mask: self.mask,
            addresses: &self.addresses,
            cache: CacheOperator::Default,
        })
    }
}

fn rows() -> Vec<Row> {
    let packed: &[u8] = include_bytes!("../../../tests/vectors/h200/memory_access.jsonl.zst");
    let mut text = String::new();
    ruzstd::decoding::StreamingDecoder::new(packed).unwrap().read_to_string(&mut text).unwrap();
    text.lines().map(Row::of).collect()
}

#[test]
fn shared_loads_and_stores() {
    let mut seen = 0;
    for row in rows()
        .iter()
        .filter(|r| r.space == Space::Shared && matches!(r.kind, Kind::Load | Kind::Store))
    {
        let name = format!("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}", row.op);
        assert_eq!(row.predicted().wavefronts, row.counter(&name), "{}", row.id);
        assert_eq!(row.predicted().instructions, 1);
        seen += 1;
    }
    assert_eq!(seen, 288);
}

#[test]
fn shared_atomics_of_32_bits() {
    let mut seen = 0;
    for row in rows() {
        if row.space == Space::Shared
            && !matches!(row.kind, Kind::Load | Kind::Store)
            && row.width == 4
        {
            let name = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_atom";
            assert_eq!(row.predicted().wavefronts, row.counter(name), "{}", row.id);
            seen += 1;
        }
    }
    assert_eq!(seen, 56);
}

#[test]
fn global_and_local() {
    let mut seen = 0;
    let mut off = Vec::new();
    for row in rows().iter().filter(|r| matches!(r.space, Space::Global | Space::Local)) {
        let space = if row.space == Space::Global { "global" } else { "local" };
        let counter =
            |what| row.counter(&format!("l1tex__t_{what}_pipe_lsu_mem_{space}_op_{}", row.op));
        let predicted = row.predicted();
        assert_eq!(predicted.requests, counter("requests"), "{}", row.id);
        if predicted.sectors != counter("sectors") {
            off.push((row.id, counter("sectors") as i32 - predicted.sectors as i32));
        }
        seen += 1;
    }
    assert_eq!(seen, 499);
    assert_eq!(off, [(1379, 2), (1381, 1), (1383, 1)]);
}

#[test]
fn constants() {
    let mut seen = 0;
    for row in rows().iter().filter(|r| r.space == Space::Constant) {
        let predicted = row.predicted();
        assert_eq!(
            predicted.replays,
            row.counter("sm__idc_divergent_instruction_replays"),
            "{}",
            row.id
        );
        // The kernel's own parameter reads are 33.
        assert_eq!(predicted.requests + 33, row.counter("idc__requests"), "{}", row.id);
        assert_eq!(
            predicted.instructions + 33,
            row.counter("smsp__inst_executed_op_ldc"),
            "{}",
            row.id
        );
        seen += 1;
    }
    assert_eq!(seen, 73);
}
