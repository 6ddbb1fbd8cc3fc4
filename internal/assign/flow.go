package assign

import "math"

// A network finds integer flows of least cost. It serves quotas, whose networks have a few hundred nodes and thousands of arcs.
type network struct {
	arcs []arc
	out  [][]int // by node: its arcs' indexes; arc i and i^1 are each other's reverse
	dist []int64
	done []bool
}

// An arc may carry room more units to a node, each at a cost.
type arc struct {
	to   int
	room int
	cost int64
}

func newNetwork(nodes int) *network {
	return &network{out: make([][]int, nodes), dist: make([]int64, nodes), done: make([]bool, nodes)}
}

// connect adds an arc and returns its index; carried tells later how much went through it. The arcs' costs may be negative as long
// as the arcs form no cycle.
func (n *network) connect(from, to, room int, cost int64) int {
	i := len(n.arcs)
	n.arcs = append(n.arcs, arc{to, room, cost}, arc{from, 0, -cost})
	n.out[from] = append(n.out[from], i)
	n.out[to] = append(n.out[to], i+1)
	return i
}

// carried returns how many units flow through an arc.
func (n *network) carried(i int) int { return n.arcs[i^1].room }

// run sends as much as possible from source to sink, at the least cost for that amount. It repeats the textbook step of widening
// the flow along cheapest paths, taking all paths of one length in one sweep.
func (n *network) run(source, sink int) {
	for n.measure(source); n.dist[sink] != math.MaxInt64; n.measure(source) {
		for sent := 1; sent > 0; {
			clear(n.done)
			sent = n.push(source, sink, math.MaxInt)
		}
	}
}

// measure sets every node's cheapest distance from source (Bellman-Ford with a queue, since costs may be negative).
func (n *network) measure(source int) {
	for i := range n.dist {
		n.dist[i] = math.MaxInt64
	}
	n.dist[source] = 0
	queued := make([]bool, len(n.out))
	for queue := []int{source}; len(queue) > 0; queue = queue[1:] {
		node := queue[0]
		queued[node] = false
		for _, i := range n.out[node] {
			a := n.arcs[i]
			if a.room == 0 || n.dist[node]+a.cost >= n.dist[a.to] {
				continue
			}
			n.dist[a.to] = n.dist[node] + a.cost
			if !queued[a.to] {
				queued[a.to] = true
				queue = append(queue, a.to)
			}
		}
	}
}

// push sends up to limit units from node to sink along arcs that lie on cheapest paths, and returns how many got there. A node is
// entered once per sweep, which also keeps it out of cycles that cost nothing.
func (n *network) push(node, sink, limit int) int {
	if node == sink {
		return limit
	}
	n.done[node] = true
	sent := 0
	for _, i := range n.out[node] {
		a := &n.arcs[i]
		if sent == limit {
			break
		}
		if a.room == 0 || n.done[a.to] || n.dist[a.to] != n.dist[node]+a.cost {
			continue
		}
		got := n.push(a.to, sink, min(limit-sent, a.room))
		a.room -= got
		n.arcs[i^1].room += got
		sent += got
	}
	return sent
}
