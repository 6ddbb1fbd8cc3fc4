package operator

import "github.com/weirstream/weir/internal/flow"
import "github.com/weirstream/weir/state"

// table keeps the latest value of every key; tombstones delete.
type table[K, V any] struct{ aggregate[K, V, V] }

// Table makes the operator for one task.
func Table[K, V any](t *flow.Task, s Spec[K, V, V]) (flow.Push[K, V], error) {
	part, log, _, err := t.Store(int(s.Node), s.Descriptor)
	if err != nil {
		return nil, err
	}
	store, err := state.OpenKeyValue(part, log, s.Value)
	if err != nil {
		return nil, err
	}
	op := &table[K, V]{aggregate[K, V, V]{base[K, V, V]{Spec: s}, store}}
	t.Register(op)
	return op.put, nil
}

func (op *table[K, V]) put(c *flow.Context, k K, v V) {
	key, ok := op.keyed(c, k)
	if !ok {
		return
	}
	var r *state.Row[V]
	var err error
	if c.Deleted {
		r, err = op.Delete(key)
	} else {
		r, _, err = op.Upsert(key)
	}
	if err != nil {
		c.Fail(err)
		return
	}
	if r == nil {
		return // a tombstone for a key that has no row
	}
	if !c.Deleted {
		r.Value = v
	}
	r.Time = c.Time
	r.Headers = c.Headers
	op.Touch(r)
}
