// Package streamtest runs a topology in memory.
package streamtest
