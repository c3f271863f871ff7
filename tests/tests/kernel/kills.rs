//! A program is killed in the middle of a load, again and again, while its neighbour on the same device works.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::programs::{emulator, serve};

const KILLS: u32 = 100;

/// The neighbour lives one whole life after the other on the first cores; victims start on the last until enough of them
/// were killed, then one may live there. Whatever they say goes nowhere, but for errors.
const SCRIPT: &str = r#"
serve=$1 kills=$2 stop=$3
neighbour() {
    lives=0
    while [ ! -e "$stop" ]; do
        NEURON_RT_VISIBLE_CORES=0 "$serve" >/dev/null || exit 9
        lives=$((lives + 1))
    done
    echo "lives $lives"
}
neighbour & other=$!
killed=0
while [ $killed -lt $kills ]; do
    NEURON_RT_VISIBLE_CORES=3 "$serve" >/dev/null & victim=$!
    echo "victim $victim" >&2
    wait $victim
    case $? in
        137) killed=$((killed + 1)) ;;
        0) ;;
        *) exit 8 ;;
    esac
done
: >"$stop"
wait $other || exit 9
NEURON_RT_VISIBLE_CORES=3 "$serve" >/dev/null || exit 7
echo "killed $killed"
"#;

/// Kills each victim at one of the copies of its weights.
#[test]
fn one_is_killed_mid_load_100_times_and_its_neighbour_never_notices() {
    let stop = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kills-{}", std::process::id()));
    let mut child = Command::new(emulator())
        .args(["--arch", "trn2", "--trace", "--report", "--", "sh", "-c", SCRIPT, "sh", serve(), &KILLS.to_string()])
        .arg(&stop)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the emulator");
    let (mut victims, mut victim, mut left) = (0, None, 0);
    let mut report = String::new();
    for line in BufReader::new(child.stderr.take().expect("a pipe")).lines() {
        let line = line.expect("UTF-8");
        if let Some(pid) = line.strip_prefix("victim ") {
            victims += 1;
            (victim, left) = (Some(pid.to_owned()), victims % 4);
        } else if let Some(pid) = &victim
            && line.strip_prefix('[').and_then(|rest| rest.strip_prefix(&**pid)).is_some_and(|rest| rest.starts_with(']'))
        {
            if !line.contains(" MEM_COPY_ASYNC64(") {
                continue;
            }
            if left > 0 {
                left -= 1;
                continue;
            }
            // The script waits for it, so that the number is its own; one that has ended meanwhile is not counted.
            Command::new("kill").args(["-KILL", pid]).stderr(Stdio::null()).status().expect("the program kill");
            victim = None;
        } else if !line.starts_with('[') {
            report += &line;
            report.push('\n');
        }
    }
    let output = child.wait_with_output().expect("its end");
    let _ = std::fs::remove_file(&stop);
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{said}{report}");
    assert!(said.ends_with(&format!("killed {KILLS}\n")), "{said}{report}");
    let lives: u32 = said.strip_prefix("lives ").and_then(|rest| rest.lines().next()?.parse().ok()).expect("a number of lives");
    assert!(lives > 0, "{said}");
    assert!(report.contains("neuron0: 0 chunks live, 0 bytes device, 0 bytes host, 0 cores reserved"), "{report}");
    println!("{victims} victims, {KILLS} killed in a load, {lives} lives beside them");
}
