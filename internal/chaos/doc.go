// Command chaos runs a topology in child processes against a real broker, and for a while kills, pauses, rescales and
// robs them, and kills and pauses the broker. Then it heals everything, lets one instance finish, and compares outputs,
// changelogs, local state and committed offsets with what the input says they must be.
//
//	go run ./internal/chaos -seconds 300 -seed 7
//
// Standard output is JSON lines: one for each fault, the last one the summary. The exit status is 0 only if nothing was
// wrong and the faults bit: enough kills fell into an open transaction, into a restore and into a rebalance.
package main
