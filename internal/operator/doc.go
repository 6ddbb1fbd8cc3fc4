// Package operator holds the operators of a topology, one to a file: what
// happens to each record. They are typed, are made once per task, and call one
// another directly.
package operator
