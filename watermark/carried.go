package watermark

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Records that cross a repartition topic carry, in a header, the watermark that their source partition had before them.
// Its value is a number in base 128, least bits first, whose top bit in each byte but the last is set. The lowest two of
// its bits are flags; the others are the record's time less the watermark, zigzag-coded. That takes one to three bytes
// for a record within minutes of its partition's watermark.
const (
	carriedNone     = 1 << 0 // there is no watermark; the difference is left at zero
	carriedMinusOne = 1 << 1 // the record's time is -1, and Kafka was told 0

	carriedFlags = 2                // bits
	carriedFirst = 7 - carriedFlags // bits of the difference in the first byte
)

// noTimestamp is what Kafka calls a record without a timestamp. To us it is a time: one millisecond before the epoch.
const noTimestamp = -1

// KafkaTime returns the timestamp with which a record at ts is written to an internal topic. That is ts itself, except
// that Kafka takes -1 for "no timestamp": such a record is written at 0, and its header says so.
func KafkaTime(ts int64) int64 {
	if ts == noTimestamp {
		return 0
	}
	return ts
}

// AppendCarried appends the value of the header of a record at ts that carries the given watermark. The record must be
// written with the timestamp KafkaTime(ts).
func AppendCarried(dst []byte, ts, carried int64) []byte {
	var flags byte
	if ts == noTimestamp {
		flags |= carriedMinusOne
	}
	if carried == None {
		return append(dst, flags|carriedNone)
	}
	diff := zigzag(ts - carried) // it may wrap, and unwraps when it is read
	first := flags | byte(diff<<carriedFlags)&0x7f
	if diff >>= carriedFirst; diff == 0 {
		return append(dst, first)
	}
	return binary.AppendUvarint(append(dst, first|0x80), diff)
}

// ParseCarried reads the header of a record that has the timestamp kafkaTs in the topic, and returns the record's true
// time and the watermark it carries. It accepts exactly what [AppendCarried] writes.
func ParseCarried(b []byte, kafkaTs int64) (ts, carried int64, err error) {
	if len(b) == 0 {
		return 0, 0, errors.New("watermark: header of the carried watermark is empty")
	}
	first := b[0]
	diff := uint64(first&0x7f) >> carriedFlags
	r := reader{b: b[1:]}
	if first&0x80 != 0 {
		rest := r.uvarint()
		r.bad = r.bad || rest == 0 || rest > 1<<(64-carriedFirst)-1
		diff |= rest << carriedFirst
	}
	if r.bad || len(r.b) > 0 || first&carriedNone != 0 && diff != 0 {
		return 0, 0, fmt.Errorf("watermark: header of the carried watermark is damaged: %x", b)
	}
	if ts, err = trueTime(first, kafkaTs); err != nil {
		return 0, 0, err
	}
	if first&carriedNone != 0 {
		return ts, None, nil
	}
	if carried = ts - unzigzag(diff); carried == None {
		return 0, 0, fmt.Errorf("watermark: header of the carried watermark is damaged: %x", b)
	}
	return ts, carried, nil
}

// trueTime returns the time of a record from the flags of its header and its timestamp in the topic.
func trueTime(flags byte, kafkaTs int64) (int64, error) {
	switch {
	case flags&carriedMinusOne == 0 && kafkaTs == noTimestamp:
		return 0, errors.New("watermark: a record of an internal topic has no timestamp; it was not written by this program")
	case flags&carriedMinusOne == 0:
		return kafkaTs, nil
	case kafkaTs != 0:
		return 0, fmt.Errorf("watermark: a record of an internal topic has the timestamp %d where 0 was written; "+
			"the topic must keep CreateTime", kafkaTs)
	default:
		return noTimestamp, nil
	}
}
