package operator

import (
	"iter"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
)

// call runs a user function under the policy. Where failures stop the task, a
// panic is left to the task, which knows the operator from the context.
func call[V, U any](c *flow.Context, p *flow.Policy, node int32, f func(V) U, v V) (u U, ok bool) {
	c.Operator = node
	if p.Action == flow.Stop && p.Retry == 0 {
		return f(v), true
	}
	ok = c.Try(p, node, func() error { u = f(v); return nil })
	return u, ok
}

// Map replaces each value by what f makes of it. Tombstones pass it by.
func Map[K, V, U any](node int32, p *flow.Policy, f func(*flow.Context, K, V) U, next flow.Push[K, U]) flow.Push[K, V] {
	return func(c *flow.Context, k K, v V) {
		var u U
		if !c.Deleted {
			var ok bool
			if u, ok = call(c, p, node, func(v V) U { return f(c, k, v) }, v); !ok {
				return
			}
		}
		next(c, k, u)
	}
}

// MapValue is Map for a function of the value alone.
func MapValue[K, V, U any](node int32, p *flow.Policy, f func(V) U, next flow.Push[K, U]) flow.Push[K, V] {
	return func(c *flow.Context, k K, v V) {
		var u U
		if !c.Deleted {
			var ok bool
			if u, ok = call(c, p, node, f, v); !ok {
				return
			}
		}
		next(c, k, u)
	}
}

// TryMap is Map for a function that can fail.
func TryMap[K, V, U any](node int32, p *flow.Policy, f func(*flow.Context, K, V) (U, error), next flow.Push[K, U]) flow.Push[K, V] {
	return func(c *flow.Context, k K, v V) {
		var u U
		if !c.Deleted {
			c.Operator = node
			if !c.Try(p, node, func() (err error) { u, err = f(c, k, v); return err }) {
				return
			}
		}
		next(c, k, u)
	}
}

// Filter keeps what satisfies keep. Tombstones are shown to it only if
// tombstones says so, and else pass.
func Filter[K, V any](
	node int32, p *flow.Policy, tombstones bool, keep func(*flow.Context, K, V) bool, next flow.Push[K, V],
) flow.Push[K, V] {
	return func(c *flow.Context, k K, v V) {
		if !c.Deleted || tombstones {
			if keep, ok := call(c, p, node, func(v V) bool { return keep(c, k, v) }, v); !ok || !keep {
				return
			}
		}
		next(c, k, v)
	}
}

// FilterValue is Filter for a function of the value alone.
func FilterValue[K, V any](node int32, p *flow.Policy, keep func(V) bool, next flow.Push[K, V]) flow.Push[K, V] {
	return func(c *flow.Context, k K, v V) {
		if !c.Deleted {
			if keep, ok := call(c, p, node, keep, v); !ok || !keep {
				return
			}
		}
		next(c, k, v)
	}
}

// Split sends what satisfies take one way and the rest another; tombstones go
// both ways.
func Split[K, V any](node int32, p *flow.Policy, take func(V) bool, taken, rest flow.Push[K, V]) flow.Push[K, V] {
	return func(c *flow.Context, k K, v V) {
		if c.Deleted {
			taken(c, k, v)
			rest(c, k, v)
			return
		}
		switch yes, ok := call(c, p, node, take, v); {
		case ok && yes:
			taken(c, k, v)
		case ok:
			rest(c, k, v)
		}
	}
}

// FlatMap replaces each value by any number of values under the same key.
// Tombstones are shown to it only if tombstones says so, and else pass. Values
// are collected before the first goes on, so that a function that fails half
// way has sent nothing.
func FlatMap[K, V, U any](
	node int32, p *flow.Policy, tombstones bool, f func(*flow.Context, K, V) iter.Seq[U], next flow.Push[K, U],
) flow.Push[K, V] {
	var values []U
	return func(c *flow.Context, k K, v V) {
		if c.Deleted && !tombstones {
			var u U
			next(c, k, u)
			return
		}
		collect := func(v V) bool {
			values = values[:0]
			for u := range f(c, k, v) {
				values = append(values, u)
			}
			return true
		}
		if _, ok := call(c, p, node, collect, v); !ok {
			return
		}
		deleted := c.Deleted
		c.Deleted = false
		for _, u := range values {
			if next(c, k, u); c.Err != nil {
				break
			}
		}
		c.Deleted = deleted
		clear(values)
	}
}

// SelectKey replaces each key. A tombstone has no value to take a key from:
// where f sees values only, it is dropped and counted.
func SelectKey[K, V, K2 any](
	node int32, p *flow.Policy, tombstones bool, f func(*flow.Context, K, V) K2, next flow.Push[K2, V],
) flow.Push[K, V] {
	return func(c *flow.Context, k K, v V) {
		if c.Deleted && !tombstones {
			c.Drop(node, flow.NullValue)
			return
		}
		k2, ok := call(c, p, node, func(v V) K2 { return f(c, k, v) }, v)
		if !ok {
			return
		}
		raw, null := c.RawKey, c.NullKey
		c.RawKey, c.NullKey = nil, false
		next(c, k2, v)
		c.RawKey, c.NullKey = raw, null
	}
}

// DeleteWhen turns the values that satisfy gone into tombstones.
func DeleteWhen[K, V any](node int32, p *flow.Policy, gone func(V) bool, next flow.Push[K, V]) flow.Push[K, V] {
	return func(c *flow.Context, k K, v V) {
		if c.Deleted {
			next(c, k, v)
			return
		}
		yes, ok := call(c, p, node, gone, v)
		if !ok {
			return
		}
		if yes {
			var zero V
			v, c.Deleted = zero, true
		}
		next(c, k, v)
		c.Deleted = false
	}
}

// SetHeaders replaces each record's headers.
func SetHeaders[K, V any](
	node int32, p *flow.Policy, f func(*flow.Context, K, V) []kgo.RecordHeader, next flow.Push[K, V],
) flow.Push[K, V] {
	return func(c *flow.Context, k K, v V) {
		h, ok := call(c, p, node, func(v V) []kgo.RecordHeader { return f(c, k, v) }, v)
		if !ok {
			return
		}
		before := c.Headers
		c.Headers = h
		next(c, k, v)
		c.Headers = before
	}
}

// Peek calls f with every record passing by.
func Peek[K, V any](node int32, p *flow.Policy, f func(*flow.Context, K, V), next flow.Push[K, V]) flow.Push[K, V] {
	return func(c *flow.Context, k K, v V) {
		if _, ok := call(c, p, node, func(v V) bool { f(c, k, v); return true }, v); ok {
			next(c, k, v)
		}
	}
}

// FanOut hands each record to several operators, in order.
func FanOut[K, V any](next []flow.Push[K, V]) flow.Push[K, V] {
	if len(next) == 1 {
		return next[0]
	}
	return func(c *flow.Context, k K, v V) {
		for _, n := range next {
			if n(c, k, v); c.Err != nil {
				return
			}
		}
	}
}
