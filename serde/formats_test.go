package serde_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weirstream/weir/serde"
)

func TestMsgPackErrors(t *testing.T) {
	s := serde.MsgPack[order]()
	data, err := s.Append(nil, anOrder)
	require.NoError(t, err)
	for n := range data {
		_, err := s.Decode(data[:n])
		require.ErrorContains(t, err, "serde: MessagePack of", "cut to %d bytes", n)
		require.ErrorContains(t, err, "bytes is no serde_test.order", "cut to %d bytes", n)
	}
	_, err = s.Decode(append(data, 0))
	require.EqualError(t, err, "serde: MessagePack of 72 bytes is no serde_test.order: the value ends at byte 71, 1 bytes trail it")
	_, err = s.Decode([]byte("\xa5hello"))
	require.ErrorContains(t, err, "is no serde_test.order")
	_, err = s.Decode([]byte("\x81\xa5Items\xa1x"))
	require.ErrorContains(t, err, "decoding int64")

	// A failed decode leaves nothing behind for the next one.
	back, err := s.Decode([]byte("\x81\xa5Items\x05"))
	require.NoError(t, err)
	require.Equal(t, order{Items: 5}, back)
}

func TestMsgPackKeepsNothingOfItsInput(t *testing.T) {
	s := serde.MsgPack[mixed]()
	data, err := s.Append(nil, aMixed())
	require.NoError(t, err)
	back, err := s.Decode(data)
	require.NoError(t, err)
	clear(data)
	require.Equal(t, aMixed(), back)

	// Nor do two decoded values share memory.
	data, err = s.Append(data[:0], aMixed())
	require.NoError(t, err)
	other, err := s.Decode(data)
	require.NoError(t, err)
	other.Bytes[0], other.Names[0], other.Labels["a"], other.Ptr.ID = 9, "changed", "changed", "changed"
	require.NotEqual(t, other, back)
	require.NotEqual(t, back.Bytes, other.Bytes)
	require.NotEqual(t, back.Names, other.Names)
	require.NotEqual(t, back.Labels, other.Labels)
	require.NotEqual(t, back.Ptr, other.Ptr)
}

// hostile panics on any input.
type hostile struct{}

func (hostile) MarshalJSON() ([]byte, error) { return []byte("1"), nil }
func (*hostile) UnmarshalJSON([]byte) error  { panic("hostile") }

func TestJSONErrors(t *testing.T) {
	s := serde.JSON[order]()
	for src, want := range map[string]string{
		"":             "serde: JSON of 0 bytes is no serde_test.order: ",
		`{"ID":"a"} x`: "serde: JSON of 12 bytes is no serde_test.order: ",
		`{"ID":"a"`:    "unexpected end of JSON input",
		`{"ID":5}`:     "cannot unmarshal number",
	} {
		back, err := s.Decode([]byte(src))
		require.ErrorContains(t, err, want)
		require.Zero(t, back, "a value that was half read")
	}
	_, err := s.Decode([]byte(`{"ID":"a","Paid":true}`))
	require.NoError(t, err)
	back, err := s.Decode([]byte(`{"Items":5,"Unknown":[1]}`))
	require.NoError(t, err)
	require.Equal(t, order{Items: 5}, back)

	out, err := serde.JSON[func()]().Append([]byte("kept"), nil)
	require.ErrorContains(t, err, "serde: JSON of func()")
	require.Equal(t, "kept", string(out))

	_, err = serde.JSON[hostile]().Decode([]byte("1"))
	require.ErrorContains(t, err, "is no serde_test.hostile: panic: hostile")
}

func TestProtobuf(t *testing.T) {
	s := serde.Protobuf[*structpb.Struct]()
	out, err := s.Append([]byte("kept"), nil)
	require.ErrorContains(t, err, "the message is nil")
	require.Equal(t, "kept", string(out))

	_, err = s.Decode([]byte{0x0a, 0x05, 0x01})
	require.ErrorContains(t, err, "serde: protobuf of 3 bytes is no *structpb.Struct")

	fields := map[string]any{}
	for _, k := range []string{"e", "b", "d", "a", "c"} {
		fields[k] = k
	}
	v, err := structpb.NewStruct(fields)
	require.NoError(t, err)
	first, err := s.Append(nil, v)
	require.NoError(t, err)
	for range 20 {
		again, err := s.Append(nil, v)
		require.NoError(t, err)
		require.Equal(t, first, again, "maps are written in the order of their keys")
	}
	back, err := s.Decode(first)
	require.NoError(t, err)
	require.True(t, proto.Equal(v, back))

	// Empty is a message, and fields from a newer version of it survive.
	empty, err := s.Decode(nil)
	require.NoError(t, err)
	require.NotNil(t, empty)
	newer := []byte("\x0a\x02hi\x7a\x03new")
	kept, err := serde.Protobuf[*wrapperspb.StringValue]().Decode(newer)
	require.NoError(t, err)
	out, err = serde.Protobuf[*wrapperspb.StringValue]().Append(nil, kept)
	require.NoError(t, err)
	require.Equal(t, newer, out)

	open := serde.Protobuf[proto.Message]()
	out, err = open.Append(nil, wrapperspb.String("hi"))
	require.NoError(t, err)
	_, err = open.Decode(out)
	require.ErrorContains(t, err, "needs a generated message type")
	_, err = open.Append(nil, nil)
	require.ErrorContains(t, err, "the message is nil")
	require.Equal(t, "protobuf", serde.Describe(open))
}
