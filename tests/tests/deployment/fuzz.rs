//! Hostile texts: whatever is cut off or changed gives a deployment or a message, never a panic.

use crate::support::BASE;
use nrt_appliance::deployment::{DEFAULT_DEPLOYMENT, Deployment, parse_into};

/// Parses into the one deployment and checks what must hold for every text.
fn try_text(text: &[u8], deployment: &mut Deployment) -> bool {
    match parse_into(text, None, deployment) {
        Ok(()) => {
            let value: Result<serde_json::Value, _> = serde_json::from_slice(text);
            assert!(value.is_ok(), "what is accepted is JSON: {}", String::from_utf8_lossy(text));
            let cores = deployment.logical_cores();
            assert!(!deployment.models().is_empty());
            assert!(deployment.models().iter().all(|model| model.vnc < cores && !model.inputs.is_empty()));
            true
        }
        Err(error) => {
            let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
            assert!((1..=lines).contains(&error.line()));
            assert!(error.column() >= 1 && error.column() <= text.len() + 1);
            let message = error.to_string();
            assert!(message.contains(", expected ") && !message.contains(char::is_control), "{message:?}");
            assert!(deployment.models().is_empty());
            false
        }
    }
}

#[test]
fn every_prefix() {
    let mut deployment = Box::new(Deployment::new());
    for text in [BASE, DEFAULT_DEPLOYMENT] {
        let whole = text.trim_end().len();
        for end in 0..=text.len() {
            assert_eq!(try_text(&text.as_bytes()[..end], &mut deployment), end >= whole, "prefix of {end} bytes");
        }
    }
}

#[test]
fn every_byte_changed() {
    const BYTES: &[u8] = b"{}[]\",:\\ \n\0u09-.eatx\x7f\x80\xc3\xf4\xff";
    let mut deployment = Box::new(Deployment::new());
    let mut cases = 0;
    let mut accepted = 0;
    let mut run = |text: &[u8]| {
        cases += 1;
        accepted += usize::from(try_text(text, &mut deployment));
    };
    // Of the long text a sixth of the bytes takes its turn at each place.
    for (source, share) in [(BASE, 1), (DEFAULT_DEPLOYMENT, 6)] {
        let mut text = source.as_bytes().to_vec();
        for at in 0..text.len() {
            let original = text[at];
            for &byte in BYTES.iter().skip(at % share).step_by(share) {
                text[at] = byte;
                run(&text);
            }
            for bit in (at % share..8).step_by(share) {
                text[at] = original ^ (1 << bit);
                run(&text);
            }
            text[at] = original;
            // One byte less, one byte twice.
            run(&[&text[..at], &text[at + 1..]].concat());
            run(&[&text[..at], &text[at..at + 1], &text[at..]].concat());
        }
    }
    assert!(cases >= 20_000, "{cases} cases");
    assert!(accepted > 0 && accepted < cases / 2);
}

#[test]
fn pieces_in_random_order() {
    // Tokens of the format in random order reach the deeper states that single changes do not.
    let tokens: Vec<&str> = BASE.split_inclusive([',', '{', '}', '[', ']', ':']).collect();
    let extra = ["\"regions\":[{", "\"location\":\"host\"", "\"align\":3", "\\ud800", "\"file\":\"", "18446744073709551616", "-"];
    let mut state = 0x1234_5678_9abc_def0u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut deployment = Box::new(Deployment::new());
    for _ in 0..10_000 {
        let mut text: Vec<&str> = tokens.clone();
        for _ in 0..=random(4) {
            let (from, to) = (random(text.len()), random(text.len()));
            match random(4) {
                0 => text.swap(from, to),
                1 => text.insert(to, extra[random(extra.len())]),
                2 => text.insert(to, text[from]),
                _ => drop(text.remove(from)),
            }
        }
        try_text(text.concat().as_bytes(), &mut deployment);
    }
}
