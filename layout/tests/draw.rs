//! `draw`: well-formed, complete, to scale.

use crate::common::{code, layout, text};
use nrt_layout::draw::drawing;
use nrt_layout::draw::grid::{Row, rows, runs};
use nrt_layout::draw::poster::{COLUMNS, poster};
use nrt_layout::emit::from_documents;
use nrt_layout::emit::shape::Shapes;

fn documented() -> Shapes {
    from_documents(None, &[]).expect("the tables are well-formed").1
}

/// Checks that elements close in the order they open, and that nothing but known text stands between them.
fn well_formed(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        if let Some(script) = rest.strip_prefix("<![CDATA[") {
            rest = &script[script.find("]]>").expect("the script ends") + 3..];
            continue;
        }
        let end = rest.find('>').expect("an element ends");
        let tag = &rest[1..end];
        assert!(!tag.contains('<'), "{tag}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().expect("a name"));
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn every_documented_struct_is_drawn_whole() {
    let shapes = documented();
    let mut fields = 0;
    for record in &shapes.records {
        let svg = drawing(&shapes, std::slice::from_ref(&record.name), 1);
        well_formed(&svg);
        for member in &record.members {
            let told = format!("{} at {}, {} bytes", member.name, member.offset, member.size);
            let listed = format!(">{}</text>", member.offset);
            assert!(svg.contains(&told) || svg.contains(&listed), "{}: {told}", record.name);
            fields += 1;
        }
    }
    println!("{} structs and {fields} members drawn", shapes.records.len());
}

/// The rows of every struct cover each of its bytes once, and no row is longer than a line.
#[test]
fn rows_cover_every_byte_once() {
    for record in &documented().records {
        let runs = runs(record);
        let mut end = 0;
        for row in rows(&runs, record.size) {
            match row {
                Row::Line(at, parts) => {
                    assert_eq!(at, end, "{}", record.name);
                    for part in parts {
                        assert_eq!(part.start, end, "{}", record.name);
                        assert!(part.end > part.start && part.end <= at + 64, "{}", record.name);
                        end = part.end;
                    }
                }
                Row::Skipped(at, lines, run) => {
                    assert_eq!(at, end, "{}", record.name);
                    end += lines * 64;
                    assert!(run.start <= at && run.end >= end, "{}", record.name);
                }
            }
        }
        assert_eq!(end, record.size, "{}", record.name);
    }
}

#[test]
fn holes_and_embedded_structs_are_visible() {
    let output = layout(&["draw", "dmem_allocator_t"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let svg = text(&output.stdout);
    well_formed(&svg);
    for words in [
        "class=\"hole\"",
        "class=\"padding\"",
        ">16 bytes at 176: padding<",
        "class=\"lock\"",
        "data-panel=\"of-dmem_t\"",
        "id=\"of-dmem_t\"",
        "<text",
        "@media print",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    assert!(!svg.contains("href=\"http"), "a drawing needs nothing from elsewhere");
}

/// Number of an attribute of an element.
fn number(tag: &str, name: &str) -> Option<u64> {
    let value = tag.split(&format!(" {name}=\"")).nth(1)?;
    value[..value.find('"')?].parse().ok()
}

/// Class, left, top, width and height of each rectangle that has a place.
fn blocks(svg: &str) -> Vec<(&str, u64, u64, u64, u64)> {
    let tags = svg.split("<rect class=\"").skip(1);
    tags.map(|rest| {
        let tag = &rest[..rest.find('>').expect("an element ends")];
        let at = |name| number(tag, name).unwrap_or_else(|| panic!("no {name} in {tag}"));
        (&tag[..tag.find('"').expect("a class")], at("x"), at("y"), at("width"), at("height"))
    })
    .collect()
}

fn no_overlap(blocks: &[(&str, u64, u64, u64, u64)], width: u64, height: u64, what: &str) {
    for (index, (_, x, y, w, h)) in blocks.iter().enumerate() {
        assert!(x + w <= width && y + h <= height, "{what}: a block at {x}, {y} leaves the drawing");
        for (_, x2, y2, w2, h2) in &blocks[..index] {
            let apart = x + w <= *x2 || x2 + w2 <= *x || y + h <= *y2 || y2 + h2 <= *y;
            assert!(apart, "{what}: blocks at {x}, {y} and {x2}, {y2} overlap");
        }
    }
}

#[test]
fn blocks_lie_side_by_side_and_every_fold_has_its_panel() {
    let shapes = documented();
    let (mut drawn, mut folds) = (0, 0);
    for record in &shapes.records {
        let svg = drawing(&shapes, std::slice::from_ref(&record.name), 2);
        let (width, height) = (number(&svg[..200], "width").expect("a width"), number(&svg[..200], "height").expect("a height"));
        assert!(svg.contains(&format!("@page{{size:{width}px {height}px;margin:0}}")), "{}: prints as one page", record.name);
        let mut below = 0;
        for panel in svg.split("<g class=\"panel\" ").skip(1) {
            let own = number(panel, "data-height").expect("a height");
            no_overlap(&blocks(panel), width, own, &record.name);
            assert!(
                panel.contains(&format!("transform=\"translate(0 {below})\"")),
                "{}: panels are below each other",
                record.name
            );
            assert!(panel.contains("<g class=\"body\">"), "what is folded");
            below += own;
            drawn += blocks(panel).len();
        }
        assert_eq!(below, height, "{}", record.name);
        for fold in svg.split(" data-panel=\"").skip(1) {
            let target = &fold[..fold.find('"').expect("an end")];
            assert_eq!(svg.matches(&format!(" id=\"{target}\"")).count(), 1, "{}: {target}", record.name);
            folds += 1;
        }
    }
    assert!(drawn > 3000 && folds > 500, "{drawn} blocks, {folds} folds");
}

/// What a person would select and copy is text: the name, the offset and the size of every member.
#[test]
fn labels_are_text() {
    let svg = text(&layout(&["draw", "dmem_t", "--depth", "0"]).stdout);
    let texts: Vec<&str> = svg.split("<text ").skip(1).filter_map(|rest| rest.split(['>', '<']).nth(1)).collect();
    for words in [
        "struct dmem_t",
        "allocator",
        "168",
        "dmem_allocator_t *",
        "192 B, align 64, 3 cache lines, 60 B in 1 hole, 16 B of padding",
    ] {
        assert!(texts.contains(&words), "{words}: {texts:?}");
    }
}

#[test]
fn the_poster_has_the_whole_tree() {
    let svg = poster(&documented());
    well_formed(&svg);
    for name in COLUMNS.iter().copied().flatten() {
        assert!(svg.contains(&format!(">{name}</text>")), "{name}");
    }
    let boxes: Vec<_> = blocks(&svg).into_iter().filter(|(class, ..)| *class == "plain").collect();
    let size = |name| number(&svg[..200], name).expect("a size");
    assert_eq!(boxes.len(), COLUMNS.iter().map(|column| column.len()).sum::<usize>());
    no_overlap(&boxes, size("width"), size("height"), "the poster");
    let edges = svg.matches("marker-end").count();
    println!("{edges} edges");
    assert!(edges > 40, "{edges}");
}

#[test]
fn faults_have_their_codes() {
    assert_eq!(code(&layout(&["draw", "no_such_struct"])), 2);
    assert_eq!(code(&layout(&["draw"])), 2);
    assert_eq!(code(&layout(&["draw", "dmem_t", "--tree"])), 2);
    assert_eq!(code(&layout(&["draw", "dmem_t", "-o", "no/such/folder/x.svg"])), 3);
}

#[test]
fn a_struct_of_a_file_is_drawn_as_it_is_there() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = "struct inner { char a; long b; }; struct outer { char first; struct inner in; int last[3]; } outer;\n\
                  int main(void) { return 0; }";
    let file = crate::common::compile(directory.path(), source, &["-g"]);
    let file = file.to_str().expect("UTF-8");
    let out = directory.path().join("outer.svg");
    let output = layout(&["draw", "outer", "--elf", file, "-o", out.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let svg = std::fs::read_to_string(&out).expect("drawn");
    well_formed(&svg);
    for words in
        ["first at 0, 1 bytes", "in at 8, 16 bytes", "last at 24, 12 bytes", "7 bytes at 1: hole", "inner", "a at 0, 1 bytes"]
    {
        assert!(svg.contains(words), "no {words:?} in\n{svg}");
    }
    // The same from a file whose debug information is elsewhere.
    let (stripped, kept) = (directory.path().join("stripped"), directory.path().join("kept"));
    for (tool, arguments) in [("objcopy", &["--only-keep-debug"][..]), ("strip", &["-o"])] {
        let (from, to) = if tool == "strip" { (stripped.to_str(), file) } else { (Some(file), kept.to_str().expect("UTF-8")) };
        let done = std::process::Command::new(tool).args(arguments).arg(from.expect("UTF-8")).arg(to).status();
        assert!(done.expect("binutils are installed").success());
    }
    let (stripped, kept) = (stripped.to_str().expect("UTF-8"), kept.to_str().expect("UTF-8"));
    assert_eq!(code(&layout(&["draw", "outer", "--elf", stripped])), 3);
    let apart = layout(&["draw", "outer", "--elf", stripped, "--debug-file", kept]);
    assert_eq!(text(&apart.stdout), svg, "{}", text(&apart.stderr));
    let emitted = layout(&["emit", "json", "outer", "--elf", stripped, "--debug-file", kept]);
    assert!(code(&emitted) == 0 && text(&emitted.stdout).contains("\"outer\""), "{}", text(&emitted.stderr));
    assert_eq!(code(&layout(&["emit", "json", "dmem_t", "--debug-file", kept])), 2);
    assert_eq!(code(&layout(&["draw", "dmem_t", "--debug-dir", "/tmp"])), 2);
    let absent = layout(&["draw", "nowhere_t", "--elf", file]);
    assert_eq!(code(&absent), 2);
    assert!(text(&absent.stderr).contains("nowhere_t"), "{}", text(&absent.stderr));
}
