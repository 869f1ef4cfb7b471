// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses through the texture unit, from the instruction to the report, against counts made by hand.

mod common;

use common::Bench;
use margay_exec::mem::texture::{
    ChannelKind, Dimensions, Filter, Format, Image, Object, Sampler, Texture, View,
};
use margay_observe::report::schema::{Access, Cell, Kernel};
use margay_observe::report::{Report, html, text};

/// `fetch` reads texel (x, y) + lane * (dx, dy) twice; `filter` samples at (lane + 1, 1); `store` writes lane's number to
/// column `lane`, and one more outside.
const PTX: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry fetch(.param .u64 image, .param .u64 out, .param .u32 dx, .param .u32 dy)
{
  .reg .b64 %d<5>; .reg .b32 %r<8>; .reg .f32 %f<10>;
  ld.param.u64 %d1, [image];
  ld.param.u64 %d2, [out];
  ld.param.u32 %r1, [dx];
  ld.param.u32 %r2, [dy];
  mov.u32 %r3, %tid.x;
  mul.lo.u32 %r4, %r3, %r1;
  mul.lo.u32 %r5, %r3, %r2;
  tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r4, %r5}];
  tex.2d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%d1, {%r4, %r5}];
  add.f32 %f1, %f1, %f5;
  mul.wide.u32 %d3, %r3, 4;
  add.u64 %d3, %d2, %d3;
  st.global.f32 [%d3], %f1;
  ret;
}
.visible .entry filter(.param .u64 image, .param .u64 out)
{
  .reg .b64 %d<5>; .reg .b32 %r<8>; .reg .f32 %f<10>;
  ld.param.u64 %d1, [image];
  ld.param.u64 %d2, [out];
  mov.u32 %r3, %tid.x;
  cvt.rn.f32.u32 %f5, %r3;
  add.f32 %f5, %f5, 0f3F800000;
  mov.f32 %f6, 0f3F800000;
  tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6}];
  mul.wide.u32 %d3, %r3, 4;
  add.u64 %d3, %d2, %d3;
  st.global.f32 [%d3], %f1;
  ret;
}
.visible .entry store(.param .u64 image)
{
  .reg .b64 %d<5>; .reg .b32 %r<8>;
  ld.param.u64 %d1, [image];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, 3;
  sust.b.2d.b32.trap [%d1, {%r2, %r3}], {%r1};
  mov.u32 %r3, -1;
  sust.b.2d.b32.zero [%d1, {%r2, %r3}], {%r1};
  ret;
}";

const WIDTH: u32 = 64;

fn floats() -> Format {
    Format::new(ChannelKind::F32, 1).unwrap()
}

fn fill(image: &Image) {
    for y in 0..WIDTH {
        for x in 0..WIDTH {
            let at = image.texels(0, 0, [x, y, 0]).unwrap();
            // SAFETY: a texel of four bytes.
            unsafe { at.cast::<f32>().write((100 * y + x) as f32) };
        }
    }
}

fn array() -> Image {
    let image = Image::new(Dimensions::plain(WIDTH, WIDTH, 0), floats()).unwrap();
    fill(&image);
    image
}

fn texture(bench: &Bench, image: &Image, filter: Filter) -> u64 {
    let view = View { image: image.clone(), normalized: false };
    let sampler = Sampler { filter, ..Sampler::default() };
    bench.memory.objects().insert(Object::Texture(Texture { view, sampler }))
}

fn kernel<'a>(report: &'a Report, name: &str) -> &'a Kernel {
    report.kernels.iter().find(|k| k.symbol == name).unwrap()
}

fn access<'a>(kernel: &'a Kernel, space: &str) -> &'a Access {
    kernel.accesses.iter().find(|a| a.space == space).unwrap()
}

fn cell(kernel: &Kernel, g: usize, name: &str) -> Cell {
    kernel.totals[g].spaces[name]
}

#[test]
fn a_column_of_rows_and_of_tiles() {
    let mut bench = Bench::new(&["h200", "c2050"]);
    let module = bench.load_text(PTX);
    let (out, rows) = (bench.buffer(&[0; 128]), bench.buffer(&[0; 64 * 64 * 4]));
    let pitched =
        Image::linear(rows, Dimensions::plain(WIDTH, WIDTH, 0), floats(), 256, 0).unwrap();
    fill(&pitched);
    let handle = texture(&bench, &pitched, Filter::Point);
    bench.launch(&module, "fetch", [1; 3], [32, 1, 1], &[handle, out, 0, 1]);
    // SAFETY: the buffer has 32 floats.
    let read = unsafe { std::slice::from_raw_parts(out as *const f32, 32) };
    assert_eq!(read[31], 2.0 * 3100.0);
    let report = bench.report();
    let kernel = kernel(&report, "fetch");
    for g in 0..2 {
        let c = cell(kernel, g, "texture_load");
        assert_eq!((c.executions, c.counts.requests, c.counts.texels), (2, 16, 64));
        assert_eq!((c.counts.sectors, c.counts.sectors_ideal), (64, 8), "a sector each");
        assert_eq!(kernel.totals[g].metrics["smsp__inst_executed_op_texture"], 2);
    }
    // The second read finds them.
    assert_eq!((kernel.caches.counts.texture_hits, kernel.caches.counts.texture_misses), (32, 32));
    assert_eq!(kernel.caches.texture_hit_rate, Some(0.5));
    let access = access(kernel, "texture");
    let form = access.texture.as_ref().unwrap();
    assert_eq!(
        (&*form.used.operation, &*form.used.layout, form.used.size),
        ("tex.s32", "rows", [64, 64, 0])
    );
    assert_eq!(
        (access.gpus[0].machine.as_str(), access.gpus[0].rule.source.as_str()),
        ("TLD", "modelled")
    );
    assert_eq!(kernel.variables[access.variable].argument, Some(0));
    let finding = access.gpus[0].finding.as_ref().unwrap();
    let cure = finding.cure.as_ref().unwrap();
    // In tiles a sector has two rows.
    assert_eq!((cure.before, cure.after), (32, 16));
    // Which the array then takes.
    let handle = texture(&bench, &array(), Filter::Point);
    bench.launch(&module, "fetch", [1; 3], [32, 1, 1], &[handle, out, 0, 1]);
    let after = bench.report();
    let both = cell(self::kernel(&after, "fetch"), 0, "texture_load");
    assert_eq!(both.counts.sectors - 64, 32);
}

#[test]
fn a_filter_reads_four_texels() {
    let mut bench = Bench::new(&["h200"]);
    let module = bench.load_text(PTX);
    let out = bench.buffer(&[0; 128]);
    let handle = texture(&bench, &array(), Filter::Linear);
    bench.launch(&module, "filter", [1; 3], [32, 1, 1], &[handle, out]);
    let report = bench.report();
    let kernel = kernel(&report, "filter");
    let c = cell(kernel, 0, "texture_load").counts;
    // Columns 0 to 32 of two rows: 66 texels, in 9 sectors of 4 columns.
    assert_eq!((c.texels, c.sectors, c.sectors_ideal), (128, 9, 9));
    let access = access(kernel, "texture");
    let form = access.texture.as_ref().unwrap();
    assert_eq!((form.used.filter.as_deref(), form.texels_per_lane), (Some("linear"), 4.0));
    let picture = access.gpus[0].picture.as_ref().unwrap();
    assert_eq!((picture.texels.len(), picture.segments.len()), (128, 9));
    assert_eq!(picture.texels[3].at, [1, 1, 0]);
    assert!(picture.segments[..8].iter().all(|s| s.bytes_used == 32));
    assert_eq!(picture.segments[8].bytes_used, 8);
    assert_eq!(access.gpus[0].finding, None);
    let told = text::render(&report, &text::Options::default());
    assert!(told.contains("texture load"), "{told}");
    assert!(
        told.contains(
            "tex of 64×64 texels of 4 bytes in tiles, linear filter: 128 texels, 4.0 a lane"
        ),
        "{told}"
    );
    assert!(html::render(&report).contains("texture_load"));
}

#[test]
fn surfaces_are_written_in_sectors() {
    let mut bench = Bench::new(&["h200"]);
    let module = bench.load_text(PTX);
    let image = array();
    let handle = bench.memory.objects().insert(Object::Surface(image.clone()));
    bench.launch(&module, "store", [1; 3], [32, 1, 1], &[handle]);
    // SAFETY: a texel of four bytes.
    assert_eq!(unsafe { image.texels(0, 0, [31, 3, 0]).unwrap().cast::<u32>().read() }, 31);
    let report = bench.report();
    let kernel = kernel(&report, "store");
    let c = cell(kernel, 0, "surface_store");
    assert_eq!((c.executions, c.counts.texels, c.counts.sectors), (2, 32, 8));
    let outside: u64 =
        kernel.accesses.iter().filter_map(|a| a.texture.as_ref()).map(|t| t.used.outside).sum();
    assert_eq!(outside, 32);
    assert_eq!(kernel.totals[0].metrics["smsp__inst_executed_op_surface_st"], 2);
    // Writes have no hit rate.
    assert_eq!(kernel.caches.texture_hit_rate, None);
    let columns = &report.launches.columns;
    let at = columns.iter().position(|c| c == "surface_sectors").unwrap();
    assert_eq!(report.launches.rows[0][at], 8);
}

#[test]
fn lanes_of_several_textures_are_told_apart() {
    let mut bench = Bench::new(&["h200"]);
    // The texture's handle of a lane is in an array of them.
    let ptx = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry bindless(.param .u64 handles, .param .u64 out)
{
  .reg .b64 %d<6>; .reg .b32 %r<8>; .reg .f32 %f<10>;
  ld.param.u64 %d1, [handles];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 1;
  mul.wide.u32 %d3, %r2, 8;
  add.u64 %d3, %d1, %d3;
  ld.global.u64 %d4, [%d3];
  mov.u32 %r3, 0;
  tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d4, {%r1, %r3}];
  ret;
}";
    let module = bench.load_text(ptx);
    let handles = [array(), array()].map(|image| texture(&bench, &image, Filter::Point));
    let bytes: Vec<u8> = handles.iter().flat_map(|h| h.to_le_bytes()).collect();
    let (list, out) = (bench.buffer(&bytes), bench.buffer(&[0; 128]));
    bench.launch(&module, "bindless", [1; 3], [32, 1, 1], &[list, out]);
    let report = bench.report();
    let c = cell(kernel(&report, "bindless"), 0, "texture_load");
    // Two accesses of 16 lanes, each of all 8 quads, to 8 sectors.
    assert_eq!(
        (c.executions, c.counts.requests, c.counts.texels, c.counts.sectors),
        (2, 16, 32, 16)
    );
}
