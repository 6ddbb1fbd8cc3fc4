package watermark_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weirstream/weir/watermark"
)

func TestControlRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := make([]watermark.Progress, rapid.IntRange(0, 20).Draw(t, "entries"))
		for i := range ps {
			tasks := rapid.Int32Range(1, math.MaxInt32).Draw(t, "tasks")
			ps[i] = watermark.Progress{
				Task: rapid.Int32Range(0, tasks-1).Draw(t, "task"), Tasks: tasks,
				Watermark: rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{watermark.None, watermark.Infinite})).Draw(t, "watermark"),
				Idle:      rapid.Bool().Draw(t, "idle"),
			}
		}
		b := watermark.AppendControl([]byte("head"), ps)
		require.Equal(t, "head", string(b[:4]))
		got, err := watermark.ParseControl(b[4:])
		require.NoError(t, err)
		require.Equal(t, ps, got)
		for cut := range b[4:] {
			_, err := watermark.ParseControl(b[4 : 4+cut])
			require.Error(t, err, "cut to %d bytes", cut)
		}
		_, err = watermark.ParseControl(append(b[4:], 0))
		require.Error(t, err)
	})
}

// The bytes are kept in topics: they must not change without a new version.
func TestControlBytes(t *testing.T) {
	b := watermark.AppendControl(nil, []watermark.Progress{
		{Task: 3, Tasks: 200, Watermark: -1, Idle: true},
		{Task: 0, Tasks: 1, Watermark: watermark.None},
	})
	require.Equal(t, []byte{1, 2, 3, 0xc8, 1, 1, 1, 0, 1, 2}, b)
}

func TestControlRefusesDamage(t *testing.T) {
	for want, b := range map[string][]byte{
		"is empty":                        nil,
		"has version 2":                   {2, 0},
		"malformed number":                {1},
		"claims 4 entries":                {1, 4, 0, 1, 2},
		"entry 0: task 1 of 1":            {1, 1, 1, 1, 2},
		"entry 0: task 0 of 0":            {1, 1, 0, 0, 2},
		"entry 0: task 0 of 2147483648":   {1, 1, 0, 0x80, 0x80, 0x80, 0x80, 8, 2},
		"entry 0: unknown flags 0x4":      {1, 1, 0, 1, 4, 0},
		"entry 0: malformed number":       {1, 1, 0x80, 0, 1, 2},
		"ends with 1 bytes":               {1, 1, 0, 1, 2, 0},
		"10 bytes, entry 1: malformed":    {1, 2, 0, 1, 2, 0, 1, 0, 0x80, 0},
		"entry 0: malformed number: the ": {1, 1, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
	} {
		_, err := watermark.ParseControl(b)
		require.ErrorContains(t, err, want, "%x", b)
	}
}

func FuzzParseControl(f *testing.F) {
	f.Add([]byte{1, 2, 3, 0xc8, 1, 1, 1, 0, 1, 2})
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		ps, err := watermark.ParseControl(b)
		if err != nil {
			require.Nil(t, ps)
			return
		}
		require.Equal(t, b, watermark.AppendControl(nil, ps), "there is one form for each list")
		for _, p := range ps {
			require.True(t, 0 <= p.Task && p.Task < p.Tasks)
		}
	})
}
