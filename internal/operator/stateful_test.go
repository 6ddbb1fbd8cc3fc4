package operator

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/window"
)

func TestKeyed(t *testing.T) {
	r := newRig(t)
	b := &base[int64, int64, int64]{Spec: Spec[int64, int64, int64]{Node: node, Policy: &flow.Policy{Action: flow.Skip}, Key: even{}}}
	for range 2 { // the second time over the key of the first
		key, ok := b.keyed(&r.ctx, 4)
		require.True(t, ok)
		require.Equal(t, []byte{4}, key)
	}
	_, ok := b.keyed(&r.ctx, 1)
	require.False(t, ok)
	require.EqualValues(t, 1, r.drops(flow.Failed))
	r.ctx.RawKey = []byte("raw")
	key, ok := b.keyed(&r.ctx, 1)
	require.True(t, ok)
	require.Equal(t, "raw", string(key))
	require.Zero(t, r.drops(flow.Failed))
	r.ctx.NullKey = true
	_, ok = b.keyed(&r.ctx, 4)
	require.False(t, ok)
	require.EqualValues(t, 1, r.drops(flow.NullKey))

	r.ctx.NullKey, r.ctx.RawKey = false, nil
	b.Policy = &flow.Policy{Action: flow.DeadLetter, Topic: "dlq"}
	_, ok = b.keyed(&r.ctx, 1)
	require.False(t, ok)
	require.Contains(t, headerText(r.sent[0].headers), flow.HeaderAttempts+":1 ")
}

// A result is a record of its own: the one at hand is put aside meanwhile.
func TestEmit(t *testing.T) {
	r := newRig(t)
	b := &base[int64, int64, int64]{Spec: Spec[int64, int64, int64]{Node: node, Key: even{}}}
	r.ctx = flow.Context{
		Task: r.task, Time: 1, Carried: 2, Fired: 3, Window: window.Millis(0, 4), Headers: header("a", "1"), Deleted: true,
		NullKey: true, RawKey: []byte("raw"), Source: &kgo.Record{}, Operator: node,
	}
	before := r.ctx
	row := &state.Row[int64]{Value: 8, Headers: header("b", "2")}
	want := flow.Context{
		Task: r.task, Time: 5, Carried: 6, Fired: 3, Window: window.Millis(0, 9), Headers: header("b", "2"), Operator: node,
	}
	calls := 0
	next := func(c *flow.Context, k, v int64) {
		got := *c
		if got.RawKey != nil { // if it is at hand, it is that of the result
			require.Equal(t, []byte{4}, got.RawKey)
			got.RawKey = nil
		}
		require.Equal(t, want, got)
		require.EqualValues(t, 4, k)
		require.EqualValues(t, 8*(1-calls), v, "a tombstone has no value")
		calls++
	}
	require.NoError(t, b.emit(&r.ctx, next, "\x04", row, 5, 6, window.Millis(0, 9), false))
	require.Equal(t, before, r.ctx)
	want.Deleted = true
	require.NoError(t, b.emit(&r.ctx, next, "\x04", row, 5, 6, window.Millis(0, 9), true))
	require.Equal(t, 2, calls)

	err := b.emit(&r.ctx, next, "\x05", row, 5, 6, window.Span{}, false)
	require.EqualError(t, err, `operator operator: cannot decode the key "\x05" of its own store: odd`)
	fails := func(c *flow.Context, _, _ int64) { c.Fail(errors.New("no")) }
	require.EqualError(t, b.emit(&r.ctx, fails, "\x04", row, 5, 6, window.Span{}, false), "no")
	require.Equal(t, "no", r.failure())
	require.Equal(t, before, r.ctx)
}

func TestEach(t *testing.T) {
	b := &base[int64, int64, int64]{Spec: Spec[int64, int64, int64]{Node: node, Key: even{}}}
	keys := []string{"\x02", "\x04"}
	all := func(f func(string, *state.Row[int64]) bool) error {
		for i, k := range keys {
			if !f(k, &state.Row[int64]{Value: int64(i), Start: 10}) {
				return nil
			}
		}
		return errors.New("the end")
	}
	span := func(r *state.Row[int64]) window.Span { return window.Millis(r.Start, 20) }
	var list []any
	more := true
	see := func(k any, w window.Span, v any) bool {
		list = append(list, k, w, v)
		return more
	}
	require.EqualError(t, b.each(all, see, span), "the end")
	require.Equal(t, []any{int64(2), window.Millis(10, 20), int64(0), int64(4), window.Millis(10, 20), int64(1)}, list)
	list, more = nil, false
	require.NoError(t, b.each(all, see, span))
	require.Len(t, list, 3)
	keys[0] = "\x01"
	require.EqualError(t, b.each(all, see, span), `cannot decode the key "\x01" of its own store: odd`)
	require.Len(t, list, 3)
}

// Rows outlive the fetch that their headers point into.
func TestCloneHeaders(t *testing.T) {
	require.Nil(t, cloneHeaders(nil))
	require.Nil(t, cloneHeaders([]kgo.RecordHeader{}))
	hs := append(header("a", "1"), header("b", "2")...)
	c := cloneHeaders(hs)
	hs[0].Value[0], hs[1].Key = 'x', "y"
	require.Equal(t, append(header("a", "1"), header("b", "2")...), c)
}

func TestLatest(t *testing.T) {
	row := &state.Row[int64]{Time: 5}
	note := func(ms int64, h string, existed bool) {
		latest(row, &flow.Context{Time: ms, Headers: header(h, "")}, existed)
	}
	note(-3, "a", false)
	require.EqualValues(t, -3, row.Time, "zero is a time, not that of a new row")
	note(4, "b", true)
	note(2, "c", true)
	require.EqualValues(t, 4, row.Time)
	require.Equal(t, "c:", headerText(row.Headers))
}
