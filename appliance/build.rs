//! How the programs of this package are linked: static, at a fixed address, with nothing from the system; and how large their
//! static memory is.

use std::path::{Path, PathBuf};
use std::{env, fs};

use nrt_capacity::demand::Scratchpads;
use nrt_capacity::{Fit, rust_source};

/// Variable with the path of the one deployment that the program is built for.
const DEPLOYMENT: &str = "NRT_APPLIANCE_DEPLOYMENT";

/// Deployment of which `fit-check` has storages for scratchpads that the environment cuts in another way.
const PAGES: &str = "src/fit-check/deployments/pages.json";
/// The names of these, bytes of a page, and whether the scratchpads of an HBM are on one core.
const CUTS: [(&str, u64, bool); 2] = [("pages_of_2_mib", 2 << 20, false), ("pages_of_2_mib_on_one_core", 2 << 20, true)];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=no-unwind-tables.ld");
    link();
    if let Err(error) = storage().and_then(|()| fits()) {
        println!("cargo::error={error}");
    }
}

fn link() {
    let arguments = [
        // No startup files and no libraries: `start` is all there is.
        "-nostartfiles",
        "-nostdlib",
        "-static",
        // Nobody would relocate the program.
        "-no-pie",
        "-Wl,--gc-sections,-z,noexecstack,--build-id=none",
        // Nobody unwinds, so nobody searches the unwind tables.
        "-Wl,--no-eh-frame-hdr",
    ];
    for argument in arguments {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
    // Nor are they needed at all; a debugger that wants to walk the stack does so in a debug build, which keeps them.
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/no-unwind-tables.ld");
    }
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The storage of the appliance: of the size that one deployment demands if one is named, else for any of moderate size.
fn storage() -> Outcome {
    println!("cargo::rerun-if-env-changed={DEPLOYMENT}");
    if let Some(path) = env::var_os(DEPLOYMENT) {
        nrt_capacity::emit(Path::new(&path), "storage.rs").map_err(|error| format!("{DEPLOYMENT}: {error}"))?;
    } else {
        let text = "/// For any deployment of moderate size.\npub(crate) type DeploymentStorage = ::nrt_core::DefaultStorage;\n";
        fs::write(Path::new(&env::var("OUT_DIR")?).join("storage.rs"), text)?;
    }
    Ok(())
}

/// For `fit-check`: a module with the storage of each deployment that is shipped, and of some that strain single pools.
fn fits() -> Outcome {
    let (mut modules, mut names) = (String::new(), String::new());
    let mut add = |name: &str| {
        modules += &format!("/// `{name}`.\nmod {name} {{\n    include!(concat!(env!(\"OUT_DIR\"), \"/{name}.rs\"));\n}}\n");
        names += &format!("{name} ");
    };
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for folder in ["deployments", "src/fit-check/deployments"] {
        println!("cargo::rerun-if-changed={folder}");
        let mut paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
        paths.sort();
        for path in paths {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().replace('-', "_");
            nrt_capacity::emit(&path, &format!("{name}.rs"))?;
            add(&name);
        }
    }
    for (name, page_bytes, one_core) in CUTS {
        let cut = Scratchpads { page_bytes, contiguous: false, one_core };
        let fit = Fit::read(Path::new(PAGES))?.with_scratchpads(cut)?;
        fs::write(out.join(format!("{name}.rs")), rust_source(&fit.capacities(), name))?;
        add(name);
    }
    fs::write(out.join("fits.rs"), format!("{modules}fits! {{ {names}}}\n"))?;
    Ok(())
}
