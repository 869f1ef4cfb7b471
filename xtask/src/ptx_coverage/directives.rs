// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX's directives, each in a module of a few lines that uses it.

/// A directive and where it stands.
#[derive(Clone, Copy)]
pub struct Directive {
    pub name: &'static str,
    /// The first PTX version that has it.
    pub since: &'static str,
    place: Place,
    text: &'static str,
}

#[derive(Clone, Copy)]
enum Place {
    /// A whole module.
    Whole,
    /// In the module, before a kernel.
    Module,
    /// Between a kernel's parameters and its body.
    Kernel,
    /// In a kernel's body.
    Body,
}

impl Directive {
    /// A module that uses it.
    pub fn module(&self) -> String {
        let header = ".version 9.0\n.target sm_100a\n.address_size 64\n";
        let (before, kernel, body) = match self.place {
            Place::Whole => return format!("{}\n", self.text),
            Place::Module => (self.text, "", ""),
            Place::Kernel => ("", self.text, ""),
            Place::Body => ("", "", self.text),
        };
        format!("{header}{before}\n.visible .entry k()\n{kernel}\n{{\n{body}\nret;\n}}\n")
    }

    pub fn parses(&self) -> bool {
        margay_ptx::parse(&self.module()).is_ok()
    }
}

macro_rules! directives {
    ($( $place:ident $since:literal $name:literal $text:literal )*) => {
        /// All directives, as the manual has them.
        pub fn all() -> Vec<Directive> {
            vec![$( Directive { name: $name, since: $since, place: Place::$place, text: $text }, )*]
        }
    };
}

directives! {
    Whole "1.0" ".version" ".version 1.0\n.target sm_10\n.entry k { exit; }"
    Whole "1.0" ".target" ".version 6.0\n.target sm_70\n.address_size 64\n.entry k() { ret; }"
    Whole "1.0" ".target with platform options" ".version 3.0\n.target sm_20, texmode_independent\n.address_size 64\n.entry k() { ret; }"
    Whole "2.3" ".address_size" ".version 2.3\n.target sm_20\n.address_size 32\n.entry k() { ret; }"
    Whole "1.0" ".entry" ".version 1.4\n.target sm_13\n.entry k (.param .u32 n) { exit; }"
    Module "1.0" ".func" ".func (.reg .b32 r) f (.reg .b32 a) { mov.b32 r, a; ret; }"
    Module "3.1" ".alias" ".visible .func f() { ret; }\n.visible .func e();\n.alias e, f;"
    Module "6.0" ".noreturn" ".func f() .noreturn { trap; }"
    Module "1.0" ".extern" ".extern .func f();"
    Module "1.0" ".visible" ".visible .global .b32 v;"
    Module "3.1" ".weak" ".weak .global .b32 v;"
    Module "4.0" ".common" ".common .global .b32 v;"
    Module "1.0" ".global" ".global .align 8 .b8 v[16] = {1, 2};"
    Module "1.0" ".const" ".const .f32 v[2] = {1.0, 0f40000000};"
    Module "1.0" ".shared" ".shared .align 16 .b8 v[32];"
    Module "1.0" ".align" ".global .align 32 .u64 v;"
    Module "4.0" ".attribute(.managed)" ".visible .global .attribute(.managed) .b32 v;"
    Module "7.1" ".attribute(.unified)" ".visible .global .attribute(.unified(19, 95)) .f32 v;"
    Module "1.5" ".texref" ".global .texref v;"
    Module "1.5" ".samplerref" ".global .samplerref v;"
    Module "1.5" ".surfref" ".global .surfref v;"
    Module "1.0" ".file" ".file 1 \"a.cu\""
    Module "1.0" ".section" ".section .debug_abbrev { .b8 1, 17; }"
    Module "2.0" ".pragma (module)" ".pragma \"nounroll\";"
    Body "2.0" ".pragma (statement)" ".pragma \"nounroll\";"
    Body "1.0" ".loc" ".loc 1 3 0"
    Kernel "1.3" ".maxntid" ".maxntid 256, 2"
    Kernel "2.1" ".reqntid" ".reqntid 128"
    Kernel "1.3" ".maxnreg" ".maxnreg 32"
    Kernel "2.0" ".minnctapersm" ".maxntid 128\n.minnctapersm 4"
    Kernel "1.3" ".maxnctapersm" ".maxntid 128\n.maxnctapersm 4"
    Kernel "7.8" ".reqnctapercluster" ".reqnctapercluster 2"
    Kernel "7.8" ".explicitcluster" ".explicitcluster"
    Kernel "7.8" ".maxclusterrank" ".maxclusterrank 8"
    Kernel "9.0" ".blocksareclusters" ".reqntid 64\n.reqnctapercluster 2\n.blocksareclusters"
    Module "9.0" ".abi_preserve" ".func f() .abi_preserve 8 { ret; }"
    Module "9.0" ".abi_preserve_control" ".func f() .abi_preserve_control 4 { ret; }"
    Body "1.0" ".reg" ".reg .b32 %r<4>; .reg .v4 .f32 %v; .reg .pred p;"
    Body "1.0" ".local" ".local .align 8 .b8 v[16];"
    Body "1.0" ".param (in a body)" ".param .align 8 .b8 v[12];"
    Body "2.1" ".branchtargets" ".reg .u32 i; mov.u32 i, 0; list: .branchtargets one, two; brx.idx i, list; one: two:"
    Body "2.1" ".callprototype" "proto: .callprototype (.param .b32 _) _ (.param .b64 _);"
    Module "2.1" ".calltargets" ".func f() { ret; }\n.func g() { .reg .b64 a; mov.u64 a, f; list: .calltargets f; call a, list; ret; }"
    Whole "2.2" ".ptr" ".version 8.0\n.target sm_52\n.address_size 64\n.entry k(.param .u64 .ptr .global .align 16 p) { ret; }"
}
