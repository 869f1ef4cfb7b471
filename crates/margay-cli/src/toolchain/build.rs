// SPDX-License-Identifier: MIT OR Apache-2.0
//! A whole compilation: each source to an object (through the cache), then the link.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use indicatif::{ProgressBar, ProgressStyle};

use super::arch::Arch;
use super::cache::{self, Cache};
use super::clang::Clang;
use super::device_launch::Overlay;
use super::options::{Kind, Options, Phase, kind_of};
use super::{container, device, device_link, headers, judge, libraries, resources};
use crate::failure::{At, Failure};

/// The tools of one compilation.
pub struct Session {
    pub clang: Clang,
    pub include: PathBuf,
    pub cache: Cache,
    verbose: bool,
    dry_run: bool,
    /// What shown commands begin with: nvcc's mark, for those who read its output.
    mark: &'static str,
}

/// What a compilation made.
pub struct Built {
    pub outputs: Vec<PathBuf>,
    /// Sources whose result came from the cache.
    pub cached: usize,
}

/// An object, and where it came from.
struct Object {
    path: PathBuf,
    cached: bool,
}

impl Session {
    /// Finds clang and unpacks the headers.
    pub fn open(options: &Options) -> Result<Session, Failure> {
        let cache = Cache::open();
        let include = headers::directory(&cache.root)?;
        Ok(Session {
            clang: Clang::find()?,
            include,
            cache,
            verbose: options.verbose,
            dry_run: options.dry_run,
            mark: if options.as_nvcc.is_some() { "#$ " } else { "" },
        })
    }

    /// A directory for intermediate files.
    pub fn scratch(&self) -> Result<tempfile::TempDir, Failure> {
        tempfile::Builder::new().prefix("margay-").tempdir().at(&env::temp_dir(), "cannot write")
    }

    /// clang writes into a pipe; it colours as if it were the terminal behind.
    pub fn colour(&self) -> &'static [&'static str] {
        if std::io::stderr().is_terminal() { &["-fcolor-diagnostics"] } else { &[] }
    }

    /// Runs a pass. Returns what it said; fails, having printed that, if it failed.
    pub fn run(&self, command: &mut Command, source: &Path) -> Result<String, Failure> {
        self.attempt(command)?.map_err(|refused| refused.told(source))
    }

    /// Runs a pass that may fail. Returns what it said.
    pub fn attempt(&self, command: &mut Command) -> Result<Result<String, Refused>, Failure> {
        if self.verbose || self.dry_run {
            eprintln!("{}{}", self.mark, shown(command));
        }
        if self.dry_run {
            return Ok(Ok(String::new()));
        }
        let output = command
            .stdin(Stdio::inherit())
            .stdout(Stdio::inherit())
            .stderr(Stdio::piped())
            .spawn()
            .and_then(|child| child.wait_with_output())
            .map_err(|error| Failure::Start { program: command.get_program().into(), error })?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            return Ok(Ok(said));
        }
        let code = output.status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(1);
        Ok(Err(Refused { said, code }))
    }
}

/// What a pass said that failed.
pub struct Refused {
    pub said: String,
    pub code: u8,
}

impl Refused {
    /// Tells the user.
    pub fn told(self, source: &Path) -> Failure {
        eprint!("{}", self.said);
        Failure::Compile { source_file: source.to_path_buf(), code: self.code }
    }
}

/// Compiles as the options say.
pub fn build(options: &Options) -> Result<Built, Failure> {
    for note in &options.notes {
        eprintln!("margay: note: {note}");
    }
    if let (Some(root), true) = (&options.as_nvcc, options.verbose || options.dry_run) {
        say_places(options, root);
    }
    if options.inputs.is_empty() {
        return Err(Failure::Usage("no input file".into()));
    }
    for input in &options.inputs {
        if !input.exists() && !options.dry_run {
            return Err(Failure::File {
                path: input.clone(),
                what: "cannot read",
                // ENOENT, for the system's own words.
                error: std::io::Error::from_raw_os_error(2),
            });
        }
    }
    let sources: Vec<&PathBuf> = options
        .inputs
        .iter()
        .filter(|i| kind_of(i, options.language.as_deref()) != Kind::Linked)
        .collect();
    let joins = matches!(options.phase, Phase::Link | Phase::Archive);
    if !joins && options.output.is_some() && sources.len() > 1 {
        return Err(Failure::Usage("-o names one file, and there are several sources".into()));
    }
    let session = Session::open(options)?;
    match options.phase {
        Phase::Link => link(&session, options, &sources),
        Phase::Object => {
            let mut built = Built { outputs: Vec::new(), cached: 0 };
            for source in sources {
                let target =
                    options.output.clone().unwrap_or_else(|| output_in(options, source, "o"));
                let object = object(&session, options, source, &target)?;
                built.cached += usize::from(object.cached);
                if !options.dry_run {
                    fs::copy(&object.path, &target).at(&target, "cannot write")?;
                }
                built.outputs.push(target);
            }
            Ok(built)
        }
        Phase::Ptx | Phase::FatBinary => device_outputs(&session, options, &sources),
        Phase::Archive => archive(&session, options, &sources),
        Phase::DeviceLink => device_link(&session, options, &sources),
        Phase::Preprocess => {
            for source in sources {
                let mut pass = host_command(&session, options, source);
                pass.arg("-E");
                if let Some(output) = &options.output {
                    pass.arg("-o").arg(output);
                }
                eprint!("{}", session.run(pass.arg(source), source)?);
            }
            Ok(Built { outputs: options.output.iter().cloned().collect(), cached: 0 })
        }
        Phase::Dependencies => list_dependencies(&session, options, &sources),
    }
}

/// Where things are and what is compiled for, as nvcc tells it with `-v`: CMake reads these lines.
fn say_places(options: &Options, root: &Path) {
    let root = root.display();
    eprintln!("#$ TOP={root}");
    eprintln!("#$ NVVMIR_LIBRARY_DIR={root}/nvvm/libdevice");
    eprintln!("#$ PATH={}", env::var("PATH").unwrap_or_default());
    eprintln!("#$ INCLUDES=\"-I{root}/include\"  ");
    eprintln!("#$ LIBRARIES=  {}", shown_libraries(&root.to_string()));
    for arch in options.architectures() {
        eprintln!("#$ TARGET=-arch compute_{}", arch.number);
    }
}

/// The library path of a link as it is shown: the same words in both places.
fn shown_libraries(root: &str) -> String {
    format!("-L{root}/lib64")
}

/// `-lib`: all objects, compiled ones too, in an archive.
fn archive(session: &Session, options: &Options, sources: &[&PathBuf]) -> Result<Built, Failure> {
    let output = options.output.clone().unwrap_or_else(|| PathBuf::from("a.a"));
    let scratch = session.scratch()?;
    let mut cached = 0;
    let mut members: Vec<PathBuf> = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        let object = object(session, options, source, &output)?;
        cached += usize::from(object.cached);
        // A member is named after its source, and sources may have the same name.
        let directory = scratch.path().join(number.to_string());
        let member = directory.join(output_beside(source, "o"));
        if !options.dry_run {
            fs::create_dir_all(&directory).at(&directory, "cannot create")?;
            fs::copy(&object.path, &member).at(&member, "cannot write")?;
        }
        members.push(member);
    }
    let is_object = |input: &&PathBuf| kind_of(input, options.language.as_deref()) == Kind::Linked;
    members.extend(options.inputs.iter().filter(is_object).cloned());
    // `ar` would add to an archive of an earlier build.
    if !options.dry_run && output.exists() {
        fs::remove_file(&output).at(&output, "cannot replace")?;
    }
    // `q` and not `r`: with `r` the second of two members of one name would replace the first.
    let archiver = options.archiver.clone().unwrap_or_else(|| "ar".into());
    let mut command = Command::new(archiver);
    command.arg("qcs").arg(&output).args(&members);
    eprint!("{}", session.run(&mut command, &output)?);
    Ok(Built { outputs: vec![output], cached })
}

/// `-M` and `-MM`: the rules, to `-o`, `-MF`, or standard output.
fn list_dependencies(
    session: &Session,
    options: &Options,
    sources: &[&PathBuf],
) -> Result<Built, Failure> {
    let scratch = session.scratch()?;
    let list = scratch.path().join("list.d");
    let mut rules = String::new();
    for source in sources {
        let mut pass = host_command(session, options, source);
        pass.arg("-M").arg("-MF").arg(&list).arg(source);
        eprint!("{}", session.run(&mut pass, source)?);
        if !options.dry_run {
            let files = device::read_dependencies(&list)?;
            let target = output_in(options, source, "o");
            rules.push_str(&dependency_rule(options, source, &target, &files, session));
        }
    }
    if options.dry_run {
        return Ok(Built { outputs: Vec::new(), cached: 0 });
    }
    match options.output.as_ref().or(options.dependency_file.as_ref()) {
        Some(path) => {
            fs::write(path, rules).at(path, "cannot write")?;
            Ok(Built { outputs: vec![path.clone()], cached: 0 })
        }
        None => {
            print!("{rules}");
            Ok(Built { outputs: Vec::new(), cached: 0 })
        }
    }
}

/// `-ptx` and `-fatbin`.
fn device_outputs(
    session: &Session,
    options: &Options,
    sources: &[&PathBuf],
) -> Result<Built, Failure> {
    let mut outputs = Vec::new();
    for source in sources {
        if kind_of(source, options.language.as_deref()) != Kind::Cuda {
            return Err(Failure::Usage(format!(
                "{}: no device code; expected a .cu file",
                source.display()
            )));
        }
        let modules = device_passes(session, options, source)?.modules;
        let (ending, bytes) = if options.phase == Phase::Ptx {
            if modules.len() > 1 {
                return Err(Failure::Usage("-ptx takes one architecture".into()));
            }
            eprint!("{}{}", modules[0].1.diagnostics, usage(options, &modules));
            ("ptx", modules[0].1.ptx.clone().into_bytes())
        } else {
            eprint!("{}", modules[0].1.diagnostics);
            eprint!("{}", usage(options, &modules));
            ("fatbin", container::pack(&embedded(session, options, &modules)))
        };
        let target = options.output.clone().unwrap_or_else(|| output_in(options, source, ending));
        if !options.dry_run {
            fs::write(&target, bytes).at(&target, "cannot write")?;
        }
        outputs.push(target);
    }
    Ok(Built { outputs, cached: 0 })
}

/// What the device passes of a source made.
struct DevicePasses {
    modules: Vec<(Arch, device::DeviceCode)>,
    /// What the host pass must read as well.
    overlay: Option<Overlay>,
}

/// All architectures at once.
fn device_passes(
    session: &Session,
    options: &Options,
    source: &Path,
) -> Result<DevicePasses, Failure> {
    let archs = options.architectures();
    for arch in &archs {
        let known = device::known_to_clang(session, *arch);
        if known != *arch {
            let instead = match device::marked(session, *arch) == *arch {
                true => {
                    format!("the code is compiled as for {known}; what {arch} lacks is refused")
                }
                false => format!("its PTX is for {known}"),
            };
            eprintln!("margay: note: clang {} has no {arch}; {instead}", session.clang.major);
        }
    }
    let (mut modules, overlay) = match passes_with(session, options, source, &archs, None)? {
        Some(modules) => (modules, None),
        None => {
            let overlay = Overlay::of(session, options, source)?;
            let modules = passes_with(session, options, source, &archs, Some(&overlay))?;
            (modules.unwrap_or_default(), Some(overlay))
        }
    };
    if let (Some((_, first)), false) = (modules.first_mut(), options.dry_run) {
        let texts: Vec<String> = first
            .dependencies
            .iter()
            .filter(|file| !file.starts_with(&session.include) && !file.starts_with("/usr"))
            .filter_map(|file| fs::read(file).ok())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .collect();
        first.diagnostics += &judge::source(session, options, source, &texts)?;
    }
    Ok(DevicePasses { modules, overlay })
}

/// The passes, with or without the overlay; `None` if they need it.
fn passes_with(
    session: &Session,
    options: &Options,
    source: &Path,
    archs: &[Arch],
    overlay: Option<&Overlay>,
) -> Result<Option<Vec<(Arch, device::DeviceCode)>>, Failure> {
    thread::scope(|scope| {
        let pass = |arch| device::compile(session, options, source, arch, overlay);
        let passes: Vec<_> =
            archs.iter().map(|arch| (*arch, scope.spawn(move || pass(*arch)))).collect();
        let mut done = Vec::new();
        let mut failure = None;
        let mut launches = false;
        for (arch, pass) in passes {
            match pass.join().expect("a pass does not panic") {
                Ok(None) => launches = true,
                Ok(Some(code)) => {
                    // nvcc writes PTX without asking ptxas.
                    if options.phase != Phase::Ptx && !options.dry_run {
                        judge::ptx(session, options, source, arch, &code.ptx)?;
                        device_link::check_sizes(source, &code.ptx)?;
                    }
                    done.push((arch, code));
                }
                Err(e) => failure = failure.or(Some(e)),
            }
        }
        failure.map_or(Ok((!launches).then_some(done)), Err)
    })
}

/// The modules as they are embedded, in the order of the architectures.
fn embedded<'a>(
    session: &Session,
    options: &Options,
    modules: &'a [(Arch, device::DeviceCode)],
) -> Vec<container::Compiled<'a>> {
    let one = |(arch, code): &'a (Arch, device::DeviceCode)| container::Compiled {
        codes: options.codes_of(*arch),
        marked: device::marked(session, *arch),
        ptx: &code.ptx,
    };
    modules.iter().map(one).collect()
}

/// `-Xptxas -v`: what the kernels use, on each architecture.
fn usage(options: &Options, modules: &[(Arch, device::DeviceCode)]) -> String {
    if !options.resource_usage || options.dry_run {
        return String::new();
    }
    modules.iter().map(|(arch, code)| resources::report(&code.ptx, *arch)).collect()
}

/// The arguments of the host pass of a source, without its output.
fn host_command(session: &Session, options: &Options, source: &Path) -> Command {
    let mut command = Command::new(&session.clang.program);
    match kind_of(source, options.language.as_deref()) {
        Kind::Cuda => {
            let sm = device::known_to_clang(session, options.architectures()[0]);
            let arguments = device::cuda_arguments(session, options, source, sm);
            command.args(arguments).arg("--cuda-host-only");
        }
        kind @ (Kind::Cxx | Kind::C | Kind::Ptx | Kind::Linked) => {
            if kind == Kind::C {
                command.args(["-x", "c"]);
            } else {
                command.args(["-x", "c++"]);
                command.arg(format!("-std={}", options.standard.as_deref().unwrap_or("c++17")));
            }
            command.arg(format!("-I{}", session.include.display())).args(&options.common);
            command.args(device::generated_headers(session, options));
        }
    }
    command.arg(format!("-O{}", options.optimize.as_deref().unwrap_or("2")));
    if options.debug_host || options.debug_device {
        command.arg("-g");
    } else if options.as_nvcc.is_none() {
        // So that the checks can name what the host program did; it changes no code.
        command.arg("-gline-tables-only");
    }
    command.args(&options.host).args(session.colour());
    command
}

/// A source to an object in the cache.
fn object(
    session: &Session,
    options: &Options,
    source: &Path,
    target: &Path,
) -> Result<Object, Failure> {
    if kind_of(source, options.language.as_deref()) == Kind::Ptx {
        return Err(Failure::Unsupported(format!(
            "{}: PTX as a source of an executable; load it with cuModuleLoad, or use `margay launch`",
            source.display()
        )));
    }
    let text = fs::read(source).unwrap_or_default();
    let here = env::current_dir().unwrap_or_default();
    let settings = format!(
        "{:?}{:?}{:?}",
        cacheable(options),
        options.architectures(),
        device::DEVICE_ARGUMENTS
    );
    let key = cache::key([
        env!("CARGO_PKG_VERSION").as_bytes(),
        headers::identity().as_bytes(),
        session.clang.version.as_bytes(),
        session.clang.program.as_os_str().as_encoded_bytes(),
        here.as_os_str().as_encoded_bytes(),
        source.as_os_str().as_encoded_bytes(),
        settings.as_bytes(),
        &text,
    ]);
    // The commands that -v shows are those that run.
    if !options.dry_run
        && !options.verbose
        && let Some(hit) = session.cache.find(&key)
    {
        eprint!("{}", hit.diagnostics);
        write_dependencies(options, source, target, &hit.dependencies, session)?;
        return Ok(Object { path: hit.result, cached: true });
    }

    let spinner = spinner(session, source);
    let scratch = session.scratch()?;
    let mut diagnostics = String::new();
    let mut dependencies = Vec::new();
    let mut host = host_command(session, options, source);
    // Its files must last until the host pass has read them.
    let _overlay;
    if kind_of(source, options.language.as_deref()) == Kind::Cuda {
        let DevicePasses { modules, overlay } = device_passes(session, options, source)?;
        for (_, module) in &modules {
            merge(&mut diagnostics, &module.diagnostics);
            dependencies.extend(module.dependencies.iter().cloned());
        }
        diagnostics.push_str(&usage(options, &modules));
        if let (false, Some((_, module))) = (options.relocatable, modules.first()) {
            device_link::check_alone(source, &module.ptx)?;
        }
        let fatbin = scratch.path().join("device.fatbin");
        fs::write(&fatbin, container::pack(&embedded(session, options, &modules)))
            .at(&fatbin, "cannot write")?;
        host.args(["-Xclang", "-fcuda-include-gpubinary", "-Xclang"]).arg(&fatbin);
        host.args(overlay.iter().flat_map(Overlay::flags));
        _overlay = overlay;
    }
    let (out, deps) = (scratch.path().join("host.o"), scratch.path().join("host.d"));
    host.arg("-c").arg(source).arg("-o").arg(&out).arg("-MD").arg("-MF").arg(&deps);
    let said = session.run(&mut host, source).inspect_err(|_| spinner.finish_and_clear())?;
    merge(&mut diagnostics, &said);
    spinner.finish_and_clear();
    eprint!("{diagnostics}");
    if options.dry_run {
        return Ok(Object { path: out, cached: false });
    }
    if options.relocatable {
        let mut bytes = fs::read(&out).at(&out, "cannot read clang's output")?;
        device_link::identify(&mut bytes, &device::identity(options, source));
        fs::write(&out, bytes).at(&out, "cannot write")?;
    }
    dependencies.extend(device::read_dependencies(&deps)?);
    dependencies.sort();
    dependencies.dedup();
    write_dependencies(options, source, target, &dependencies, session)?;
    let path = session.cache.store(&key, &out, &diagnostics, &dependencies)?;
    Ok(Object { path, cached: false })
}

/// The options without what does not change an object.
fn cacheable(options: &Options) -> Options {
    Options {
        inputs: Vec::new(),
        output: None,
        phase: Phase::Object,
        link: Vec::new(),
        notes: Vec::new(),
        dependencies: false,
        dependency_file: None,
        dependency_target: None,
        verbose: false,
        ..options.clone()
    }
}

/// Adds a pass's diagnostics unless an earlier pass said the same of the same source.
fn merge(all: &mut String, said: &str) {
    let body = |text: &str| -> String {
        text.lines()
            .filter(|l| !l.contains(" generated when compiling for "))
            .collect::<Vec<_>>()
            .join("\n")
    };
    if !said.is_empty() && !body(all).contains(&body(said)) {
        all.push_str(said);
    }
}

fn link(session: &Session, options: &Options, sources: &[&PathBuf]) -> Result<Built, Failure> {
    let output = options.output.clone().unwrap_or_else(|| PathBuf::from("a.out"));
    let mut cached = 0;
    let mut command = Command::new(&session.clang.program);
    let mut compiled = Vec::new();
    for source in sources {
        let object = object(session, options, source, &output)?;
        cached += usize::from(object.cached);
        // A cached object has no ending; clang would not take it for one after an earlier -x.
        command.arg(&object.path);
        compiled.push((source.to_path_buf(), object.path));
    }
    let scratch = session.scratch()?;
    if !options.dry_run && !options.no_device_link {
        let inputs = device_link::Inputs::read(options, &compiled)?;
        if !inputs.is_empty() {
            inputs.check(options)?;
            let registration = scratch.path().join("register.o");
            inputs.register(session, &registration)?;
            command.arg(registration);
        }
    }
    command.args(&options.link);
    if options.debug_host || options.debug_device {
        command.arg("-g");
    }
    let libraries = libraries::directory()?;
    let version = options.cuda_version.unwrap_or(headers::VERSIONS[0]);
    match &options.as_nvcc {
        // The same libraries, where the toolkit has them.
        Some(root) => {
            command.arg(shown_libraries(&root.display().to_string())).arg("-lcudart");
        }
        None => {
            command.arg(format!("-L{}", libraries.display())).arg(libraries::runtime(version));
        }
    }
    // So that the program also starts without `margay run`; LD_LIBRARY_PATH still goes first.
    command.arg(format!("-Wl,--enable-new-dtags,-rpath,{}", libraries.display()));
    command.arg("-o").arg(&output);
    eprint!("{}", session.run(&mut command, &output)?);
    Ok(Built { outputs: vec![output], cached })
}

/// `-dlink`: the host linker takes its result along with the objects.
fn device_link(
    session: &Session,
    options: &Options,
    sources: &[&PathBuf],
) -> Result<Built, Failure> {
    if let Some(source) = sources.first() {
        return Err(Failure::Usage(format!(
            "{}: -dlink takes objects; compile with -dc first",
            source.display()
        )));
    }
    let inputs = device_link::Inputs::read(options, &[])?;
    if inputs.is_empty() {
        return Err(Failure::Usage(
            "-dlink: no input has relocatable device code; compile with -dc or -rdc=true".into(),
        ));
    }
    inputs.check(options)?;
    let output = options.output.clone().unwrap_or_else(|| PathBuf::from("a_dlink.o"));
    inputs.register(session, &output)?;
    Ok(Built { outputs: vec![output], cached: 0 })
}

/// `-MD`: the dependency file that the user asked for.
fn write_dependencies(
    options: &Options,
    source: &Path,
    target: &Path,
    files: &[PathBuf],
    session: &Session,
) -> Result<(), Failure> {
    if !options.dependencies || options.dry_run {
        return Ok(());
    }
    let path = options.dependency_file.clone().unwrap_or_else(|| target.with_extension("d"));
    fs::write(&path, dependency_rule(options, source, target, files, session))
        .at(&path, "cannot write")
}

/// A rule of make: `target: files`, the source first.
fn dependency_rule(
    options: &Options,
    source: &Path,
    target: &Path,
    files: &[PathBuf],
    session: &Session,
) -> String {
    let escaped = |p: &Path| p.display().to_string().replace(' ', "\\ ");
    let listed: Vec<String> = std::iter::once(source)
        .chain(files.iter().map(PathBuf::as_path).filter(|f| *f != source))
        .filter(|f| {
            !options.omit_system_headers
                || !(f.starts_with("/usr") || f.starts_with(&session.include))
        })
        .map(escaped)
        .collect();
    let name = options.dependency_target.clone().unwrap_or_else(|| escaped(target));
    let mut text = format!("{name}: {}\n", listed.join(" \\\n  "));
    if options.phony_targets {
        for file in &listed {
            text.push_str(&format!("{file}:\n"));
        }
    }
    text
}

/// A spinner on a terminal for compiles that take long enough to wonder.
fn spinner(session: &Session, source: &Path) -> ProgressBar {
    if !std::io::stderr().is_terminal() || session.verbose || session.dry_run {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} compiling {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.set_message(source.display().to_string());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// The name of a result that `-o` does not name, in `-odir`'s directory.
fn output_in(options: &Options, source: &Path, ending: &str) -> PathBuf {
    let name = output_beside(source, ending);
    match &options.output_directory {
        Some(directory) => directory.join(name),
        None => name,
    }
}

fn output_beside(source: &Path, ending: &str) -> PathBuf {
    PathBuf::from(source.file_name().unwrap_or_default()).with_extension(ending)
}

/// The command as one can type it.
fn shown(command: &Command) -> String {
    let quoted = |text: &std::ffi::OsStr| {
        let text = text.to_string_lossy();
        if !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=./+,:@%".contains(&b))
        {
            text.into_owned()
        } else {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
    };
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}
