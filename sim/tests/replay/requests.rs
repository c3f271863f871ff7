//! The requests and their answers.

use serde_json::Value;

use nrt_core::driver::{DriverResult, Errno};
use nrt_sim::kernel::{ChunkEntry, MemAlloc};

use super::{Compared, Replay, number, pid, signed, text};

/// Compares a result with `ret` and `errno` of a line; the value if both succeeded.
fn same<T>(line: &Value, result: DriverResult<T>) -> Option<T> {
    match result {
        Ok(value) => {
            assert_eq!(signed(line, "ret"), 0, "the model succeeds: {line}");
            Some(value)
        }
        Err(errno) => {
            assert_eq!((signed(line, "ret"), signed(line, "errno")), (-1, i64::from(errno.0)), "{errno}: {line}");
            None
        }
    }
}

/// Reads the arguments of an allocation in any of its forms.
fn request(input: &Value, form: &str) -> MemAlloc {
    let host = signed(input, "host") != 0;
    let typed = form.starts_with("MEM_ALLOC_V2MT");
    MemAlloc {
        size: number(input, "size"),
        align: number(input, "align"),
        host,
        channel: number(input, "channel") as u32,
        nc_id: number(input, "nc") as u32,
        category: if typed { number(input, "type") as u32 } else { MemAlloc::unknown_category(host) },
    }
}

impl Replay {
    /// One system call.
    pub(crate) fn call(&mut self, line: &Value) -> Compared {
        let (who, fd, op) = (text(line, "who"), text(line, "fd"), text(line, "op"));
        let input = &line["in"];
        if self.misc.iter().any(|open| *open == (who.to_owned(), fd.to_owned())) {
            if op == "close" {
                self.misc.retain(|open| *open != (who.to_owned(), fd.to_owned()));
            }
            return Err("misc descriptor");
        }
        let handle = number(input, "handle");
        let (src, dst) = (number(input, "src"), number(input, "dst"));
        match op {
            "open" => return self.open(line, who),
            "close" | "dup+close" => {
                let last = self.kernel.close(pid(who), 0).expect("close");
                let slept = line["out"]["at_least_10ms"] == true;
                assert!(!last || slept || op == "dup+close", "the close that detaches sleeps: {line}");
            }
            "dup" => {}
            "MEM_ALLOC" | "MEM_ALLOC_V2" | "MEM_ALLOC_V2MT" | "MEM_ALLOC_V2MT64" => self.alloc(line, who, op),
            "MEM_FREE" => {
                same(line, self.kernel.free(pid(who), 0, handle));
            }
            "MEM_GET_EXTENDED_INFO" => self.extended_info(line, who, handle),
            "MEM_GET_PA" => {
                // The one query here that wants an attached process.
                let attached = if self.kernel.is_attached(pid(who), 0) { Ok(()) } else { Err(Errno::EACCES) };
                if let Some(chunk) = same(line, attached.and_then(|()| self.kernel.chunk(0, handle))) {
                    assert_eq!(chunk.pa, number(&line["out"], "pa"), "{line}");
                }
            }
            "DUMP_MEM_CHUNKS" => self.dump(line),
            "DEVICE_GET_ALL_APPS_INFO" => self.apps(line, who),
            "MEM_BUF_COPY64" => {
                same(line, self.kernel.access(0, handle, number(input, "offset"), number(input, "size")));
            }
            "MEMSET64" => {
                same(line, self.kernel.fill(0, handle, number(input, "offset"), number(input, "size")));
            }
            "MEM_COPY64" | "MEM_COPY_ASYNC" | "MEM_COPY_ASYNC64" if signed(line, "errno") == 12 => {
                return Err("ring entries lost by oversize requests");
            }
            "MEM_COPY64" => {
                let (from, to) = ((src, number(input, "src_offset")), (dst, number(input, "dst_offset")));
                same(line, self.kernel.copy(0, from, to, number(input, "size")));
            }
            "MEM_COPY_ASYNC" | "MEM_COPY_ASYNC64" => {
                let (from, to) = ((src, number(input, "src_offset")), (dst, number(input, "dst_offset")));
                let previous = number(input, "pwait_handle") as u32 as i32;
                if let Some(copy) = same(line, self.kernel.copy_start(0, from, to, number(input, "size"), previous)) {
                    assert_eq!(i64::from(copy.wait), signed(&line["out"], "wait_handle"), "{line}");
                }
            }
            "MEM_COPY_ASYNC_WAIT" => {
                same(line, self.kernel.copy_wait(0, src, dst, number(input, "pwait_handle") as u32 as i32));
            }
            "mmap" => return self.mmap(line, who),
            "munmap" => {
                if let Some(handle) = self.mapped.remove(who) {
                    self.kernel.unmap(0, handle).expect("munmap");
                }
            }
            "mprotect rw" => return Err("page protection"),
            "NC_RESET" | "NC_RESET_READY" => return Err("reset"),
            _ => panic!("a request nobody thought of: {line}"),
        }
        Ok(())
    }

    fn open(&mut self, line: &Value, who: &str) -> Compared {
        if line["in"]["flags"] == "O_WRONLY" {
            self.misc.push((who.to_owned(), text(&line["out"], "fd").to_owned()));
            return Err("misc descriptor");
        }
        if same(line, self.kernel.open(pid(who), 0)).is_none() {
            self.fillers_end();
        }
        Ok(())
    }

    fn alloc(&mut self, line: &Value, who: &str, form: &str) {
        let result = self.kernel.alloc(pid(who), 0, &request(&line["in"], form));
        if line["in"].get("handle_ptr").is_some() {
            // The handle cannot be written: the allocation is undone, the 8 bytes of the handle are reported missing.
            let handle = result.expect("an allocation");
            self.kernel.free(pid(who), 0, handle).expect("undone");
            assert_eq!(signed(line, "ret"), 8, "{line}");
        } else if let Some(handle) = same(line, result) {
            assert_eq!(handle, number(&line["out"], "handle"), "{line}");
        }
    }

    fn extended_info(&self, line: &Value, who: &str, handle: u64) {
        let chunk = match self.kernel.chunk(0, handle) {
            Ok(chunk) => chunk,
            Err(errno) => {
                assert_eq!(signed(line, "ret"), i64::from(errno.0), "the positive number: {line}");
                return;
            }
        };
        let out = &line["out"];
        assert_eq!(signed(line, "ret"), 0, "{line}");
        assert_eq!(u64::from(chunk.host), number(out, "host"), "{line}");
        assert_eq!(chunk.size, number(out, "size"), "{line}");
        assert_eq!(chunk.pid == Some(pid(who)), out["pid_self"] == true, "{line}");
        assert_eq!(out["off_eq_pa"], true, "the model has one number for both: {line}");
        if chunk.host {
            let without = chunk.pa & !(1 << 44);
            assert_eq!(out["pa_host_bit"], chunk.pa != without, "{line}");
            assert_eq!(out["pa_below_4g"], without < 1 << 32, "{line}");
            assert_eq!(out["pa_4k_aligned"], chunk.pa.is_multiple_of(4096), "{line}");
        } else {
            assert_eq!(chunk.pa, number(out, "pa"), "{line}");
        }
    }

    fn dump(&self, line: &Value) {
        let (input, out) = (&line["in"], &line["out"]);
        let mut entries = vec![ChunkEntry::default(); number(input, "num_in") as usize];
        match self.kernel.dump_chunks(0, number(input, "hbm") as u32, &mut entries) {
            Ok(count) => {
                assert_eq!(signed(line, "ret"), 0, "{line}");
                assert_eq!(count as u64, number(out, "num_out"), "{line}");
                if let Some(chunks) = out.get("chunks") {
                    let rows = entries[..count].iter().map(|entry| (entry.pa, entry.size, u64::from(entry.category)));
                    let rows: Vec<Value> = rows.map(|(pa, size, category)| vec![pa, size, category].into()).collect();
                    assert_eq!(*chunks, Value::from(rows), "{line}");
                }
            }
            Err(small) => {
                assert_eq!((signed(line, "ret"), signed(line, "errno")), (-1, 11), "{line}");
                assert_eq!(small.needed, number(out, "num_out"), "{line}");
            }
        }
    }

    fn apps(&self, line: &Value, who: &str) {
        let apps = line["out"]["apps"].as_array().expect("a list");
        let ours: Vec<_> = self.kernel.processes(0).into_iter().flatten().collect();
        assert_eq!(ours.len(), apps.len(), "{line}");
        for (usage, app) in ours.iter().zip(apps) {
            assert_eq!(usage.pid == pid(who), app["pid_self"] == true, "{line}");
            assert_eq!(usage.host_bytes, number(app, "host"), "{line}");
            assert_eq!(usage.device_bytes, number(app, "device"), "{line}");
        }
    }

    fn mmap(&mut self, line: &Value, who: &str) -> Compared {
        let input = &line["in"];
        let pa = number(&input["offset"], "pa") + number(&input["offset"], "delta");
        match self.kernel.mapping_at(0, pa, number(input, "length")) {
            Ok(chunk) => {
                assert_eq!(signed(line, "ret"), 0, "{line}");
                assert_eq!(chunk.handle, number(&input["offset"], "handle"), "{line}");
                self.kernel.map(0, chunk.handle).expect("a mapping");
                self.mapped.insert(who.to_owned(), chunk.handle);
                Ok(())
            }
            Err(Errno::EPERM) if input["euid0"] == true => Err("raw mapping as root"),
            Err(errno) => {
                assert_eq!(signed(line, "errno"), i64::from(errno.0), "{line}");
                Ok(())
            }
        }
    }

    /// Many equal allocations, or the frees of such a list.
    pub(crate) fn bulk(&mut self, line: &Value) -> Compared {
        let owner = pid(text(line, "who"));
        let list = number(line, "list");
        if line["bulk"] == "MEM_FREE" {
            let mut handles = self.lists.remove(&list).expect("a list");
            match text(line, "order") {
                "reverse" => handles.reverse(),
                order => assert_eq!(order, "allocation order"),
            }
            assert_eq!(handles.len() as u64, number(line, "ok"), "{line}");
            for handle in handles {
                self.kernel.free(owner, 0, handle).expect("a free");
            }
            return Ok(());
        }
        let request = request(&line["in"], text(line, "bulk"));
        let (mut handles, mut errno) = (Vec::new(), 0);
        while (handles.len() as u64) < number(line, "max") {
            match self.kernel.alloc(owner, 0, &request) {
                Ok(handle) => handles.push(handle),
                Err(failed) => {
                    errno = failed.0;
                    break;
                }
            }
        }
        assert_eq!(handles.len() as u64, number(line, "ok"), "{line}");
        assert_eq!(i64::from(errno), signed(line, "errno"), "{line}");
        assert_eq!(handles.first(), Some(&number(line, "first_handle")), "{line}");
        assert_eq!(handles.last(), Some(&number(line, "last_handle")), "{line}");
        self.lists.insert(list, handles);
        Ok(())
    }
}
