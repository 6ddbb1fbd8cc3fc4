package state

// A queue is a first-in, first-out queue of rows.
type queue[V any] struct {
	rows []*Row[V]
	head int
}

func (q *queue[V]) len() int       { return len(q.rows) - q.head }
func (q *queue[V]) peek() *Row[V]  { return q.rows[q.head] }
func (q *queue[V]) push(r *Row[V]) { q.rows = append(q.rows, r) }

func (q *queue[V]) pop() {
	q.rows[q.head] = nil
	q.head++
	if q.head >= 1024 && q.head*2 >= len(q.rows) {
		n := copy(q.rows, q.rows[q.head:])
		clear(q.rows[n:])
		q.rows, q.head = q.rows[:n], 0
	}
}
