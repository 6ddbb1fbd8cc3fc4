// Package checkpoint is the commit protocol: outputs, changelog, offsets and
// state become final together, in one Kafka transaction, or not at all.
//
// A commit ends an interval of a worker, for all of its tasks:
//
//  1. The tasks flush: dirty rows become changelog records and updates.
//  2. Watermark control records are written behind them.
//  3. The producer is flushed. Any error: the interval is dropped.
//  4. The offsets of what was processed are added to the transaction, with the
//     tasks' watermarks as their metadata; the group's generation fences them.
//  5. The transaction is ended.
//  6. Only now are the interval's values committed, and may reach Pebble.
//
// An interval that was not committed, for whatever reason, leaves no trace: its
// tasks are opened anew from what Kafka says was committed. So is one whose end
// is in doubt, after the doubt has been settled.
package checkpoint
