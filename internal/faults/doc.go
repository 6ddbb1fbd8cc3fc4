// Package faults holds tests that make everything around an application go
// wrong on purpose, at every step of the commit protocol: processes die, are
// paused and come back, brokers refuse, lose and delay, and logs are not what
// they were. After each, outputs are compared with an oracle and state with its
// changelogs.
package faults
