package serde_test

import (
	"fmt"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

func ExampleDefault() {
	type UserID string
	ids, err := serde.Default[UserID]()
	fmt.Println(serde.Describe(ids), err)

	type Cart struct {
		Owner UserID
		Items map[string]int
	}
	carts, err := serde.Default[Cart]()
	fmt.Println(serde.Describe(carts), err)

	type Session struct {
		User UserID
		//lint:ignore U1000 fields that get lost are what is tested
		token string
	}
	_, err = serde.Default[Session]()
	fmt.Println(err)
	// Output:
	// string <nil>
	// msgpack-map <nil>
	// serde: no default for serde_test.Session, because it would not come back whole:
	// 	serde_test.Session.token: it is unexported, so it is not written
	// Change the type, give it methods EncodeMsgpack and DecodeMsgpack, or choose a serde for it
}

func ExampleMsgPack() {
	type Reading struct {
		Sensor string
		Value  float64
		At     time.Time
	}
	r := Reading{"s-1", 21.5, time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)}

	maps := serde.MsgPack[Reading]() // fields may be added later
	data, _ := maps.Append(nil, r)
	back, err := maps.Decode(data)
	fmt.Println(len(data), back, err)

	arrays := serde.MsgPack[Reading](serde.AsArray()) // smaller, and fixed for good
	data, _ = arrays.Append(nil, r)
	fmt.Println(len(data), serde.Describe(arrays))
	// Output:
	// 36 {s-1 21.5 2024-02-29 12:00:00 +0000 UTC} <nil>
	// 20 msgpack-array:3(string,float64,time)
}

func ExampleJSON() {
	type Click struct {
		User string `json:"user"`
		Page string `json:"page,omitempty"`
	}
	clicks := serde.JSON[Click]()
	data, _ := clicks.Append(nil, Click{User: "ann"})
	fmt.Println(string(data))

	_, err := clicks.Decode([]byte(`{"user":"ann"} and more`))
	fmt.Println(err)
	// Output:
	// {"user":"ann"}
	// serde: JSON of 23 bytes is no serde_test.Click: invalid character 'a' after top-level value
}

func ExampleWindowed() {
	keys := serde.Windowed(serde.String)
	session := window.Key[string]{Key: "ann", Span: window.Millis(1_000, 5_001)} // events at 1000 to 5000 ms

	data, _ := keys.Append(nil, session)
	fmt.Printf("%q\n", data) // the key, the last millisecond, the first
	back, err := keys.Decode(data)
	fmt.Println(back == session, err)
	// Output:
	// "ann\x00\x00\x00\x00\x00\x00\x13\x88\x00\x00\x00\x00\x00\x00\x03\xe8"
	// true <nil>
}
