package operator

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/window"
)

// A Fold says how values become an aggregate. The functions are the user's, or
// ours for counts.
type Fold[V, A any] struct {
	// Add folds v into a; existed is false if the key has no aggregate yet, and
	// a then the zero value.
	Add func(a A, v V, existed bool) A
	// Merge joins two sessions, the earlier one first.
	Merge func(a, b A) A
}

// A Spec is what the operators with a store have in common.
type Spec[K, V, A any] struct {
	Node       int32
	Policy     *flow.Policy
	Descriptor state.Descriptor
	Key        serde.Serde[K]
	Value      serde.Serde[A]
	Fold       Fold[V, A]
	Hold       int64 // how far the operator's input is behind the task's watermark, ms

	Updates flow.Push[K, A] // nil if nobody listens
	Final   flow.Push[K, A]
	Late    flow.Push[K, V]
}

// base is what the operators with a store do alike.
type base[K, V, A any] struct {
	Spec[K, V, A]
	key []byte // scratch
}

// Node implements flow.Stateful.
func (b *base[K, V, A]) Node() int { return int(b.Spec.Node) }

// keyed encodes the record's key. Records without a key, and tombstones where a
// value is needed, are dropped and counted.
func (b *base[K, V, A]) keyed(c *flow.Context, k K) ([]byte, bool) {
	if c.NullKey {
		c.Drop(b.Spec.Node, flow.NullKey)
		return nil, false
	}
	if c.RawKey != nil {
		return c.RawKey, true
	}
	var err error
	if b.key, err = b.Spec.Key.Append(b.key[:0], k); err != nil {
		c.Reject(b.Policy, b.Spec.Node, flow.Failed, fmt.Errorf("cannot encode the key: %w", err), 1)
		return nil, false
	}
	return b.key, true
}

// add folds a value into a row, unless the user's function fails.
func (b *base[K, V, A]) add(c *flow.Context, r *state.Row[A], v V, existed bool) bool {
	a, ok := call(c, b.Policy, b.Spec.Node, func(v V) A { return b.Fold.Add(r.Value, v, existed) }, v)
	if ok {
		r.Value = a
	}
	return ok
}

// latest notes the record that went into a row: its time if it is the latest,
// and its headers.
func latest[A any](r *state.Row[A], c *flow.Context, existed bool) {
	if !existed || c.Time > r.Time {
		r.Time = c.Time
	}
	r.Headers = c.Headers
}

// emit hands a row on, as a record of that time, window and watermark. The
// record at hand, if there is one, is put aside.
func (b *base[K, V, A]) emit(
	c *flow.Context, next flow.Push[K, A], key string, r *state.Row[A], ms, carried int64, w window.Span, deleted bool,
) error {
	raw := unsafe.Slice(unsafe.StringData(key), len(key))
	k, err := b.Spec.Key.Decode(raw)
	if err != nil {
		return fmt.Errorf("operator %s: cannot decode the key %q of its own store: %w", c.Task.Names[b.Spec.Node], key, err)
	}
	before := *c
	c.Time, c.Carried, c.Window, c.Headers, c.Deleted = ms, carried, w, r.Headers, deleted
	c.NullKey, c.RawKey, c.Source = false, raw, nil
	a := r.Value
	if deleted {
		var zero A
		a = zero
	}
	next(c, k, a)
	err = c.Err
	*c = before
	c.Err = err
	return err
}

// each calls f with the rows of all, their keys decoded.
func (b *base[K, V, A]) each(
	all func(func(key string, r *state.Row[A]) bool) error, f func(key any, w window.Span, value any) bool,
	span func(*state.Row[A]) window.Span,
) error {
	var bad error
	err := all(func(key string, r *state.Row[A]) bool {
		k, err := b.Spec.Key.Decode([]byte(key))
		if err != nil {
			bad = fmt.Errorf("cannot decode the key %q of its own store: %w", key, err)
			return false
		}
		return f(k, span(r), r.Value)
	})
	return errors.Join(err, bad)
}

// fired is the watermark, in terms of the operator's input, up to which
// everything that was due has been closed. Only after idleness is it ahead of
// what records carry.
func (b *base[K, V, A]) fired(c *flow.Context) int64 { return flow.Behind(c.Fired, b.Hold) }

// cloneHeaders makes headers independent of the fetched bytes they point into.
func cloneHeaders(hs []kgo.RecordHeader) []kgo.RecordHeader {
	if len(hs) == 0 {
		return nil
	}
	c := make([]kgo.RecordHeader, len(hs))
	for i, h := range hs {
		c[i] = kgo.RecordHeader{Key: h.Key, Value: append([]byte(nil), h.Value...)}
	}
	return c
}
