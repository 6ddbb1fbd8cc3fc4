package model_test

import (
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/internal/model"
)

// What checks the engine must not be made of it.
func TestImportsNothingOfOurs(t *testing.T) {
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range parsed.Imports {
			require.NotContains(t, i.Path.Value, ".", "%s imports %s: only the standard library is independent", f.Name(), i.Path.Value)
		}
	}
}

func record(p int, key string, time int64, id int) model.Event {
	return model.Event{Partition: p, Key: key, Time: time, ID: id}
}

// The model itself is held against windows worked out by hand.
func TestByHand(t *testing.T) {
	tumbling := model.Windows{Size: 10, Advance: 10, Grace: 5}
	for name, c := range map[string]struct {
		setup  model.Setup
		events []model.Event
		want   model.Outcome
	}{
		"a record is late when end and grace have passed": {
			model.Setup{Windows: tumbling, Partitions: 1},
			[]model.Event{record(0, "k", -1, 1), record(0, "x", 4, 2), record(0, "k", -3, 3), record(0, "x", 5, 4), record(0, "k", -2, 5)},
			model.Outcome{
				Finals: []model.Window{{0, "k", -10, 0, []int{1, 3}}}, Open: []model.Window{{0, "x", 0, 10, []int{2, 4}}},
				Late: []int{5}, Missed: 1,
			},
		},
		"a record can miss some of its windows": {
			model.Setup{Windows: model.Windows{Size: 10, Advance: 5, Offset: 1}, Partitions: 1},
			[]model.Event{record(0, "k", 12, 1), record(0, "k", 7, 2)},
			model.Outcome{
				Open:   []model.Window{{0, "k", 6, 16, []int{1, 2}}, {0, "k", 11, 21, []int{1}}},
				Missed: 1,
			},
		},
		"a session joins at exactly one gap and closes one later": {
			model.Setup{Windows: model.Windows{Gap: 5}, Partitions: 1},
			[]model.Event{record(0, "k", 0, 1), record(0, "k", 5, 2), record(0, "k", 11, 3)},
			model.Outcome{Finals: []model.Window{{0, "k", 0, 6, []int{1, 2}}}, Open: []model.Window{{0, "k", 11, 12, []int{3}}}},
		},
		"the slowest partition closes, its own partition judges": {
			model.Setup{Windows: model.Windows{Size: 10, Advance: 10}, Partitions: 2, Regrouped: true},
			[]model.Event{record(0, "k", 20, 1), record(0, "k", 3, 2), record(1, "k", 3, 3), record(1, "k", 15, 4)},
			model.Outcome{
				Finals: []model.Window{{-1, "k", 0, 10, []int{3}}}, Open: []model.Window{{-1, "k", 10, 20, []int{4}}, {-1, "k", 20, 30, []int{1}}},
				Late: []int{2}, Missed: 1,
			},
		},
		"what was closed for want of an idle partition is late for it": {
			model.Setup{Windows: model.Windows{Size: 10, Advance: 10}, Partitions: 2, Regrouped: true, Idle: 100},
			[]model.Event{{Kind: model.Sleep, Time: 60}, record(0, "k", 20, 1), {Kind: model.Sleep, Time: 40}, record(1, "k", 3, 2)},
			model.Outcome{Open: []model.Window{{-1, "k", 20, 30, []int{1}}}, Late: []int{2}, Missed: 1},
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, model.Run(c.setup, c.events, false)) })
	}
}
