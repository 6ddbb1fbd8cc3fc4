package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestPoolGivesBackWhatFits(t *testing.T) {
	var p pool
	first := p.GetRecords(100)
	require.Equal(t, 0, len(first))
	require.Equal(t, 128, cap(first))
	first = append(first, kgo.Record{Topic: "t"})
	p.PutRecords(first)
	require.Equal(t, 64, cap(p.GetRecords(64)), "a smaller batch does not take the larger slice")
	again := p.GetRecords(128)
	require.Same(t, &first[0], &again[:1][0])
	require.NotSame(t, &first[0], &p.GetRecords(128)[:1][0], "it is given once")
	require.Zero(t, p.kept)
}

func TestPoolIsBounded(t *testing.T) {
	var p pool
	p.PutRecords(make([]kgo.Record, 0, 100)) // it came from elsewhere
	require.Zero(t, p.kept)
	require.Equal(t, keepRecords+1, cap(p.GetRecords(keepRecords+1)))
	for range 3 {
		p.PutRecords(make([]kgo.Record, 0, keepRecords/2))
	}
	require.Equal(t, keepRecords, p.kept)
	require.Equal(t, 1, cap(p.GetRecords(0)))
}
