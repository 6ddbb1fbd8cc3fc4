package serde

import (
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"fmt"
	"reflect"
	"sync"
)

// JSON returns a serde that writes and reads what encoding/json's Marshal and Unmarshal do, with the same struct tags. Decode
// ignores object members that T has no field for. Unexported fields and values behind interfaces do not come back as they were.
func JSON[T any]() Serde[T] {
	return &jsonSerde[T]{slots: sync.Pool{New: func() any { return new(jsonSlot[T]) }}}
}

type jsonSerde[T any] struct{ slots sync.Pool }

// A jsonSlot is where a value stays while it is encoded or decoded. The encoder takes a pointer, and a pointer to a parameter or
// result would cost an allocation each time.
type jsonSlot[T any] struct {
	value T
	out   appender
}

// jsonLikeV1 makes json/v2, which can write into a buffer of ours, write the bytes of encoding/json's Marshal.
var jsonLikeV1 = json.DefaultOptionsV1()

func (s *jsonSerde[T]) Append(dst []byte, v T) ([]byte, error) {
	slot := s.slots.Get().(*jsonSlot[T])
	slot.value, slot.out.buf = v, dst
	err := jsonv2.MarshalWrite(&slot.out, &slot.value, jsonLikeV1)
	out := slot.out.buf
	s.release(slot)
	if err != nil {
		return dst, fmt.Errorf("serde: JSON of %v: %w", reflect.TypeFor[T](), err)
	}
	return out, nil
}

func (s *jsonSerde[T]) Decode(src []byte) (v T, err error) {
	defer recovered(&err, "JSON", reflect.TypeFor[T](), len(src))
	slot := s.slots.Get().(*jsonSlot[T])
	defer s.release(slot)
	if err := json.Unmarshal(src, &slot.value); err != nil {
		return v, decodeError("JSON", reflect.TypeFor[T](), len(src), err)
	}
	return slot.value, nil
}

// release empties the slot, so that the pool keeps nothing of its user's alive, and gives it back.
func (s *jsonSerde[T]) release(slot *jsonSlot[T]) {
	*slot = jsonSlot[T]{}
	s.slots.Put(slot)
}

func (s *jsonSerde[T]) Describe() string { return "json" }
