//! Free runs of one pool: a treap by address, each node knowing the longest run below it.
//!
//! The priority of a node is a hash of its record number, so the shape depends on nothing random and the expected
//! depth is logarithmic. Everything is iterative and lives in the records themselves.

use crate::record::{Link, NONE, Records};

/// Priority of a node.
fn priority(link: Link) -> u32 {
    let mut x = link;
    x = (x ^ (x >> 16)).wrapping_mul(0x85EB_CA6B);
    x = (x ^ (x >> 13)).wrapping_mul(0xC2B2_AE35);
    x ^ (x >> 16)
}

/// Longest run of the subtree at `link` from its own length and its children.
fn computed(records: &Records, link: Link) -> u32 {
    let children = records.longest_of(records.left(link)).max(records.longest_of(records.right(link)));
    records.pages(link).max(children)
}

impl Records {
    /// Longest run of a subtree, 0 for none.
    fn longest_of(&self, link: Link) -> u32 {
        if link == NONE { 0 } else { self.longest(link) }
    }

    /// Puts `child` where `old` was below `parent` (or at the root).
    fn replace_child(&self, root: &mut Link, parent: Link, old: Link, child: Link) {
        if parent == NONE {
            *root = child;
        } else if self.left(parent) == old {
            self.set_left(parent, child);
        } else {
            self.set_right(parent, child);
        }
        if child != NONE {
            self.set_parent(child, parent);
        }
    }
}

/// Moves `link` above its parent.
fn rotate_up(records: &Records, root: &mut Link, link: Link) {
    let parent = records.parent(link);
    let above = records.parent(parent);
    if records.left(parent) == link {
        let middle = records.right(link);
        records.set_left(parent, middle);
        if middle != NONE {
            records.set_parent(middle, parent);
        }
        records.set_right(link, parent);
    } else {
        let middle = records.left(link);
        records.set_right(parent, middle);
        if middle != NONE {
            records.set_parent(middle, parent);
        }
        records.set_left(link, parent);
    }
    records.replace_child(root, above, parent, link);
    records.set_parent(parent, link);
    records.set_longest(parent, computed(records, parent));
    records.set_longest(link, computed(records, link));
}

/// Adds the free run `link`.
pub(crate) fn insert(records: &Records, root: &mut Link, link: Link) {
    let (start, pages) = (records.start(link), records.pages(link));
    records.set_left(link, NONE);
    records.set_right(link, NONE);
    records.set_parent(link, NONE);
    records.set_longest(link, pages);
    let mut at = *root;
    if at == NONE {
        *root = link;
        return;
    }
    loop {
        if records.longest(at) < pages {
            records.set_longest(at, pages);
        }
        let left = start < records.start(at);
        let below = if left { records.left(at) } else { records.right(at) };
        if below == NONE {
            if left {
                records.set_left(at, link);
            } else {
                records.set_right(at, link);
            }
            records.set_parent(link, at);
            break;
        }
        at = below;
    }
    while records.parent(link) != NONE && priority(link) > priority(records.parent(link)) {
        rotate_up(records, root, link);
    }
}

/// Takes the free run `link` out.
pub(crate) fn remove(records: &Records, root: &mut Link, link: Link) {
    loop {
        let (left, right) = (records.left(link), records.right(link));
        let up = match (left, right) {
            (NONE, NONE) => break,
            (NONE, child) | (child, NONE) => child,
            (left, right) if priority(left) > priority(right) => left,
            (_, right) => right,
        };
        rotate_up(records, root, up);
    }
    let parent = records.parent(link);
    records.replace_child(root, parent, link, NONE);
    update(records, parent);
}

/// Carries a changed length of `link` up to the root.
pub(crate) fn update(records: &Records, link: Link) {
    let mut at = link;
    while at != NONE {
        let longest = computed(records, at);
        if longest == records.longest(at) {
            break;
        }
        records.set_longest(at, longest);
        at = records.parent(at);
    }
}

/// Lowest run of at least `pages` in the subtree at `at`.
pub(crate) fn first(records: &Records, at: Link, pages: u32) -> Option<Link> {
    if records.longest_of(at) < pages || at == NONE {
        return None;
    }
    let mut at = at;
    loop {
        let left = records.left(at);
        if left != NONE && records.longest(left) >= pages {
            at = left;
        } else if records.pages(at) >= pages {
            return Some(at);
        } else {
            at = records.right(at);
        }
    }
}

/// Lowest run of at least `pages` that starts at `start` or above.
pub(crate) fn first_from(records: &Records, root: Link, start: u32, pages: u32) -> Option<Link> {
    let (mut at, mut candidate) = (root, NONE);
    while at != NONE {
        if records.start(at) >= start {
            candidate = at;
            at = records.left(at);
        } else {
            at = records.right(at);
        }
    }
    // Climb from the lowest run at or above `start`: each step covers everything between it and the next one.
    let mut at = candidate;
    while at != NONE {
        if records.pages(at) >= pages {
            return Some(at);
        }
        if let Some(found) = first(records, records.right(at), pages) {
            return Some(found);
        }
        let mut below = at;
        at = records.parent(at);
        while at != NONE && records.right(at) == below {
            below = at;
            at = records.parent(at);
        }
    }
    None
}

/// Highest run that starts at `start` or below.
pub(crate) fn floor(records: &Records, root: Link, start: u32) -> Option<Link> {
    let (mut at, mut found) = (root, NONE);
    while at != NONE {
        if records.start(at) <= start {
            found = at;
            at = records.right(at);
        } else {
            at = records.left(at);
        }
    }
    (found != NONE).then_some(found)
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
