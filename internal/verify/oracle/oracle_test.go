package oracle_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/internal/verify/oracle"
)

var count = oracle.Fold[int, int]{
	Add:   func(n, _ int, _ bool) int { return n + 1 },
	Merge: func(a, b int) int { return a + b },
	Text:  strconv.Itoa,
}

// at makes records of one partition at those times.
func at(key string, times ...int64) (records []oracle.Record[int]) {
	for _, ms := range times {
		records = append(records, oracle.Record[int]{Key: key, Time: ms})
	}
	oracle.Carry(records, 0)
	return records
}

func TestCarry(t *testing.T) {
	records := []oracle.Record[int]{{Time: 10}, {Time: 5}, {Time: 30, Partition: 1}, {Time: 20}, {Time: 20}, {Time: 1, Partition: 1}}
	oracle.Carry(records, 3)
	var carried []int64
	for _, r := range records {
		carried = append(carried, r.Carried)
	}
	require.Equal(t, []int64{math.MinInt64, 7, math.MinInt64, 7, 17, 27}, carried)
}

// The answers are those of the cases of other engines' bugs.
func TestTumblingByHand(t *testing.T) {
	h, late := oracle.Tumbling(at("k", -11, -10, -1, 0, 9, 10), 10, 0, count)
	require.Equal(t, oracle.History{
		"k|-20|-10": {"1"}, "k|-10|0": {"1", "2"}, "k|0|10": {"1", "2"}, "k|10|20": {"1"},
	}, h)
	require.Zero(t, late)
	h, late = oracle.Tumbling(at("k", 0, 14, 3, 15, 4), 10, 5, count)
	require.Equal(t, oracle.History{"k|0|10": {"1", "2"}, "k|10|20": {"1", "2"}}, h)
	require.Equal(t, 1, late)
}

func TestSessionsByHand(t *testing.T) {
	h, late, err := oracle.Sessions(at("k", 0, 10, 5, 7), 5, 100, count)
	require.NoError(t, err)
	require.Zero(t, late)
	require.Equal(t, oracle.History{
		"k|0|1": {"1", oracle.Gone}, "k|10|11": {"1", oracle.Gone}, "k|0|11": {"3", "4"},
	}, h)
	require.Equal(t, oracle.History{"k|0|11": {"4"}}, h.Last())
	_, late, err = oracle.Sessions(at("k", 0, 100, 3), 5, 0, count)
	require.NoError(t, err)
	require.Equal(t, 1, late)
	_, _, err = oracle.Sessions(at("k", 0, 101, 5), 10, 90, count)
	require.ErrorContains(t, err, "may be closed")
}

// A mutant is a change of what was read that the comparison must see.
type mutant struct {
	name   string
	change func(values []string, i int) []string
}

var mutants = []mutant{
	{"drop", func(v []string, i int) []string { return slices.Delete(v, i, i+1) }},
	{"double", func(v []string, i int) []string { return slices.Insert(v, i, v[i]) }},
	{"swap", func(v []string, i int) []string {
		j := (i + 1) % len(v)
		v[i], v[j] = v[j], v[i]
		return v
	}},
	{"change", func(v []string, i int) []string { v[i] = "x" + v[i]; return v }},
	// An aborted record is one that is written again by whoever takes over.
	{"use an aborted one", func(v []string, i int) []string { return slices.Insert(v, min(i+1, len(v)), v[i]) }},
}

func clone(h oracle.History) oracle.History {
	c := oracle.History{}
	for k, v := range h {
		c[k] = slices.Clone(v)
	}
	return c
}

// places are the head, the middle and the tail.
func places(n int) []int { return []int{0, n / 2, n - 1} }

func TestSameSeesEveryMutant(t *testing.T) {
	want := oracle.History{}
	for k := range 3 {
		for i := range 9 {
			key := fmt.Sprint("k", k)
			want[key] = append(want[key], fmt.Sprint(k, i))
		}
	}
	require.NoError(t, want.Same(clone(want)))
	for _, m := range mutants {
		for k := range want {
			for _, i := range places(9) {
				got := clone(want)
				got[k] = m.change(got[k], i)
				require.Error(t, want.Same(got), "%s, key %s, value %d", m.name, k, i)
			}
		}
	}
	for k := range want { // a whole key
		got := clone(want)
		delete(got, k)
		require.Error(t, want.Same(got))
		got = clone(want)
		got["other"] = got[k]
		require.Error(t, want.Same(got))
	}
	require.Error(t, want.Same(oracle.History{}))
	require.Error(t, oracle.History{}.Same(want))
}

// Of coalesced updates some are missing rightly, but never the last; all others
// have their order, and come once.
func TestCoalescedSeesEveryMutant(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	for range 200 {
		want, got := oracle.History{}, oracle.History{}
		for i := range 20 {
			want["k"] = append(want["k"], fmt.Sprint(i))
			if i == 19 || rng.IntN(3) == 0 {
				got["k"] = append(got["k"], fmt.Sprint(i))
			}
		}
		require.NoError(t, want.Coalesced(got))
		n := len(got["k"])
		for _, m := range mutants {
			for _, i := range places(n) {
				if m.name == "drop" && i < n-1 || m.name == "swap" && n == 1 {
					continue // no fault: it could have been coalesced
				}
				bad := clone(got)
				bad["k"] = m.change(bad["k"], i)
				require.Error(t, want.Coalesced(bad), "%s, value %d of %v", m.name, i, got["k"])
			}
		}
	}
}

func TestCoalescedOfWhatGoes(t *testing.T) {
	want := oracle.History{"came and went": {"1", "2", oracle.Gone}, "stays": {"1"}}
	for _, good := range [][]string{nil, {"1", oracle.Gone}, {"2", oracle.Gone}, {"1", "2", oracle.Gone}} {
		require.NoError(t, want.Coalesced(oracle.History{"came and went": good, "stays": {"1"}}), "%v", good)
	}
	for _, bad := range [][]string{{"1"}, {"1", "2"}, {oracle.Gone}, {"2", "1", oracle.Gone}, {"1", oracle.Gone,
		oracle.Gone}, {"1", oracle.Gone, "2"}} {
		require.Error(t, want.Coalesced(oracle.History{"came and went": bad, "stays": {"1"}}), "%v", bad)
	}
	require.Error(t, want.Coalesced(oracle.History{}))
	require.Error(t, want.Coalesced(oracle.History{"stays": {"1"}, "never was": {"1"}}))
}
