//! Reads a [`Database`] from a file.

use std::collections::BTreeSet;
use std::path::Path;

use super::archive;
use super::build::Builder;
use super::context::Skeleton;
use super::elf::{Elf, Span};
use super::lines::Files;
use super::locate::{alternate, debug_file, hex, package, split};
use super::scan::{self, Matcher};
use super::sections::Sections;
use super::windows::Windows;
use super::world::{World, damaged};
use crate::error::Unreadable;
use crate::types::{Database, Kind, Options, Place, Selection, Source};

/// Sections smaller than this are not worth a thread.
const SMALL: u64 = 1 << 23;

/// The machine whose C interface aligns no scalar to more than 4 bytes.
const EM_386: u16 = 3;

/// Rounds of following pointers; each adds the types that the round before pointed to.
const ROUNDS: usize = 64;

impl Database {
    /// Reads the types of an ELF file (executable, library, object, debug file, split file or package) or of every object
    /// in an archive.
    ///
    /// # Errors
    /// A file that cannot be read, is no ELF file, is damaged, or has no debug information and names none.
    pub fn read(path: &Path, options: &Options) -> Result<Self, Unreadable> {
        Self::read_span(&Span::open(path)?, path, options)
    }

    /// Reads the types of a file that is in memory; the files that it refers to are looked for in the usual places.
    ///
    /// # Errors
    /// As [`Database::read`].
    pub fn read_bytes(bytes: &[u8], options: &Options) -> Result<Self, Unreadable> {
        Self::read_span(&Span::memory(bytes, "bytes in memory"), Path::new(""), options)
    }

    fn read_span(span: &Span, path: &Path, options: &Options) -> Result<Self, Unreadable> {
        let mut types = Self::default();
        types.read_into(span, path, options)?;
        if types.entangled {
            types = Self::default();
            types.entangled = true;
            types.read_into(span, path, options)?;
        }
        Ok(types)
    }

    fn read_into(&mut self, span: &Span, path: &Path, options: &Options) -> Result<(), Unreadable> {
        let whole = self.entangled;
        self.pointer_size = 8;
        self.add(span, path, options, &options.selection)?;
        let mut asked: BTreeSet<String> = BTreeSet::new();
        for _ in 0..ROUNDS {
            let missing = if options.follow_pointers { self.missing(&asked) } else { BTreeSet::new() };
            if missing.is_empty() || self.entangled != whole {
                break;
            }
            asked.extend(missing.iter().cloned());
            self.sources.clear();
            self.add(span, path, options, &Selection::Names(missing))?;
        }
        Ok(())
    }

    /// Names that are only declared and were not asked for yet.
    fn missing(&self, asked: &BTreeSet<String>) -> BTreeSet<String> {
        let declared = self.types().filter(|(_, ty)| matches!(ty.kind, Kind::Declared(_)));
        let names = declared.filter_map(|(_, ty)| ty.name.as_deref());
        names.filter(|name| self.named(name).is_empty() && !asked.contains(*name)).map(str::to_owned).collect()
    }

    fn add(&mut self, span: &Span, path: &Path, options: &Options, selection: &Selection) -> Result<(), Unreadable> {
        let mut any = false;
        if archive::is_archive(span)? {
            for (member, place) in archive::members(span, path)? {
                let Ok(elf) = Elf::parse(member) else { continue };
                any |= self.add_elf(elf, path, place, options, selection)?;
            }
        } else {
            any = self.add_elf(Elf::parse(span.clone())?, path, span.place.clone(), options, selection)?;
        }
        if any {
            return Ok(());
        }
        Err(span.refuse(
            "has no debug information (.debug_info), and no separate file with it was found",
            "a file built with debug information (-g, or the dev profile) and not stripped, or --debug-file",
        ))
    }

    fn add_elf(
        &mut self,
        elf: Elf,
        path: &Path,
        place: String,
        options: &Options,
        selection: &Selection,
    ) -> Result<bool, Unreadable> {
        let build_id = hex(&elf.build_id());
        self.pointer_size = if elf.wide { 8 } else { 4 };
        self.scalar_align = if elf.machine == EM_386 { 4 } else { 16 };
        let (sections, debug_path) = debug_file(elf, path, options)?;
        if !sections.has_types() {
            return Ok(false);
        }
        let debug_path = debug_path.map(|path| path.display().to_string());
        let home = debug_path.as_ref().map_or(path, |path| path.as_ref());
        let other = alternate(&sections.elf, home, options).transpose()?;
        self.sources.push(Source { path: place, build_id, debug_path: debug_path.clone() });
        let mut skeletons = Vec::new();
        let mut matcher = Matcher::new(selection, options);
        if let (Some(section), None, false) = (sections.in_parts(), &other, self.entangled) {
            let mut windows = Windows::new(&sections.elf, section);
            let parallel = section.size > SMALL && !options.first_only;
            let done = if parallel {
                self.in_parallel(&sections, windows, options, selection, &mut skeletons)?
            } else {
                let (mut done, mut room) = (false, Vec::new());
                while !done && !self.entangled {
                    let Some(window) = windows.next(room)? else { break };
                    done = self.window(&sections, &window, &mut matcher, &mut skeletons)?;
                    room = window.0;
                }
                done
            };
            if done || self.entangled {
                return Ok(true);
            }
        } else {
            let mut world = World::new(sections.elf.big_endian);
            let shared = other.as_ref().map(|other| world.add(other, None)).transpose()?;
            world.add(&sections, shared)?;
            if self.scan(&world, &mut matcher)? {
                return Ok(true);
            }
            world.skeletons(&mut skeletons);
        }
        if !skeletons.is_empty() && !sections.is_split() {
            self.add_split(&skeletons, path, home, options, selection)?;
        }
        Ok(true)
    }

    /// Reads the units of one part; tells whether nothing more is asked for.
    pub(super) fn window(
        &mut self,
        sections: &Sections,
        (bytes, start): &(Vec<u8>, usize),
        matcher: &mut Matcher<'_>,
        skeletons: &mut Vec<Skeleton>,
    ) -> Result<bool, Unreadable> {
        let mut world = World::new(sections.elf.big_endian);
        world.tables = std::mem::take(&mut matcher.tables).into();
        world.add_window(sections, bytes, *start)?;
        let done = self.scan(&world, matcher)?;
        self.entangled |= world.escaped.get();
        world.skeletons(skeletons);
        matcher.tables = world.tables.into_inner();
        matcher.tables.keep_shared();
        Ok(done)
    }

    /// Reads the split units that the skeletons of a file name.
    fn add_split(
        &mut self,
        skeletons: &[Skeleton],
        path: &Path,
        home: &Path,
        options: &Options,
        selection: &Selection,
    ) -> Result<(), Unreadable> {
        let mut matcher = Matcher::new(selection, options);
        if let Some(package) = package(path).or_else(|| package(home)) {
            let mut world = World::new(package.elf.big_endian);
            world.add(&package, None)?;
            self.scan(&world, &mut matcher)?;
            return Ok(());
        }
        for skeleton in skeletons {
            let mut matcher = Matcher::new(selection, options);
            let Some(sections) = split(skeleton, path) else {
                self.left_out.push(format!("split unit {} is not there", skeleton.name));
                continue;
            };
            let mut world = World::new(sections.elf.big_endian);
            world.add(&sections, None)?;
            if let Some(id) = skeleton.id
                && !world.has_split_id(id)
            {
                self.left_out.push(format!("split unit {} is of another build", skeleton.name));
                continue;
            }
            if self.scan(&world, &mut matcher)? {
                break;
            }
        }
        Ok(())
    }

    /// Reads all units; tells whether nothing more is asked for.
    fn scan(&mut self, world: &World<'_>, matcher: &mut Matcher<'_>) -> Result<bool, Unreadable> {
        let mut builder = Builder::new(world, self, matcher.shallow);
        builder.strings = std::mem::take(&mut matcher.strings);
        builder.known = std::mem::take(&mut matcher.known);
        let mut files = Files::default();
        let mut complete = false;
        for book in &world.books {
            let sections: &Sections = book.sections;
            let wanted: Vec<u32> = match matcher.candidates(world, book) {
                Some(candidates) => candidates.into_iter().collect(),
                None => book.every.clone().filter_map(|unit| u32::try_from(unit).ok()).collect(),
            };
            for unit in wanted {
                scan::unit(&mut builder, matcher, unit).map_err(|error| damaged(sections, error))?;
                let places = std::mem::take(&mut builder.places);
                for (id, unit, file, line) in places {
                    let name = files.name(world, unit, file).unwrap_or_default();
                    let place = Place { file: builder.types.text(&name), line: u32::try_from(line).unwrap_or(0) };
                    builder.types.set_place(id, place);
                }
                complete = matcher.is_satisfied(builder.types);
                if complete {
                    break;
                }
            }
            if complete {
                break;
            }
        }
        if let Some(fault) = world.books.iter().find_map(|book| book.sections.fault()) {
            return Err(fault);
        }
        matcher.strings = std::mem::take(&mut builder.strings);
        matcher.known = std::mem::take(&mut builder.known);
        if builder.fuel == 0 {
            let sections = world.books.first().map(|book| book.sections);
            let place = sections.map_or("debug information", |sections| sections.elf.span.place.as_str());
            return Err(Unreadable::new(
                place,
                "debug information: entries refer to each other in too many ways",
                "undamaged DWARF",
            ));
        }
        Ok(complete)
    }
}
