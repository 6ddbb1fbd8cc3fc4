// Package state holds typed, keyed, fault-tolerant state: key-value, window and
// session stores over one ordered key space.
//
// A store is a write-back cache in front of a slice of a Pebble database. The
// cache holds typed values; a record that updates a hot key costs one map
// look-up. At a commit the rows that changed are encoded once, into the store's
// changelog. Pebble is a checkpoint of that changelog, not a log: it runs
// without a WAL and only ever receives committed rows, some time after their
// commit, each batch together with the changelog position that it stands for.
// After a crash, the rows in Pebble plus the changelog from the recorded
// position on are exactly the committed state.
//
// The life of a row:
//
//	clean -> dirty (Touch) -> flushed (Flush, at the barrier; its record is in
//	the changelog, in the open transaction) -> committed, not yet written
//	(Committed) -> written (WriteBehind) -> may be evicted (Evict)
//
// A transaction that does not commit leaves Pebble as it was: the store is
// thrown away and another is opened on the same partition.
//
// A DB is safe for concurrent use. A store belongs to one task and must be used
// by one goroutine at a time.
package state
