package watermark_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weirstream/weir/watermark"
)

// naive is a Merge that looks at every input each time.
type naive struct {
	inputs []int64
	idle   []bool
	at     int64
}

func newNaive(n int, committed int64) *naive {
	m := &naive{inputs: make([]int64, n), idle: make([]bool, n), at: committed}
	for i := range m.inputs {
		m.inputs[i] = watermark.None
	}
	return m
}

func (m *naive) move() {
	least := watermark.Infinite
	for i, w := range m.inputs {
		if !m.idle[i] {
			least = min(least, w)
		}
	}
	if !m.allIdle() {
		m.at = max(m.at, least)
	}
}

func (m *naive) allIdle() bool {
	for _, idle := range m.idle {
		if !idle {
			return false
		}
	}
	return true
}

// holds reports whether input i is one that no other active input is behind.
func (m *naive) holds(i int) bool {
	for j, w := range m.inputs {
		if !m.idle[j] && w < m.inputs[i] {
			return false
		}
	}
	return !m.idle[i]
}

func TestMergeMatchesNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 9).Draw(t, "inputs")
		mark := rapid.OneOf(rapid.Int64Range(-20, 20), rapid.SampledFrom([]int64{watermark.None, watermark.Infinite}))
		committed := mark.Draw(t, "committed")
		got, want := watermark.NewMerge(n, committed), newNaive(n, committed)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
			case kind == 0:
				to := rapid.Int64Range(-20, 20).Draw(t, "to")
				got.Advance(to)
				want.at = max(want.at, to)
			case n == 0:
			case kind < 4:
				i, idle := rapid.IntRange(0, n-1).Draw(t, "i"), rapid.Bool().Draw(t, "idle")
				got.SetIdle(i, idle)
				want.idle[i] = idle
				want.move()
			default:
				i, w := rapid.IntRange(0, n-1).Draw(t, "i"), mark.Draw(t, "w")
				got.Set(i, w)
				want.inputs[i] = w
				want.move()
			}
			require.Equal(t, want.at, got.Watermark())
			require.Equal(t, want.allIdle(), got.Idle())
			if holder := got.Holder(); holder >= 0 {
				require.True(t, want.holds(holder))
			} else {
				require.True(t, want.allIdle())
			}
		}
	})
}

func TestMergeOfManyInputsMatchesNaive(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int{1, 2, 3, 64, 100, 1000} {
		got, want := watermark.NewMerge(n, watermark.None), newNaive(n, watermark.None)
		for step := range 3 * n {
			i, w := rng.IntN(n), int64(step)+rng.Int64N(50)
			got.Set(i, w)
			want.inputs[i] = w
			if rng.IntN(10) == 0 {
				idle := rng.IntN(2) == 0
				got.SetIdle(i, idle)
				want.move()
				want.idle[i] = idle
			}
			want.move()
			require.Equal(t, want.at, got.Watermark(), "seed %d, %d inputs, step %d", seed, n, step)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{1, 8, 100, 1000} {
		for _, order := range []string{"slowest", "others"} {
			b.Run(fmt.Sprintf("%s of %d", order, n), func(b *testing.B) {
				b.ReportAllocs()
				m := watermark.NewMerge(n, watermark.None)
				for i := range n {
					m.Set(i, int64(i))
				}
				at := int64(n)
				for b.Loop() {
					i := int(at) % n
					if order == "others" {
						i = n - 1 - i%max(n/2, 1) // input 0 holds the minimum and never moves
					}
					m.Set(i, at)
					at++
				}
			})
		}
	}
}
