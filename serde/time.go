package serde

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Time is the serde of times: milliseconds since the epoch as eight bytes, big-endian, the same as Int64 of v.UnixMilli(). What
// is finer than a millisecond is cut off, towards the past, and times come back in UTC. Use MsgPack[time.Time] to keep
// nanoseconds.
var Time timeSerde

type timeSerde struct{}

func (timeSerde) Append(dst []byte, v time.Time) ([]byte, error) {
	// UnixMilli overflows silently some 292 million years away.
	if s := v.Unix(); s >= math.MaxInt64/1000 || s <= math.MinInt64/1000 {
		return dst, fmt.Errorf("serde: time with second %d since the epoch does not fit into 64 bits of milliseconds", s)
	}
	return binary.BigEndian.AppendUint64(dst, uint64(v.UnixMilli())), nil
}

func (timeSerde) Decode(src []byte) (time.Time, error) {
	if len(src) != 8 {
		return time.Time{}, sizeError("time", len(src), 8)
	}
	ms := int64(binary.BigEndian.Uint64(src))
	v := time.UnixMilli(ms).UTC()
	if s := v.Unix(); s >= math.MaxInt64/1000 || s <= math.MinInt64/1000 {
		return time.Time{}, fmt.Errorf("serde: time of %d ms since the epoch is out of range", ms)
	}
	return v, nil
}

func (timeSerde) Describe() string { return "time-ms" }
func (timeSerde) canonical() bool  { return true }
