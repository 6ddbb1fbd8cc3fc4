package watermark

// Merge combines the watermarks of a task's inputs: the minimum over those that are not idle. The result never goes back
// and never falls below the committed watermark. While all inputs are idle it stays, unless told to [Merge.Advance].
//
// The minimum is kept in a tournament, so that one input's progress costs a few comparisons, also if it was the slowest.
type Merge struct {
	tree      []int64 // tree[inputs+i] is input i, or Infinite if it is idle; tree[j] = min(tree[2j], tree[2j+1])
	inputs    []input
	active    int // inputs that are not idle
	watermark int64
}

// input is what was last said about one input.
type input struct {
	watermark int64
	idle      bool
}

// NewMerge returns a Merge of the given number of inputs, numbered from zero, that stands at committed, the task's
// watermark in the last commit or None. Each input starts at None, not idle, and holds the result until it is set.
// A Merge of no inputs stays where it is and counts as idle.
func NewMerge(inputs int, committed int64) *Merge {
	m := &Merge{tree: make([]int64, 2*inputs), inputs: make([]input, inputs), active: inputs, watermark: committed}
	for i := range m.tree {
		m.tree[i] = None
	}
	for i := range m.inputs {
		m.inputs[i].watermark = None
	}
	return m
}

// Set says that the watermark of input i is now w. It is remembered, but without effect, while the input is idle.
func (m *Merge) Set(i int, w int64) {
	in := &m.inputs[i]
	if in.watermark == w {
		return
	}
	in.watermark = w
	if !in.idle {
		m.play(i, w)
	}
}

// SetIdle says whether input i is idle. An input that is no longer idle takes part with its last watermark.
func (m *Merge) SetIdle(i int, idle bool) {
	in := &m.inputs[i]
	if in.idle == idle {
		return
	}
	in.idle = idle
	if idle {
		m.active--
		m.play(i, Infinite)
	} else {
		m.active++
		m.play(i, in.watermark)
	}
}

// play puts w into the leaf of input i, replays its matches up to the first whose winner stays, and moves the result.
func (m *Merge) play(i int, w int64) {
	node := len(m.inputs) + i
	m.tree[node] = w
	for node > 1 {
		node /= 2
		w = min(m.tree[2*node], m.tree[2*node+1])
		if m.tree[node] == w {
			break
		}
		m.tree[node] = w
	}
	if m.active > 0 {
		m.watermark = max(m.watermark, m.tree[1])
	}
}

// Watermark returns the watermark of the task.
func (m *Merge) Watermark() int64 {
	return m.watermark
}

// Idle reports whether all inputs are idle.
func (m *Merge) Idle() bool {
	return m.active == 0
}

// Advance moves the watermark on to the given one, if that is ahead, whatever the inputs say: for time that runs on with
// the clock while all inputs are idle, and for the end of a bounded run.
func (m *Merge) Advance(to int64) {
	m.watermark = max(m.watermark, to)
}

// Holder returns the number of an input that is not idle and has the least watermark, the one that holds the others
// back, or -1 if all are idle.
func (m *Merge) Holder() int {
	if m.active == 0 {
		return -1
	}
	holder := -1
	for i, in := range m.inputs {
		if !in.idle && (holder < 0 || in.watermark < m.inputs[holder].watermark) {
			holder = i
		}
	}
	return holder
}
