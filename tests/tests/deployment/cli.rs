//! The command line of the appliance.

use nrt_appliance::cli::{self, Command, Exit, HELP, Info, Run, Target, VERSION};
use nrt_core::arch::Arch;
use nrt_core::hooks::Level;

fn parse<'a>(arguments: &[&'a str]) -> Result<Command<'a>, String> {
    cli::parse(arguments.iter().map(|argument| argument.as_bytes())).map_err(|error| error.to_string())
}

fn run<'a>(arguments: &[&'a str]) -> Run<'a> {
    match parse(arguments) {
        Ok(Command::Run(run)) => run,
        other => panic!("{arguments:?}: {other:?}"),
    }
}

#[track_caller]
fn refused(arguments: &[&str], message: &str) {
    assert_eq!(parse(arguments).err().as_deref(), Some(message));
}

const DEFAULT: Run<'static> =
    Run { deployment: None, target: Target::Simulated(None), reserve: None, json: false, log: Level::Warn };

#[test]
fn what_is_accepted() {
    assert_eq!(run(&[]), DEFAULT);
    assert_eq!(run(&["a.json"]), Run { deployment: Some(b"a.json"), ..DEFAULT });
    assert_eq!(run(&["--json", "a.json", "--json"]), Run { deployment: Some(b"a.json"), json: true, ..DEFAULT });
    assert_eq!(run(&["--", "--json"]), Run { deployment: Some(b"--json"), ..DEFAULT });
    assert_eq!(run(&["-"]), Run { deployment: Some(b"-"), ..DEFAULT });
    for arch in Arch::ALL {
        let target = Target::Simulated(Some(arch));
        assert_eq!(run(&["--simulate", arch.name()]), Run { target, ..DEFAULT });
        assert_eq!(target.arch(), Some(arch));
    }
    for (path, number) in [("/dev/neuron0", 0), ("/dev/neuron63", 63), ("/dev/neuron10", 10)] {
        let target = Target::Device { number };
        assert_eq!(run(&["--device", path]), Run { target, ..DEFAULT });
        assert_eq!(run(&[&format!("--device={path}")]), Run { target, ..DEFAULT });
        assert_eq!(target.arch(), None);
    }
    for (name, log) in [("error", Level::Error), ("warn", Level::Warn), ("info", Level::Info), ("trace", Level::Trace)] {
        assert_eq!(run(&["--log", name]), Run { log, ..DEFAULT });
    }
    assert_eq!(
        run(&["--log=trace", "--simulate=sunda", "dir/x.json", "--json"]),
        Run {
            deployment: Some(b"dir/x.json"),
            target: Target::Simulated(Some(Arch::Sunda)),
            json: true,
            log: Level::Trace,
            ..DEFAULT
        }
    );
    for (text, bytes) in [("1", 1), ("4096", 4096), ("64KiB", 64 << 10), ("512MiB", 512 << 20), ("24GiB", 24 << 30)] {
        assert_eq!(run(&["--reserve", text]), Run { reserve: Some(bytes), ..DEFAULT });
    }
}

#[test]
fn the_list_of_devices() {
    let info = |device, json| Ok(Command::Info(Info { device, json, attach: false }));
    assert_eq!(parse(&["--info"]), info(None, false));
    assert_eq!(parse(&["--json", "--info"]), info(None, true));
    assert_eq!(parse(&["--device=/dev/neuron3", "--info"]), info(Some(3), false));
    let conflict = "--info: excludes an option given before, expected either --info or";
    refused(&["--info", "a.json"], &format!("{conflict} a deployment"));
    refused(&["--simulate", "sunda", "--info"], &format!("{conflict} --simulate"));
    refused(&["--reserve", "1GiB", "--info"], &format!("{conflict} --reserve"));
    refused(&["--info", "--log", "info"], &format!("{conflict} --log"));
    refused(&["--info=yes"], "--info: takes no value, expected no value");
}

#[test]
fn help_and_version() {
    for option in ["--help", "-h"] {
        assert_eq!(parse(&["x.json", option, "--nonsense"]), Ok(Command::Help));
    }
    for option in ["--version", "-V"] {
        assert_eq!(parse(&[option]), Ok(Command::Version));
    }
    for part in
        ["--device", "--simulate", "--info", "--reserve", "--json", "--log", "--help", "--version", "Examples:", "/dev/neuron0"]
    {
        assert!(HELP.contains(part), "{part}");
    }
    let exits = [Exit::Success, Exit::CheckFailed, Exit::Usage, Exit::NoDevice, Exit::NoStart];
    for (status, exit) in (0..).zip(exits) {
        assert_eq!(exit as i32, status);
        assert!(HELP.lines().any(|line| line.starts_with(&format!("  {status}  "))));
    }
    assert!(HELP.lines().all(|line| line.len() <= 120));
    assert_eq!(VERSION, concat!("nrt-appliance ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn what_is_refused() {
    let options = "--device, --simulate, --info, --attach, --reserve, --json, --log, --help or --version";
    refused(&["--jsno"], &format!("--jsno: unknown option, expected {options}"));
    refused(&["-x"], &format!("-x: unknown option, expected {options}"));
    refused(&["-jh"], &format!("-j: unknown option, expected {options}"));
    refused(&["--Json"], &format!("--Json: unknown option, expected {options}"));
    refused(&["--a\u{1b}[31m"], &format!("--a\\x1b[31m: unknown option, expected {options}"));
    refused(&["--json=yes"], "--json: takes no value, expected no value");
    refused(&["--log"], "--log: no value given, expected error, warn, info or trace");
    refused(&["--log", "debug"], "--log \"debug\": bad value, expected error, warn, info or trace");
    refused(&["--log="], "--log \"\": bad value, expected error, warn, info or trace");
    refused(&["--simulate"], "--simulate: no value given, expected sunda, cayman or mariana");
    refused(&["--simulate", "trn2"], "--simulate \"trn2\": bad value, expected sunda, cayman or mariana");
    refused(&["--simulate", "--json"], "--simulate \"--json\": bad value, expected sunda, cayman or mariana");
    let device = "a device node, /dev/neuron0 to /dev/neuron63";
    refused(&["a.json", "--device"], &format!("--device: no value given, expected {device}"));
    for path in [
        "",
        "/dev/neuron",
        "/dev/neuron64",
        "/dev/neuron00",
        "/dev/neuron+1",
        "/dev/null",
        "0",
        "/dev/neuron0/",
        "neuron0",
        "/tmp/neuron0",
    ] {
        refused(&["--device", path], &format!("--device \"{path}\": bad value, expected {device}"));
    }
    let size = "a number of bytes above 0, or a number with KiB, MiB or GiB behind it";
    refused(&["--reserve"], &format!("--reserve: no value given, expected {size}"));
    for text in ["", "0", "0GiB", "-1", "+1", "1.5GiB", "1GB", "GiB", "1 GiB", "18446744073709551616", "17179869184GiB"] {
        refused(&["--reserve", text], &format!("--reserve \"{text}\": bad value, expected {size}"));
    }
    refused(&["--reserve=1", "--reserve=1"], "--reserve: given a second time, expected each option once");
    refused(&["a.json", "b.json"], "\"b.json\": given a second time, expected one deployment");
    refused(&[""], "\"\": empty path, expected the path of a deployment");
    refused(&["--log=info", "--log=info"], "--log: given a second time, expected each option once");
    refused(&["--simulate=sunda", "--simulate=sunda"], "--simulate: given a second time, expected each option once");
    let either = "excludes an option given before, expected either --device or --simulate";
    refused(&["--simulate=sunda", "--device=/dev/neuron0"], &format!("--device: {either}"));
    refused(&["--device=/dev/neuron0", "--simulate=sunda"], &format!("--simulate: {either}"));
}

#[test]
fn bytes_that_are_not_text() {
    let error = cli::parse([&b"--simulate"[..], b"\xffcay"].into_iter()).unwrap_err();
    assert_eq!(error.to_string(), "--simulate \"\\xffcay\": bad value, expected sunda, cayman or mariana");
    assert_eq!(cli::parse([&b"\xff.json"[..]].into_iter()), Ok(Command::Run(Run { deployment: Some(b"\xff.json"), ..DEFAULT })));
}
