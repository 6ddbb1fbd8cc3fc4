package streamtest

import (
	"iter"
	"reflect"

	"github.com/weirstream/weir/window"
)

// Store yields the rows of the store called name, as the next record would find
// them: task by task, in the order of windows and encoded keys. Of a windowed
// store, K is a window.Key of the key.
func (d *Driver) Store[K, V any](name string) iter.Seq2[K, V] {
	d.t.Helper()
	return func(yield func(K, V) bool) {
		d.t.Helper()
		found := false
		for _, w := range d.workers {
			for _, t := range w.tasks {
				more := true
				has, err := t.Rows(name, func(key any, span window.Span, value any) bool {
					k, v := keyOf[K](d, name, key, span), valueOf[V](d, name, value)
					more = yield(k, v)
					return more
				})
				if err != nil {
					d.t.Fatalf("streamtest: store %s: %v", name, err)
				}
				if found = found || has; !more {
					return
				}
			}
		}
		if !found && d.stopped == nil {
			d.t.Fatalf("streamtest: the topology has no store %s", name)
		}
	}
}

// keyOf returns a row's key as K: the key itself, or with its window.
func keyOf[K any](d *Driver, store string, key any, span window.Span) K {
	if span.IsZero() {
		return valueOf[K](d, store, key)
	}
	var k K
	v := reflect.ValueOf(&k).Elem()
	if v.Kind() == reflect.Struct && v.NumField() == 2 && v.Type().Field(1).Type == reflect.TypeFor[window.Span]() &&
		v.Type().Field(0).Type == reflect.TypeOf(key) {
		v.Field(0).Set(reflect.ValueOf(key))
		v.Field(1).Set(reflect.ValueOf(span))
		return k
	}
	d.t.Fatalf("streamtest: the keys of store %s are window.Key[%T], not %T", store, key, k)
	return k
}

func valueOf[T any](d *Driver, store string, value any) T {
	v, ok := value.(T)
	if !ok && value != nil {
		d.t.Fatalf("streamtest: store %s holds %T, not %v", store, value, reflect.TypeFor[T]())
	}
	return v
}
