package serde_test

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// TestKafkaBytes holds the built-ins against what Kafka's own serializers wrote, in both directions. How the file was made is
// said in testdata/KafkaBytes.java.
func TestKafkaBytes(t *testing.T) {
	file, err := os.Open("testdata/kafka-bytes.txt")
	require.NoError(t, err)
	defer file.Close()

	rows := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		cols := strings.Split(lines.Text(), "\t")
		require.Len(t, cols, 3, "%q", lines.Text())
		data, err := hex.DecodeString(cols[2])
		require.NoError(t, err)
		checkKafkaRow(t, cols[0], cols[1], data)
		rows[cols[0]]++
	}
	require.Len(t, rows, 11, "kinds of rows")
	for kind, n := range rows {
		require.Positive(t, n, kind)
	}
}

func checkKafkaRow(t *testing.T, kind, value string, data []byte) {
	t.Helper()
	at := kind + " " + value
	switch kind {
	case "Long":
		n, err := strconv.ParseInt(value, 10, 64)
		require.NoError(t, err)
		both(t, at, serde.Int64, n, data)
		if math.MinInt64/1000 < n/1000 && n/1000 < math.MaxInt64/1000 {
			both(t, at, serde.Time, time.UnixMilli(n).UTC(), data)
		}
	case "Integer":
		n, err := strconv.ParseInt(value, 10, 32)
		require.NoError(t, err)
		both(t, at, serde.Int32, int32(n), data)
	case "Double":
		x, err := strconv.ParseFloat(value, 64)
		require.NoError(t, err)
		if math.IsNaN(x) {
			got, err := serde.Float64.Append(nil, x)
			require.NoError(t, err)
			require.Equal(t, data, got, at)
			x, err = serde.Float64.Decode(data)
			require.NoError(t, err)
			require.True(t, math.IsNaN(x), at)
			return
		}
		both(t, at, serde.Float64, x, data)
		back, err := serde.Float64.Decode(data)
		require.NoError(t, err)
		require.Equal(t, math.Signbit(x), math.Signbit(back), at)
	case "Boolean":
		both(t, at, serde.Bool, value == "true", data)
	case "String":
		both(t, at, serde.String, unquote(t, value), data)
	case "UUID":
		both(t, at, serde.UUID, uuid.MustParse(unquote(t, value)), data)
	case "ByteArray":
		raw, err := hex.DecodeString(unquote(t, value))
		require.NoError(t, err)
		both(t, at, serde.Bytes, raw, data)
	case "TimeWindowed[String,60000]":
		key, start, end := windowedValue(t, value)
		both(t, at, serde.TimeWindowed(serde.String, time.Minute), windowKey(unquote(t, key), start, end), data)
	case "TimeWindowed[Long,60000]":
		_, start, end := windowedValue(t, value)
		both(t, at, serde.TimeWindowed(serde.Int64, time.Minute), windowKey(int64(-7), start, end), data)
	case "SessionWindowed[String]":
		key, first, last := windowedValue(t, value)
		both(t, at, serde.Windowed(serde.String), windowKey(unquote(t, key), first, last+1), data)
	case "SessionWindowed[Long]":
		_, first, last := windowedValue(t, value)
		both(t, at, serde.Windowed(serde.Int64), windowKey(int64(-7), first, last+1), data)
	default:
		require.Fail(t, "unknown kind of row", kind)
	}
}

// both checks that v encodes to data and data decodes to v, and that Append keeps what was before.
func both[T any](t *testing.T, at string, s serde.Serde[T], v T, data []byte) {
	t.Helper()
	got, err := s.Append([]byte("before"), v)
	require.NoError(t, err, at)
	require.Equal(t, "before"+string(data), string(got), at)
	back, err := s.Decode(data)
	require.NoError(t, err, at)
	require.Equal(t, v, back, at)
}

func windowKey[K any](key K, start, end int64) window.Key[K] {
	return window.Key[K]{Key: key, Span: window.Millis(start, end)}
}

// windowedValue cuts "key start end" apart.
func windowedValue(t *testing.T, value string) (key string, start, end int64) {
	t.Helper()
	cols := strings.Split(value, " ")
	require.GreaterOrEqual(t, len(cols), 3, value)
	n := len(cols)
	start, err := strconv.ParseInt(cols[n-2], 10, 64)
	require.NoError(t, err)
	end, err = strconv.ParseInt(cols[n-1], 10, 64)
	require.NoError(t, err)
	return strings.Join(cols[:n-2], " "), start, end
}

func unquote(t *testing.T, s string) string {
	t.Helper()
	var out string
	require.NoError(t, json.Unmarshal([]byte(s), &out), s)
	return out
}
