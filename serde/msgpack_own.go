package serde

import (
	"fmt"
	"reflect"
	"sync"
)

// The methods by which a type encodes itself, as tinylib/msgp generates them.
type (
	msgMarshaler   interface{ MarshalMsg([]byte) ([]byte, error) }
	msgUnmarshaler interface{ UnmarshalMsg([]byte) ([]byte, error) }
)

var (
	msgMarshalerType   = reflect.TypeFor[msgMarshaler]()
	msgUnmarshalerType = reflect.TypeFor[msgUnmarshaler]()
)

// ownMsgpack returns the serde of a type that encodes itself, or nil.
func ownMsgpack[T any]() Serde[T] {
	t := reflect.TypeFor[T]()
	if !hasOwnMsgpack(t) {
		return nil
	}
	s := &ownMsgpackSerde[T]{typ: t}
	if t.Kind() == reflect.Pointer {
		s.elem = t.Elem()
	}
	s.slots.New = func() any { return new(T) }
	return s
}

// hasOwnMsgpack reports whether t, or a pointer to it, encodes itself.
func hasOwnMsgpack(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false
	}
	p, elem := t, t
	if t.Kind() == reflect.Pointer {
		elem = t.Elem()
	} else {
		p = reflect.PointerTo(t)
	}
	return p.Implements(msgMarshalerType) && p.Implements(msgUnmarshalerType) &&
		!promoted(elem, marshalMsgOf) && !promoted(elem, unmarshalMsgOf)
}

type ownMsgpackSerde[T any] struct {
	typ   reflect.Type
	elem  reflect.Type // what T points to, or nil
	slots sync.Pool    // of *T, zero
}

// msgpackNil is how a nil pointer is written.
const msgpackNil = 0xc0

func (s *ownMsgpackSerde[T]) Append(dst []byte, v T) ([]byte, error) {
	var out []byte
	var err error
	if s.elem != nil {
		if reflect.ValueOf(v).IsNil() {
			return append(dst, msgpackNil), nil
		}
		out, err = any(v).(msgMarshaler).MarshalMsg(dst)
	} else {
		slot := s.slots.Get().(*T)
		*slot = v
		out, err = any(slot).(msgMarshaler).MarshalMsg(dst)
		s.release(slot)
	}
	if err != nil {
		return dst, fmt.Errorf("serde: MarshalMsg of %v: %w", s.typ, err)
	}
	return out, nil
}

func (s *ownMsgpackSerde[T]) Decode(src []byte) (v T, err error) {
	defer recovered(&err, "MessagePack", s.typ, len(src))
	if s.elem != nil {
		if len(src) == 1 && src[0] == msgpackNil {
			return v, nil
		}
		p := reflect.New(s.elem).Interface()
		if err := s.unmarshal(p.(msgUnmarshaler), src); err != nil {
			return v, err
		}
		return p.(T), nil
	}
	slot := s.slots.Get().(*T)
	defer s.release(slot)
	if err := s.unmarshal(any(slot).(msgUnmarshaler), src); err != nil {
		return v, err
	}
	return *slot, nil
}

func (s *ownMsgpackSerde[T]) unmarshal(u msgUnmarshaler, src []byte) error {
	rest, err := u.UnmarshalMsg(src)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes trail it", len(rest))
	}
	if err != nil {
		return decodeError("MessagePack", s.typ, len(src), err)
	}
	return nil
}

func (s *ownMsgpackSerde[T]) release(slot *T) {
	var zero T
	*slot = zero
	s.slots.Put(slot)
}

func (s *ownMsgpackSerde[T]) Describe() string { return "msgpack-own" }
