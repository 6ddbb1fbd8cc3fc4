package serde

import (
	"fmt"
	"reflect"

	"github.com/vmihailenco/msgpack/v5"
)

// Default returns the serde of a type that nobody chose one for: what state and internal topics use.
//
//   - string, []byte, bool, int32, int64, float64, uuid.UUID, and other types of those kinds, also int, uint32 and uint64: the
//     built-in of that kind
//   - protocol buffer messages: [Protobuf]
//   - all else: [MsgPack]
//
// State is written and read back at moments that the engine chooses, so a value must come back whole, or results would depend
// on those moments. Default therefore refuses types that MessagePack would lose a part of, with an error that names each part:
// unexported fields and fields with the tag "-", interfaces, functions, channels, embedded pointers, pointers to pointers, and
// the like. A type whose own methods encode it (see [MsgPack]) is taken at its word. Times come back as the same instant in UTC.
func Default[T any]() (Serde[T], error) {
	t := reflect.TypeFor[T]()
	for _, s := range [...]any{String, Bytes, Bool, Int32, Int64, Float64, UUID} {
		if s, ok := s.(Serde[T]); ok {
			return s, nil
		}
	}
	if t.Kind() != reflect.Interface && t.Implements(messageType) {
		return newProtobuf[T](), nil
	}
	if s := ofKind[T](); s != nil && !encodesAsMsgpack(t) {
		return s, nil
	}
	if hasOwnMsgpack(t) {
		return MsgPack[T](), nil
	}
	if err := refusal(t); err != nil {
		return nil, err
	}
	return MsgPack[T](), nil
}

// encodesAsMsgpack reports whether t has methods that are about MessagePack alone.
func encodesAsMsgpack(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return hasOwnMsgpack(t) || p.Implements(reflect.TypeFor[msgpack.CustomEncoder]()) || p.Implements(reflect.TypeFor[msgpack.Marshaler]())
}

// refusal returns why t has no default serde, or nil.
func refusal(t reflect.Type) error {
	if t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(messageType) {
		return fmt.Errorf("serde: no default for %v: it is a protocol buffer message, which must not be copied; use *%v", t, t)
	}
	if err := check(t).err(); err != nil {
		return fmt.Errorf("serde: no default for %v, because it would not come back whole:\n%w\n"+
			"Change the type, give it methods EncodeMsgpack and DecodeMsgpack, or choose a serde for it", t, err)
	}
	return nil
}
