package watermark

// Partition tracks the watermark of one source partition: the greatest event time seen, less the strategy's bound.
type Partition struct {
	watermark int64
	high      int64 // watermark + bound; only a greater time moves it. At least None + bound, so that no difference wraps
	bound     int64
	ahead     int64 // 0: no limit
}

// NewPartition returns the tracker of a partition whose watermark stood at committed in the last commit, or None. The
// strategy must be valid.
func NewPartition(s Strategy, committed int64) *Partition {
	p := &Partition{bound: s.BoundMs(), ahead: s.MaxAheadMs()}
	p.Restore(committed)
	return p
}

// Observe takes the event time of the next record into account. Call it after the record was given the watermark that it
// carries, which is the one before it. The watermark never goes back, and no record moves it to [Infinite].
func (p *Partition) Observe(ts int64) {
	if ts > p.high {
		p.high = min(ts, Infinite-1)
		p.watermark = p.high - p.bound
	}
}

// Watermark returns the partition's watermark, None before the first record.
func (p *Partition) Watermark() int64 {
	return p.watermark
}

// TooFarAhead reports whether a record at ts is further ahead of the clock, at now, than the strategy's MaxAhead allows.
// Such a record must not be observed.
func (p *Partition) TooFarAhead(ts, nowMs int64) bool {
	return p.ahead > 0 && ts > satAdd(nowMs, p.ahead)
}

// Restore sets the watermark to w, backwards if need be: after an abort, to what the last commit holds.
func (p *Partition) Restore(w int64) {
	p.watermark = w
	p.high = satAdd(w, p.bound)
}
