package serde

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
)

// A MsgPackOption changes what [MsgPack] writes.
type MsgPackOption func(*msgpackFormat)

// AsArray writes structs as arrays of their fields instead of maps from their names: about half the bytes and a third less
// time. Nothing may then be added, removed or moved: a struct with another number of fields is refused, and moved fields are
// taken for each other. It has no effect on types with their own MarshalMsg.
func AsArray() MsgPackOption { return func(f *msgpackFormat) { f.array = true } }

// MsgPack returns a serde that writes MessagePack with github.com/vmihailenco/msgpack/v5, whose struct tags and interfaces
// (CustomEncoder, Marshaler, encoding.BinaryMarshaler, encoding.TextMarshaler) it honours. Structs are maps from field names,
// so fields can be added: unknown ones are ignored, missing ones are zero. Integers take as few bytes as they need.
//
// A type with both MarshalMsg([]byte) ([]byte, error) and UnmarshalMsg([]byte) ([]byte, error), such as tinylib/msgp generates,
// is encoded by those, which is many times faster; UnmarshalMsg returns what follows the value and must keep no part of its
// argument. Both may be on T or on *T. Methods that T has from an embedded field alone do not count.
//
// Times come back as the same instant in UTC. An omitempty slice or map that is empty comes back nil. Encoding a struct of basic
// types, slices and structs allocates nothing; a time.Time field costs one allocation, and so does a struct with omitempty. What
// an application registers with RegisterExtDecoder must read its body with ReadFull.
//
// MsgPack takes any T, and what cannot be encoded is an error of each call; [Default] refuses such types, and those that would
// lose something, at once. Values of a type that contains itself may be nested 10,000 deep.
func MsgPack[T any](opts ...MsgPackOption) Serde[T] {
	if s := ownMsgpack[T](); s != nil {
		return s
	}
	t := reflect.TypeFor[T]()
	format := &msgpackFormat{}
	for _, opt := range opts {
		opt(format)
	}
	format.examine(t)
	s := &msgpackSerde[T]{format: format}
	s.slots.New = func() any {
		slot := new(msgpackSlot[T])
		slot.init(format, reflect.ValueOf(&slot.value).Elem())
		return slot
	}
	return s
}

// A msgpackFormat is what the type and the options say about an encoding, found out once.
type msgpackFormat struct {
	array     bool
	typ       reflect.Type
	invalid   error                 // why the type cannot be encoded at all
	unordered string                // the path of a Go map that is written in no fixed order, or empty
	nested    map[reflect.Type]bool // types to follow when measuring depth, or nil if depth has a bound
	times     map[reflect.Type]bool // types in which a time.Time may be, or nil
}

// examine sets what depends on the type.
func (f *msgpackFormat) examine(t reflect.Type) {
	f.typ = t
	c := check(t)
	f.invalid = c.fatal()
	f.unordered, f.times = c.unordered, c.times
	if c.recursive {
		f.nested = c.parts
	}
}

type msgpackSerde[T any] struct {
	format *msgpackFormat
	slots  sync.Pool // of *msgpackSlot[T]
}

// A msgpackSlot is where a value stays while it is encoded or decoded, with the coder bound to it: a pointer to a parameter or
// result would cost an allocation each time.
type msgpackSlot[T any] struct {
	msgpackCoder
	value T
}

func (s *msgpackSerde[T]) Append(dst []byte, v T) ([]byte, error) {
	slot := s.slots.Get().(*msgpackSlot[T])
	slot.value = v
	out, err := slot.append(dst)
	s.release(slot, err)
	return out, err
}

func (s *msgpackSerde[T]) Decode(src []byte) (T, error) {
	slot := s.slots.Get().(*msgpackSlot[T])
	err := slot.decode(src)
	var v T
	if err == nil {
		v = slot.value
	}
	s.release(slot, err)
	return v, err
}

// release empties the slot, so that the pool keeps nothing of its user's alive, and gives it back. After an error the library's
// coder may be left in the middle of a value, so the slot is dropped.
func (s *msgpackSerde[T]) release(slot *msgpackSlot[T], err error) {
	if err != nil {
		return
	}
	var zero T
	slot.value = zero
	s.slots.Put(slot)
}

func (s *msgpackSerde[T]) Describe() string { return "msgpack-" + shape(s.format.typ, s.format.array) }

func (s *msgpackSerde[T]) checkKey() error {
	if s.format.unordered == "" {
		return nil
	}
	return fmt.Errorf("serde: %v cannot be a key in MessagePack: the map at %s is written in no fixed order; "+
		"leave it out of the key, or choose JSON or a serde of your own", s.format.typ, s.format.unordered)
}

// A msgpackCoder encodes and decodes one place in memory.
type msgpackCoder struct {
	format *msgpackFormat
	place  reflect.Value // addressable, holds the value
	enc    *msgpack.Encoder
	out    appender
	dec    *msgpack.Decoder
	in     scannedReader
	scan   scanner
}

func (c *msgpackCoder) init(format *msgpackFormat, place reflect.Value) {
	c.format, c.place = format, place
	c.enc, c.dec = msgpack.NewEncoder(&c.out), msgpack.NewDecoder(&c.in)
}

// append appends the encoding of the value in place to dst.
func (c *msgpackCoder) append(dst []byte) ([]byte, error) {
	if c.format.invalid != nil {
		return dst, c.format.invalid
	}
	if c.format.nested != nil {
		if err := checkDepth(c.place, c.format.nested, 0); err != nil {
			return dst, fmt.Errorf("serde: MessagePack of %v: %w", c.format.typ, err)
		}
	}
	c.out.buf = dst
	// A type's own EncodeMsgpack may have changed the options, so they are set each time.
	c.enc.Reset(&c.out)
	c.enc.UseArrayEncodedStructs(c.format.array)
	c.enc.UseCompactInts(true)
	c.enc.SetSortMapKeys(true)
	err := c.enc.EncodeValue(c.place)
	out := c.out.buf
	c.out.buf = nil
	if err != nil {
		return dst, fmt.Errorf("serde: MessagePack of %v: %w", c.format.typ, err)
	}
	return out, nil
}

// decode decodes src into the place, which must be zero.
func (c *msgpackCoder) decode(src []byte) (err error) {
	if c.format.invalid != nil {
		return c.format.invalid
	}
	defer recovered(&err, "MessagePack", c.format.typ, len(src))
	if err := c.scan.scan(src); err != nil {
		return decodeError("MessagePack", c.format.typ, len(src), err)
	}
	c.in.reset(src, c.scan.exts)
	c.dec.Reset(&c.in)
	if err := c.dec.DecodeValue(c.place); err != nil {
		return decodeError("MessagePack", c.format.typ, len(src), err)
	}
	if c.in.off != len(src) {
		return decodeError("MessagePack", c.format.typ, len(src), fmt.Errorf("only %d bytes of it were read", c.in.off))
	}
	c.in.src, c.scan.src = nil, nil
	if c.format.times != nil {
		toUTC(c.place, c.format.times)
	}
	return nil
}
