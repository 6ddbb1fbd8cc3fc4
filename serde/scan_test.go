package serde

import (
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScan(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"small ints", "93 00 7f e0", ""},
		{"nil and bools", "93 c0 c2 c3", ""},
		{"numbers", "9a ca00000000 cb0000000000000000 cc00 cd0000 ce00000000 cf0000000000000000 d000 d10000 d200000000 d30000000000000000", ""},
		{"strings", "94 a161 d90161 da000161 db0000000161", ""},
		{"binaries", "93 c401ff c50001ff c600000001ff", ""},
		{"fixed extensions", "95 d4ff00 d5ff0000 d6ff00000000 d7ff0000000000000000 d8ff00000000000000000000000000000000", ""},
		{"extensions", "94 c700ff c70105ff c8000105ff c90000000105ff", ""},
		{"arrays", "93 90 dc0001c0 dd00000001c0", ""},
		{"maps", "93 80 de0001a161c0 df00000001a161c0", ""},
		{"empty", "", "there is nothing to read"},
		{"never used", "c1", "byte 0: 0xc1 begins no MessagePack value"},
		{"never used inside", "91 c1", "byte 1: 0xc1 begins no"},
		{"trailing", "c0 c0c0", "the value ends at byte 1, 2 bytes trail it"},
		{"short int", "cf 000000", "byte 0: 0xcf needs 9 bytes, but 4 are left"},
		{"short string", "a5 61", "byte 0: 0xa5 needs 6 bytes, but 2 are left"},
		{"short length", "da 00", "byte 0: 0xda needs 3 bytes, but 2 are left"},
		{"short extension", "c7 02", "byte 0: 0xc7 needs 3 bytes, but 2 are left"},
		{"short body", "d6 ff 00", "byte 0: 0xd6 needs 6 bytes, but 3 are left"},
		{"huge binary", "c6 ffffffff", "byte 0: 0xc6 needs 4294967300 bytes, but 5 are left"},
		{"huge array", "dd ffffffff c0", "byte 0: 0xdd holds 4294967295 values, but only 1 bytes follow"},
		{"huge map", "df ffffffff c0c0", "byte 0: 0xdf holds 8589934590 values, but only 2 bytes follow"},
		{"array of too few", "92 c0", "byte 0: 0x92 holds 2 values, but only 1 bytes follow"},
		{"array cut within", "92 91 c0", "3 bytes are too few: 1 more values must follow"},
		{"map of too few", "81 c0", "byte 0: 0x81 holds 2 values, but only 1 bytes follow"},
		{"deepest", strings.Repeat("91", maxDepth) + "c0", ""},
		{"too deep", strings.Repeat("91", maxDepth+1) + "c0", "nested deeper than 10000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := hex.DecodeString(strings.ReplaceAll(c.src, " ", ""))
			require.NoError(t, err)
			var s scanner
			err = s.scan(src)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Where the decoder would take the body of an extension for a map, the lengths in it have not been scanned: this one announces
// 4 billion elements.
func TestExtensionInPlaceOfMap(t *testing.T) {
	ext := "\xc7\x06\x05\x81\xdd\xff\xff\xff\xff"
	_, err := MsgPack[map[string][]int64]().Decode([]byte(ext))
	require.ErrorIs(t, err, errInsideExt)

	type times struct {
		A []byte
		M map[string][]int64
	}
	_, err = MsgPack[times]().Decode([]byte("\x82\xa1A\xc0\xa1M" + ext))
	require.ErrorIs(t, err, errInsideExt)

	// A field that is not known is passed over, extension or not.
	back, err := MsgPack[times]().Decode([]byte("\x82\xa1Z" + ext + "\xa1M\x81\xa1k\x91\x01"))
	require.NoError(t, err)
	require.Equal(t, times{M: map[string][]int64{"k": {1}}}, back)
}

func TestScannedReader(t *testing.T) {
	var r scannedReader
	r.reset([]byte("abcdef"), []extent{{1, 3}, {3, 4}, {4, 4}})
	readByte := func(want byte) {
		t.Helper()
		c, err := r.ReadByte()
		require.NoError(t, err)
		require.Equal(t, want, c)
	}
	require.Error(t, r.UnreadByte(), "nothing was read")
	readByte('a')
	require.NoError(t, r.UnreadByte())
	readByte('a')
	_, err := r.ReadByte()
	require.ErrorIs(t, err, errInsideExt)
	body := make([]byte, 2)
	_, err = io.ReadFull(&r, body)
	require.NoError(t, err)
	require.Equal(t, "bc", string(body))
	_, err = r.ReadByte()
	require.ErrorIs(t, err, errInsideExt)
	_, err = io.ReadFull(&r, body[:1])
	require.NoError(t, err)
	readByte('e')
	readByte('f')
	_, err = r.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	_, err = r.Read(body)
	require.ErrorIs(t, err, io.EOF)
}
