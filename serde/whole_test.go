package serde

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
)

// TestAcceptedTypesComeBackWhole builds random types out of harmless and harmful parts. Where the checker finds nothing wrong,
// random values must come back from msgpack equal, as maps and as arrays; so the checker overlooks nothing that the parts hold.
func TestAcceptedTypesComeBackWhole(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	accepted, refused := 0, 0
	for range 1500 {
		typ := randomType(rng, 3)
		var format msgpackFormat
		format.examine(typ)
		if check(typ).err() != nil {
			refused++
			continue
		}
		accepted++
		for i := range 6 {
			format.array = i%2 == 1
			v := reflect.New(typ).Elem()
			randomize(rng, v)
			require.NoError(t, wholeAgain(&format, v), "seed %d, type %v, value %#v", seed, typ, v)
		}
	}
	t.Logf("%d types accepted, %d refused", accepted, refused)
	require.Greater(t, accepted, 100)
	require.Greater(t, refused, 100)
}

// wholeAgain encodes v, decodes it elsewhere and says what differs.
func wholeAgain(format *msgpackFormat, v reflect.Value) error {
	var from, to msgpackCoder
	back := reflect.New(format.typ).Elem()
	from.init(format, v)
	to.init(format, back)
	data, err := from.append(nil)
	if err != nil {
		return err
	}
	if err := to.decode(data); err != nil {
		return err
	}
	if !reflect.DeepEqual(v.Interface(), back.Interface()) {
		return fmt.Errorf("came back as %#v", back)
	}
	return nil
}

type (
	Part      struct{ A, B int }
	wholeText struct{ v int64 }
	halfText  struct{ V int64 }
	intText   int
	letter    byte
	loop      struct {
		V    int
		Next *loop
		Kids []loop
	}
	inArray struct {
		//lint:ignore U1000 fields that get lost are what is tested
		_msgpack struct{} `msgpack:",as_array"`
		A        string
		At       time.Time
	}
	hidden struct {
		A int
		//lint:ignore U1000 fields that get lost are what is tested
		b int
	}
	Promoter struct{ N wholeText }
)

func (w *wholeText) MarshalText() ([]byte, error)        { return fmt.Append(nil, w.v), nil }
func (w *wholeText) UnmarshalText(b []byte) error        { _, err := fmt.Sscan(string(b), &w.v); return err }
func (h halfText) MarshalText() ([]byte, error)          { return nil, nil }
func (i intText) EncodeMsgpack(e *msgpack.Encoder) error { return e.EncodeString(fmt.Sprint(int(i))) }
func (i *intText) DecodeMsgpack(d *msgpack.Decoder) error {
	s, err := d.DecodeString()
	if err == nil {
		_, err = fmt.Sscan(s, (*int)(i))
	}
	return err
}

var leaves = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int64](), reflect.TypeFor[uint16](),
	reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[string](),
	reflect.TypeFor[[]byte](), reflect.TypeFor[[]letter](), reflect.TypeFor[[3]byte](), reflect.TypeFor[[2]letter](),
	reflect.TypeFor[time.Time](), reflect.TypeFor[time.Duration](), reflect.TypeFor[uuid.UUID](), reflect.TypeFor[*big.Int](),
	reflect.TypeFor[Part](), reflect.TypeFor[wholeText](), reflect.TypeFor[intText](), reflect.TypeFor[loop](), reflect.TypeFor[inArray](),
	reflect.TypeFor[map[string]string](), reflect.TypeFor[map[string]bool](), reflect.TypeFor[[]string](), reflect.TypeFor[Promoter](),
}

var harmful = []reflect.Type{
	reflect.TypeFor[any](), reflect.TypeFor[error](), reflect.TypeFor[func()](), reflect.TypeFor[hidden](), reflect.TypeFor[halfText](),
	reflect.TypeFor[**int](), reflect.TypeFor[complex128](), reflect.TypeFor[struct{ *Part }](), reflect.TypeFor[map[time.Time]int](),
	reflect.TypeFor[uintptr](), reflect.TypeFor[map[string]wholeText](),
}

func randomType(rng *rand.Rand, depth int) reflect.Type {
	if rng.IntN(40) == 0 {
		return harmful[rng.IntN(len(harmful))]
	}
	if depth == 0 {
		return leaves[rng.IntN(len(leaves))]
	}
	switch rng.IntN(8) {
	case 0:
		return reflect.PointerTo(randomType(rng, depth-1))
	case 1:
		return reflect.SliceOf(randomType(rng, depth-1))
	case 2:
		return reflect.ArrayOf(rng.IntN(3), randomType(rng, depth-1))
	case 3:
		key := randomType(rng, min(depth-1, 1))
		if !key.Comparable() {
			key = reflect.TypeFor[string]()
		}
		return reflect.MapOf(key, randomType(rng, depth-1))
	case 4, 5:
		return randomStruct(rng, depth)
	}
	return leaves[rng.IntN(len(leaves))]
}

// randomStruct returns a struct with names and tags that may collide.
func randomStruct(rng *rand.Rand, depth int) reflect.Type {
	tags := []string{"", "", "", "", "x", "A", "Part", ",omitempty", "y,omitempty", "z,alias:B", ",noinline", ",inline"}
	var fields []reflect.StructField
	if rng.IntN(4) == 0 {
		tag := []string{"", "", ",inline", ",noinline"}[rng.IntN(4)]
		fields = append(fields, reflect.StructField{Name: "Part", Type: reflect.TypeFor[Part](), Anonymous: true, Tag: msgpackTag(tag)})
	}
	for _, name := range []string{"A", "C", "D"}[:rng.IntN(4)] {
		tag := tags[rng.IntN(len(tags))]
		fields = append(fields, reflect.StructField{Name: name, Type: randomType(rng, depth-1), Tag: msgpackTag(tag)})
	}
	rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return reflect.StructOf(fields)
}

func msgpackTag(tag string) reflect.StructTag {
	return reflect.StructTag(fmt.Sprintf("msgpack:%q", tag))
}

// randomize fills v. Slices and maps are nil or have elements, since omitempty brings empty ones back nil.
func randomize(rng *rand.Rand, v reflect.Value) {
	if rng.IntN(4) == 0 {
		return // zero
	}
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.Unix(rng.Int64N(1<<36)-1<<34, rng.Int64N(1e9)).UTC()
		return
	case **big.Int:
		*p = big.NewInt(rng.Int64())
		return
	case *wholeText:
		p.v = rng.Int64()
		return
	case *loop:
		p.V = rng.IntN(10)
		if rng.IntN(2) == 0 {
			p.Next = &loop{V: 1, Kids: []loop{{V: 2}, {}}}
		}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprint(rng.IntN(1000)))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(rng.Uint64()) >> rng.IntN(64) >> (64 - v.Type().Bits()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		v.SetUint(rng.Uint64() >> rng.IntN(64) >> (64 - v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(float32(rng.NormFloat64())))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		randomize(rng, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+rng.IntN(3), 5))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			randomize(rng, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 1 + rng.IntN(3) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			randomize(rng, key)
			randomize(rng, elem)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				randomize(rng, v.Field(i))
			}
		}
	}
}

// TestDamagedBytes decodes encodings with random damage: any error will do, but no panic outside of recovered, no hang, and
// nothing that outgrows its input without bound.
func TestDamagedBytes(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 2))
	t.Logf("seed %d", seed)
	codes := []byte{0x80, 0x8f, 0x90, 0x9f, 0xc0, 0xc1, 0xc4, 0xc6, 0xc7, 0xc9, 0xd4, 0xd6, 0xd8, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xff}
	failed := 0
	for range 300 {
		typ := randomType(rng, 3)
		if check(typ).err() != nil {
			continue
		}
		var format msgpackFormat
		format.examine(typ)
		v := reflect.New(typ).Elem()
		randomize(rng, v)
		var from msgpackCoder
		from.init(&format, v)
		data, err := from.append(nil)
		require.NoError(t, err)
		for range 60 {
			damaged := append([]byte{}, data...)
			for range 1 + rng.IntN(3) {
				at := rng.IntN(len(damaged))
				if rng.IntN(4) == 0 {
					damaged = append(damaged[:at:at], append([]byte{codes[rng.IntN(len(codes))]}, damaged[at:]...)...)
				} else {
					damaged[at] = codes[rng.IntN(len(codes))]
				}
			}
			var to msgpackCoder
			to.init(&format, reflect.New(typ).Elem())
			if err := to.decode(damaged); err != nil {
				require.NotContains(t, err.Error(), "panic", "seed %d, type %v, % x", seed, typ, damaged)
				failed++
			}
		}
	}
	require.Greater(t, failed, 1000)
}
