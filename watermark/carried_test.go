package watermark_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weirstream/weir/watermark"
)

func TestCarriedRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ts := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Custom(func(t *rapid.T) int64 { return drawTime(t, "any") })).Draw(t, "ts")
		carried := rapid.OneOf(
			rapid.Just(watermark.None),
			rapid.Map(rapid.Int64Range(-100_000, 100_000), func(d int64) int64 { return ts - d }),
			rapid.Custom(func(t *rapid.T) int64 { return drawTime(t, "any") }),
		).Draw(t, "carried")
		b := watermark.AppendCarried([]byte("head"), ts, carried)
		require.Equal(t, "head", string(b[:4]))
		require.NotEqual(t, int64(-1), watermark.KafkaTime(ts))
		gotTs, gotCarried, err := watermark.ParseCarried(b[4:], watermark.KafkaTime(ts))
		require.NoError(t, err)
		require.Equal(t, []int64{ts, carried}, []int64{gotTs, gotCarried})
		for cut := range b[4:] {
			_, _, err := watermark.ParseCarried(b[4:4+cut], watermark.KafkaTime(ts))
			require.Error(t, err)
		}
	})
}

// The bytes are kept in topics and must not change. Most records take one to three of them.
func TestCarriedBytes(t *testing.T) {
	const now = 1_774_000_000_000
	for _, c := range []struct {
		ts, carried int64
		want        []byte
	}{
		{now, now, []byte{0}},
		{now, now - 15, []byte{30 << 2}},
		{now, now + 16, []byte{31 << 2}},
		{now, now - 16, []byte{0x80, 1}},
		{now, now - 10_000, []byte{0x80, 0xf1, 0x04}},
		{now, now - 262_143, []byte{0xf8, 0xff, 0x7f}},
		{now, watermark.None, []byte{1}},
		{-1, watermark.None, []byte{3}},
		{-1, -2, []byte{2 | 2<<2}},
		{0, watermark.None + 1, []byte{0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x07}}, // the greatest difference
	} {
		require.Equal(t, c.want, watermark.AppendCarried(nil, c.ts, c.carried), "%+v", c)
		ts, carried, err := watermark.ParseCarried(c.want, watermark.KafkaTime(c.ts))
		require.NoError(t, err)
		require.Equal(t, []int64{c.ts, c.carried}, []int64{ts, carried})
	}
	require.LessOrEqual(t, len(watermark.AppendCarried(nil, now, watermark.Infinite)), 10)
}

func TestKafkaTime(t *testing.T) {
	for _, ts := range []int64{-2, 0, 1, 1_774_000_000_000} {
		require.Equal(t, ts, watermark.KafkaTime(ts))
	}
	require.Zero(t, watermark.KafkaTime(-1))
}

func TestCarriedRefusesDamage(t *testing.T) {
	for _, c := range []struct {
		b     []byte
		kafka int64
		want  string
	}{
		{nil, 0, "is empty"},
		{[]byte{0}, -1, "has no timestamp"},
		{[]byte{1}, -1, "has no timestamp"},
		{[]byte{2}, 5, "has the timestamp 5 where 0 was written"},
		{[]byte{2}, -1, "has the timestamp -1 where 0 was written"},
		{[]byte{0, 0}, 0, "damaged: 0000"},
		{[]byte{0x80}, 0, "damaged"},
		{[]byte{0x80, 0}, 0, "damaged"},
		{[]byte{5}, 0, "damaged"},
		{[]byte{0x81, 1}, 0, "damaged"},
		{[]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x08}, 0, "damaged"}, // a difference of 65 bits
		{[]byte{0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x07}, 0, "damaged"}, // None without its flag
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f}, 0, "damaged"},
	} {
		ts, carried, err := watermark.ParseCarried(c.b, c.kafka)
		require.ErrorContains(t, err, c.want, "%x", c.b)
		require.Zero(t, ts)
		require.Zero(t, carried)
	}
}

func FuzzParseCarried(f *testing.F) {
	f.Add([]byte{0x80, 0xf1, 0x04}, int64(1_774_000_000_000))
	f.Add([]byte{3}, int64(0))
	f.Fuzz(func(t *testing.T, b []byte, kafka int64) {
		ts, carried, err := watermark.ParseCarried(b, kafka)
		if err != nil {
			require.Zero(t, ts)
			require.Zero(t, carried)
			return
		}
		require.Equal(t, b, watermark.AppendCarried(nil, ts, carried), "there is one form for each pair")
		require.Equal(t, kafka, watermark.KafkaTime(ts))
	})
}

func BenchmarkCarried(b *testing.B) {
	b.ReportAllocs()
	buf := make([]byte, 0, 16)
	ts := int64(1_774_000_000_000)
	for b.Loop() {
		ts++
		buf = watermark.AppendCarried(buf[:0], ts, ts-10_000)
		if _, _, err := watermark.ParseCarried(buf, ts); err != nil {
			b.Fatal(err)
		}
	}
}
