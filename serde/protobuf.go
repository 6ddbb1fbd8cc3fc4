package serde

import (
	"errors"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"
)

// Protobuf returns a serde of the protocol buffer message T, a pointer type such as *orderpb.Order. Fields that T does not know
// are kept. Map fields are written in order of their keys, so that equal messages have equal bytes within one version of a
// program. A nil message is refused: a record without a value is a tombstone.
func Protobuf[T proto.Message]() Serde[T] { return newProtobuf[T]() }

var messageType = reflect.TypeFor[proto.Message]()

// newProtobuf is Protobuf for a T that is only known to be a message at run time.
func newProtobuf[T any]() Serde[T] {
	s := &protobufSerde[T]{}
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Pointer {
		s.empty, _ = reflect.New(t.Elem()).Interface().(proto.Message)
	}
	return s
}

type protobufSerde[T any] struct{ empty proto.Message } // nil if T is no concrete message

var (
	errNilMessage = errors.New("the message is nil; to delete a key, forward a tombstone")
	writeProto    = proto.MarshalOptions{Deterministic: true}
)

func (s *protobufSerde[T]) Append(dst []byte, v T) ([]byte, error) {
	m, ok := any(v).(proto.Message)
	if !ok || !m.ProtoReflect().IsValid() {
		return dst, fmt.Errorf("serde: protobuf of %v: %w", reflect.TypeFor[T](), errNilMessage)
	}
	out, err := writeProto.MarshalAppend(dst, m)
	if err != nil {
		return dst, fmt.Errorf("serde: protobuf of %v: %w", reflect.TypeFor[T](), err)
	}
	return out, nil
}

func (s *protobufSerde[T]) Decode(src []byte) (v T, err error) {
	if s.empty == nil {
		return v, fmt.Errorf("serde: protobuf of %v: decoding needs a generated message type", reflect.TypeFor[T]())
	}
	defer recovered(&err, "protobuf", reflect.TypeFor[T](), len(src))
	m := s.empty.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(src, m); err != nil {
		return v, decodeError("protobuf", reflect.TypeFor[T](), len(src), err)
	}
	return m.(T), nil
}

func (s *protobufSerde[T]) Describe() string {
	if s.empty == nil {
		return "protobuf"
	}
	return "protobuf:" + string(s.empty.ProtoReflect().Descriptor().FullName())
}
