// Package task runs one task: one sub-topology on one partition number. A task
// reads the queues of its inputs, pushes records through its operators, keeps
// its watermark, closes what is due, and takes part in commits. It starts no
// goroutine, reads no clock and makes no request: its worker does, and hands
// in records and times.
package task
