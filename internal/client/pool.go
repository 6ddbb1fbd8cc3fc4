package client

import (
	"math/bits"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A pool hands out the records that fetches are decoded into, and takes them
// back when all of a batch have been processed: they are half of what reading
// would otherwise allocate. It is safe for concurrent use.
type pool struct {
	mu   sync.Mutex
	free [maxClass + 1][][]kgo.Record // by the logarithm of their number, rounded up
	kept int                          // records in them
}

const (
	maxClass    = 16      // batches of more records are rare, and not kept
	keepRecords = 1 << 16 // at most so many are
)

// GetRecords implements kgo.PoolRecords.
func (p *pool) GetRecords(n int) []kgo.Record {
	class := bits.Len(uint(max(n, 1) - 1))
	if class > maxClass {
		return make([]kgo.Record, 0, n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if free := p.free[class]; len(free) > 0 {
		recs := free[len(free)-1]
		free[len(free)-1] = nil
		p.free[class] = free[:len(free)-1]
		p.kept -= cap(recs)
		return recs[:0]
	}
	return make([]kgo.Record, 0, 1<<class)
}

// PutRecords implements kgo.PoolRecords.
func (p *pool) PutRecords(recs []kgo.Record) {
	class := bits.Len(uint(max(cap(recs), 1) - 1))
	p.mu.Lock()
	defer p.mu.Unlock()
	if class <= maxClass && cap(recs) == 1<<class && p.kept+cap(recs) <= keepRecords {
		p.free[class] = append(p.free[class], recs)
		p.kept += cap(recs)
	}
}

var _ kgo.PoolRecords = (*pool)(nil)
